// Requests and replies that are lost or late.

package hazards

import (
	"fmt"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/fault"
	"github.com/lockbench/lockbench/results/safety"
)

func init() {
	register(Hazard{
		Number: 2, Name: drivers.HazardCrashBeforeExpire, Tell: crashBeforeExpire,
		Fails: []string{"rueidis setnx-expire"},
	})
	register(Hazard{
		Number: 5, Name: drivers.HazardGetDelGap, Applies: needsLease, Tell: getDelGap,
		Stories: []drivers.Hazard{drivers.HazardWrongReleaseChain}, // whose only request comes late
		Fails:   []string{"rueidis set-nx-get-del"}, Sound: []string{"rueidis set-nx"},
	})
	register(Hazard{
		Number: 20, Name: drivers.HazardAcquireReplyLost, Tell: acquireReplyLost, Fails: []string{"rueidis setnx"},
		Sound: []string{"rueidis set-nx"},
	})
	register(Hazard{
		Number: 21, Name: drivers.HazardLateGrant, Applies: needsLease, Tell: lateGrant,
		Fails: []string{"rueidis set-nx"}, Sound: []string{"rueidis@redlock set-nx"},
	})
	register(Hazard{
		Number: 22, Name: drivers.HazardClientRetries, Tell: clientRetries, Drivers: []string{"go-redis"},
		MinTTL: longLease, Fails: []string{"go-redis set-nx-del", "go-redis redisson"},
		Sound: []string{"go-redis set-nx"},
	})
	register(Hazard{
		Number: 31, Name: everyGapName,
		About: "one fault at each request of an acquisition and of a release: the client dies, or the request or its reply is lost or late",
		After: "a fault at one of its requests",
		Tell:  everyGap,
		Stories: []drivers.Hazard{
			drivers.HazardHolderDies, drivers.HazardCrashBeforeExpire, drivers.HazardWrongReleaseChain, drivers.HazardGetDelGap,
		},
		Fails: []string{"rueidis set-nx-del"},
		Sound: []string{"rueidis set-nx"},
	})
}

func crashBeforeExpire(s *Stage) {
	a, b := s.Client("A"), s.Client("B")
	requests, _ := a.Rehearse()
	s.leaveIf(requests < 2, safety.NotApplicable, "its acquisition is one request")
	last := a.Break(requests)
	answer := later(a.Try)
	s.Hit(last, answer)
	s.Fault(last.Held(), "request %d of %d, %d bytes, was not sent", requests, requests, last.Held())
	a.Network().Outage()
	_, _ = answer()
	a.Die()
	s.comesFree(b, s.Now(), 2, "the key was not free after %v")
}

func getDelGap(s *Stage) {
	a, b, c := s.Client("A"), s.Client("B"), s.Client("C")
	_, requests := a.Rehearse()
	a.Acquire()
	last := a.Break(requests)
	answer := later(a.Release)
	s.Hit(last, answer)
	s.Fault(last.Held(), "the last request of A's release, %d bytes, is held back", last.Held())
	s.leaveIf(!b.AcquireBy(a.Ends()+s.TTL()+slack),
		safety.NotExercised, "the key was not free after the lease of A")
	last.Go()
	_, _ = answer()
	s.Intrude(b, c)
}

func acquireReplyLost(s *Stage) {
	a, b := s.Client("A"), s.Client("B")
	requests, _ := a.Rehearse()
	s.outcome.Gaps = requests
	lost := 1 + s.number%max(1, requests)
	reply := a.BreakReply(lost)
	answer := later(a.Try)
	s.Hit(reply, answer)
	heard := a.heard()
	reply.Cut()
	if !s.Has(ofSession) { // one of a session does not end with its connection, but with a longer outage
		a.network.Outage() // the client cannot ask again
	}
	since := s.Now()
	held, err := answer()
	a.network.Resume()
	s.FaultSince(since, reply.Held(), "the reply to request %d of %d of A, %d bytes, was lost with its connection", lost, requests, reply.Held())
	switch {
	case err == nil && a.heard() == heard:
		s.Fail("A was told whether it holds the key (%v), and no answer has reached it", held)
		return
	case err == nil: // its library has asked again
		s.leave(safety.NotExercised, "A has heard an answer: %v", held)
	}
	s.comesFree(b, since, 2, "the key that nobody holds was not free after %v")
}

