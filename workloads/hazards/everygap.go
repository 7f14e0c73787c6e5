package hazards

// A single fault at every gap of a lock, without knowing what it sends: the named hazards are the stories among them.

import (
	"fmt"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/fault"
	"github.com/lockbench/lockbench/results/safety"
)

func init() {
	register(Hazard{
		Number: 31, Name: everyGapName,
		About:   "one fault at each request of an acquisition and of a release: the client dies, or the request or its reply is lost or late",
		After:   "a fault at one of its requests",
		Applies: needsExclusive,
		Tell:    everyGap,
		Stories: []drivers.Hazard{
			drivers.HazardHolderDies, drivers.HazardCrashBeforeExpire, drivers.HazardWrongReleaseChain, drivers.HazardGetDelGap,
		},
		Server: true,
		Fails:  []string{"rueidis set-nx-del"},
		Sound:  []string{"rueidis set-nx"},
	})
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

func everyGap(s *Stage) {
	a, b, c := s.Client("A"), s.Client("B"), s.Client("C")
	try, release := a.Rehearse()
	if try+release == 0 {
		s.leave(safety.NotExercised, "it sends no request")
	}
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
	held := s.suffer(a, b, at, answer, g)
	if !held && !b.AcquireBy(began+2*s.TTL()+2*slack) {
		s.Never("%v: the key was not free after %v", g, (s.Now() - began).Round(time.Millisecond))
		return
	}
	s.Recovered(b.Granted - began)
	granted, err := c.Try()
	again := false
	if !planted.dies {
		again, _ = a.Try() // which may not hear an answer
	}
	s.StillHolds(b, "the attempts of C and A")
	if err != nil {
		s.leave(safety.NotExercised, "C has no answer: %v", err)
	}
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
	case held && g.release && g.request == 1 && !gapFaults[g.fault].reply && yes && s.Has(owned):
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