func lateGrant(s *Stage) {
	a := s.ClientWith("A", func(cfg *drivers.Config) {
		cfg.Polls = false                                         // it tries once, and stands in no line
		cfg.NodeTimeout, cfg.IOTimeout = openTimeout, openTimeout // and has patience
	})
	b := s.Client("B")
	replies := a.breakGrant()
	answer := later(a.Try)
	var bytes int64
	for _, r := range replies {
		s.Hit(r, answer)
		bytes += r.Held()
	}
	s.Fault(bytes, "the reply to A, %d bytes, is held back", bytes)
	if held, _ := b.Try(); held {
		s.leave(safety.NotExercised, "B was granted the key, which A was to have")
	}
	s.leaveIf(!b.AcquireBy(s.Now()+2*s.TTL()+slack),
		safety.NotExercised, "the key was not free after the lease of A")
	for _, r := range replies {
		r.Go()
	}
	held, _ := answer()
	s.Before(b.Sure(), "the reply to A")
	if held {
		a.Release()
	}
	b.Release()
	s.FailIfBoth(a, b)
}

// breakGrant stops the replies by which a client will be granted the key: the last one, or the first one of each of several
// servers, to which it is connected and which have the scripts of the lock when it has had another key a few times.
func (c *Client) breakGrant() (replies []*fault.Break) {
	nodes := c.Network().nodes
	if len(nodes) == 1 {
		requests, _ := c.Rehearse()
		return []*fault.Break{c.BreakReply(requests)}
	}
	for range 3 {
		c.AnswerBy(c.stage.Now() + slack)
	}
	for _, p := range nodes {
		replies = append(replies, p.BreakReply(1+c.far()))
	}
	return replies
}

// clientRetries loses the reply to a release, and the next time that to an acquisition, which the library of the client sends
// again.
func clientRetries(s *Stage) {
	const retries = 3 // go-redis's default
	a := s.ClientWith("A", func(cfg *drivers.Config) { cfg.Retries = retries })
	const acts = 2
	if s.outcome.Gaps = acts; s.number%acts == 0 {
		s.releaseAgain(a)
	} else {
		s.acquireAgain(a)
	}
}

// releaseAgain lets the second release come when the next client holds the key.
func (s *Stage) releaseAgain(a *Client) {
	b, c := s.Client("B"), s.Client("C")
	_, requests := a.Rehearse()
	a.Acquire()
	reply := a.BreakReply(requests)
	answer := later(a.Release)
	s.Hit(reply, answer)
	lost := s.Now()
	s.leaveIf(!b.AcquireBy(s.Now()+slack), safety.NotExercised, "the key was not free after the release of A")
	reply.Cut()
	_, _ = answer()
	s.FaultSince(lost, reply.Held(), "the reply to the release of A, %d bytes, was lost: its library sent the request again", reply.Held())
	s.Intrude(b, c)
}

// acquireAgain lets a client acquire what it holds already, without knowing. One that is told that it does not hold the key has to
// wait for the end of its own lease, and that is no more than a lost reply costs.
func (s *Stage) acquireAgain(a *Client) {
	b := s.Client("B")
	requests, _ := a.Rehearse()
	reply := a.BreakReply(requests)
	answer := later(a.Try)
	s.Hit(reply, answer)
	lost := s.Now()
	reply.Cut()
	held, _ := answer()
	s.FaultSince(lost, reply.Held(), "the reply to the acquisition of A, %d bytes, was lost: its library sent the request again", reply.Held())
	if !held {
		return
	}
	a.Release()
	if !b.AcquireBy(min(s.Now()+slack, a.Sure())) {
		s.Fail("A was granted the key twice and has let it go once: it is not free")
	}
}

// everyGapName is not a hazard that designs list: it consists of others.
const everyGapName = "every-gap"

// gap is one request of an operation, and its fault.
type gap struct {
	release bool // of the release; otherwise of the acquisition
	request int  // from 1
	fault   int  // of gapFaults
}

// gapFaults are the faults of a request. A late one comes when the lease is over.
var gapFaults = []struct {
	about string
	reply bool // the fault is the reply's
	late  bool // it is held until another client holds the key
	dies  bool // the client ends with it
}{
	{about: "the client dies before it", dies: true},
	{about: "it is lost with the connection"},
	{about: "its reply is lost with the connection", reply: true},
	{about: "it is late", late: true},
	{about: "its reply is late", reply: true, late: true},
}

func gapOf(n, try, release int) (g gap, of int) {
	of = (try + release) * len(gapFaults)
	n %= of
	g = gap{request: 1 + n/len(gapFaults), fault: n % len(gapFaults)}
	if g.request > try {
		g.release, g.request = true, g.request-try
	}
	return g, of
}

func (g gap) String() string {
	op := "an acquisition"
	if g.release {
		op = "a release"
	}
	return fmt.Sprintf("request %d of %s: %s", g.request, op, gapFaults[g.fault].about)
}

// everyGap plants a single fault at each request of a lock, without knowing what it sends.
func everyGap(s *Stage) {
	a, b, c := s.Client("A"), s.Client("B"), s.Client("C")
	try, release := a.Rehearse()
	s.leaveIf(try+release == 0, safety.NotExercised, "it sends no request")
	var g gap
	g, s.outcome.Gaps = gapOf(s.number, try, release)
	do := a.Try
	if g.release {
		a.Acquire()
		do = a.Release
	}
	planted := gapFaults[g.fault]
	stop := a.Break
	if planted.reply {
		stop = a.BreakReply
	}
	at := stop(g.request)
	answer := later(do)
	s.Hit(at, answer)
	s.Fault(at.Held(), "%v (%d bytes)", g, at.Held())
	began := s.Now()
	if held := s.suffer(a, b, at, answer, g); !held && !b.AcquireBy(began+2*s.TTL()+2*slack) {
		s.Never("%v: the key was not free after %v", g, s.elapsed(began))
		return
	}
	s.Recovered(b.Granted - began)
	granted, err := c.Try()
	again := false
	if !planted.dies {
		again, _ = a.Try() // which may not hear an answer
	}
	s.StillHolds(b, "the attempts of C and A")
	s.leaveIf(err != nil, safety.NotExercised, "C has no answer: %v", err)
	b.Release()
	if granted {
		c.Release()
		s.Fail("%v: B and C held the key at once", g)
	}
	if again {
		a.Release()
		s.Fail("%v: B held the key, and A, which had let it go, was granted it", g)
	}
}

// suffer lets a fault take its course, and A do what every client does after that: it releases what it holds, or may hold. It
// reports whether B has been granted the key meanwhile.
func (s *Stage) suffer(a, b *Client, at *fault.Break, answer func() (bool, error), g gap) (held bool) {
	late, dies := gapFaults[g.fault].late, gapFaults[g.fault].dies
	sent := a.line().Requests()
	if late {
		held = b.AcquireBy(s.Now() + s.TTL() + slack/2)
		at.Go()
	} else if dies {
		a.Network().Outage()
	} else {
		at.Cut()
	}
	yes, err := answer()
	switch {
	case dies:
		a.Die()
	case held && g.release && g.request == 1 && !gapFaults[g.fault].reply && yes && s.Has(owned) &&
		a.line().Requests() == sent: // or its library has asked again, over another connection, before B was granted the key
		s.Fail("%v: A was told that it had held the key until then, and B held it", g)
	case err != nil || yes && a.believes.Load():
		if !late && err == nil { // it says that it was granted the key all the same
			if held, _ = b.Try(); held {
				s.StillHolds(a, "the attempt of B")
				s.FailIfBoth(a, b)
			}
		}
		a.Release()
	}
	return held
}
