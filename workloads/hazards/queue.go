// Waiters that leave the queue of a lock.

package hazards

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/fault"
	"github.com/lockbench/lockbench/drivers/wait"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/safety"
)

func init() {
	register(Hazard{
		Number: 35, Name: drivers.HazardWaiterGone,
		Applies: needs(queues, "its waiters do not queue at the server", needsExclusive), Tell: waiterGone,
		Lone: true, MinTTL: 1500 * time.Millisecond,
		Sound: []string{"rueidis fair", "zookeeper sequential", "etcd lease"},
	})
	register(Hazard{
		Number: 36, Name: drivers.HazardWaiterSessionLost,
		Applies: needs(hasPlace, "its waiters have nothing at the server that could end", needsExclusive),
		Tell:    waiterSessionLost, Lone: true, MinTTL: 1500 * time.Millisecond,
		Sound: []string{"rueidis fair", "zookeeper sequential", "etcd lease"},
	})
	register(Hazard{
		Number: 37, Name: drivers.HazardCleanupLost, Tell: cleanupLost, Lone: true, MinTTL: 2 * time.Second,
		Sound: []string{"rueidis fair", "zookeeper sequential", "etcd lease"},
	})
}

// queues reports whether waiters of a design queue at the server, and hasPlace whether what they have there may end.
func queues(t drivers.Traits) bool   { return t.Waits || t.Blocks }
func hasPlace(t drivers.Traits) bool { return t.Waits && (t.Session || t.Fair) }

// queues returns the ways of waiting by which clients may stand in line at the server.
func (s *Stage) queues() []wait.Kind {
	return slices.DeleteFunc(s.ways(), func(k wait.Kind) bool { return !k.Native && !k.Blocks })
}

// waits lets a client wait for the key, which another one holds, and returns once it sleeps.
func (c *Client) waits(way wait.Kind) *waiting {
	c.mustBeRefused(c.Try())
	w := c.Wait(way)
	c.awaitQuiet()
	return w
}

// dies ends a client that waits as if its process had died.
func (w *waiting) dies() {
	w.client.Network().Outage()
	w.giveUp() // the goroutine that waits; what it sends is lost
	w.client.Die()
}

// waiterGone lets B, which waits before C, give up, and the next time die. C has to wait on until A lets go, and is granted the key
// then. A lock that has been handed over to the dead B is free after a lease.
func waiterGone(s *Stage) {
	ways := s.queues()
	s.outcome.Gaps = 2 * len(ways)
	way, dies := ways[s.number/2%len(ways)], s.number%2 == 1
	a, b, c := s.Waiter("A", way), s.Waiter("B", way), s.Waiter("C", way)
	a.Acquire()
	wb, wc := b.waits(way), c.waits(way)
	does, end := "gives up", wb.giveUp
	if dies {
		does, end = "dies", wb.dies
	}
	s.Fault(s.Act(end), "%s: B, which waits before C, %s", way.Name, does)
	moment := s.Now() + s.TTL()/2
	switch {
	case s.Has(expires):
		moment = a.Asked + s.TTL()/2
		s.Before(moment, "the end of B")
	case dies && s.Has(ofSession):
		moment = s.Now() + 2*s.TTL() // in which that of B ends
	}
	if s.Watches(wc.granted, moment) || b.believes.Load() {
		s.enteredBeside(a, b, c)
		return
	}
	a.letGo()
	s.failIfPassedOver(wc, a, does)
}

// enteredBeside fails the attempt for a client that was granted the key while another one held it.
func (s *Stage) enteredBeside(holder *Client, others ...*Client) {
	entered := believers(others)
	s.leaveIf(len(entered) == 0, safety.NotExercised, "a wait has ended without a grant")
	if s.Has(expires) && entered[0].Granted >= holder.Sure() {
		s.leave(safety.Stalled, "%s was granted the key after the lease of %s", entered[0].name, holder.name)
	}
	holder.Release()
	for _, c := range entered {
		c.Release()
	}
	for _, c := range entered {
		s.FailIfBoth(holder, c)
	}
}

// failIfPassedOver fails the attempt if a waiter is not granted the key that the last holder has just let go: it sleeps though the
// key is free, or for longer than the lease of the waiter before it.
func (s *Stage) failIfPassedOver(w *waiting, last *Client, does string) {
	since, end := s.Now(), s.Now()+s.TTL()/2
	if s.Has(expires) {
		end = last.Sure() - s.TTL()/10 // it looks for itself when the lease of the last holder would have ended
		s.Before(end-s.TTL()/4, "the release of "+last.name)
	}
	switch {
	case s.Watches(w.granted, end):
	case answered(last):
		if took := last.Granted - last.Asked; took > s.ttl/10 {
			s.leave(safety.Stalled, "%s was granted the key only after %v", last.name, took)
		}
		if s.losesWakeups() { // B need not be the reason
			s.leave(safety.NotExercised, "%s slept on a free key, as any waiter may (%s)", w.client.name, drivers.HazardMissedWakeup)
		}
		s.Fail("%s: B, which waited before %s, %s, and %s slept on a free key for %s", w.way, w.client.name, does, w.client.name, format.Duration(s.Now()-since))
		return
	case !s.Watches(w.granted, since+2*s.TTL()+slack):
		s.Never("%s: B, which waited before %s, %s: the key that %s has let go was not free after %s", w.way, w.client.name, does, last.name, format.Duration(s.Now()-since))
		return
	}
	s.Recovered(max(0, w.client.Granted-since))
}

// losesWakeups reports whether any waiter of the lock may sleep on a free key: that of a library with a queue of its own, which admits
// it. Others that admit missed-wakeup lose to a connection that is silent.
func (s *Stage) losesWakeups() bool {
	d, err := s.lock.driver()
	return err == nil && drivers.LibraryOf(d).Queues && slices.Contains(s.lock.Design.Loses, drivers.HazardMissedWakeup)
}

// A loss of the session of a waiter.
type loss struct {
	about  string
	silent bool // nobody is told that the connection is gone
	early  bool // it is heard again while A holds the key
}

// losses returns those that the lock has: a session that ends with its connection does not end in silence, and no lease of A lasts
// until the session of B is over.
func (s *Stage) losses() []loss {
	cut := loss{about: "the connections of B, which waits, are cut, and it is heard again when C holds the key"}
	silent := loss{about: "nothing of B, which waits, reaches the server until C holds the key", silent: true}
	early := loss{about: "nothing of B, which waits, reaches the server until its session is over", silent: true, early: true}
	switch {
	case slices.Contains(s.lock.Design.Loses, drivers.HazardHalfOpen):
		return []loss{cut}
	case s.Has(expires):
		return []loss{cut, silent}
	}
	return []loss{cut, silent, early}
}

// waiterSessionLost lets the service end the session of B, which waits, and C acquire the key: B must not take its turn then.
func waiterSessionLost(s *Stage) {
	way, _ := wait.Find(wait.Native)
	losses := s.losses()
	s.outcome.Gaps = len(losses)
	l := losses[s.number%len(losses)]
	a, b, c := s.Waiter("A", way), s.Waiter("B", way), s.Waiter("C", way)
	a.Acquire()
	w := b.waits(way)
	strike := b.Network().Outage
	if l.silent {
		strike = b.Network().Hold
	}
	s.Fault(strike(), "%s", l.about)
	if l.early {
		s.Until(s.Now() + 2*s.TTL())
		b.Network().Resume()
		b.awaitQuiet()
	}
	a.letGo()
	since := s.Now()
	granted := c.AcquireBy(since + 3*s.TTL() + slack)
	if !granted && !b.believes.Load() {
		s.Never("the key that A has let go was not free after %s", format.Duration(s.Now()-since))
		return
	}
	b.Network().Resume()
	if !granted { // B has come back in time
		return
	}
	moment := s.Now() + s.TTL()
	if s.Has(expires) {
		moment = c.Sure() - s.TTL()/10
	}
	if s.Watches(w.granted, moment) {
		s.enteredBeside(c, b)
	}
}

// cleanupLost loses each request of a refusal with its connection, and then each by which a client gives up its wait. B does what
// every client does: it releases what it may hold after an error, and goes on with another key. See python-zk/kazoo#760.
func cleanupLost(s *Stage) {
	open := func(name string) *Client {
		return s.ClientWith(name, func(cfg *drivers.Config) { cfg.Polls = false }) // it tries once, and stands in no line
	}
	var way wait.Kind
	ways := s.queues()
	if len(ways) > 0 {
		way = ways[0]
		open = func(name string) *Client { return s.Waiter(name, way) }
	}
	a, b, c := open("A"), open("B"), open("C")
	refusal, leaving := b.rehearseRefusal(a), 0
	if len(ways) > 0 {
		leaving = b.rehearseLeaving(a)
	}
	if s.outcome.Gaps = refusal + leaving; s.outcome.Gaps == 0 {
		s.leave(safety.NotApplicable, "it refuses without a request")
	}
	b.AnswerBy(s.Now() + slack) // it has been granted a key last
	a.Acquire()
	n := 1 + s.number%s.outcome.Gaps
	var lost *fault.Break
	var answer func() (bool, error)
	what := "B's refusal"
	if of := refusal; n <= of {
		lost = b.Break(n)
		answer = later(b.Try)
	} else {
		n, what = n-of, "the end of B's wait"
		w := b.waits(way)
		lost = b.Break(n)
		answer = later(func() (bool, error) {
			w.giveUp()
			return b.believes.Load(), nil
		})
	}
	s.Hit(lost, answer)
	s.Fault(lost.Held(), "request %d of %s, %d bytes, is lost with its connection", n, what, lost.Held())
	lost.Cut()
	held, err := answer()
	if held {
		s.enteredBeside(a, b)
		return
	}
	if err != nil {
		b.Release()
	}
	s.leaveIf(!b.AnswerBy(s.Now()+2*slack), safety.NotExercised, "B has no answer any more")
	if s.Has(expires) {
		s.Before(a.Sure(), "the release of A")
	}
	a.letGo()
	since := s.Now()
	if !c.AcquireBy(since + 2*s.TTL() + slack) { // a place may have been handed the lock for a lease
		s.Never("request %d of %s was lost: the key that A has let go was not free after %s", n, what, format.Duration(s.Now()-since))
		return
	}
	s.Recovered(c.Granted - since)
}

// rehearseRefusal returns how many requests it takes to be refused a key, of a client that was granted one before: the median of
// three times. It is no part of the history.
func (c *Client) rehearseRefusal(holder *Client) int {
	var requests []int
	for n := range 3 {
		c.stage.withOtherKey(fmt.Sprintf("refusal-%d", n), func() {
			c.AnswerBy(c.stage.Now() + slack)
			holder.acquireUnseen()
			before := c.line().Requests()
			c.mustBeRefused(c.request())
			requests = append(requests, int(c.line().Requests()-before))
			holder.mustRelease(holder.session.Release(c.stage.ctx, &holder.lease))
		})
	}
	slices.Sort(requests)
	return requests[1]
}

// rehearseLeaving returns how many requests it takes to give up a wait: the fewest of two times. It is no part of the history.
func (c *Client) rehearseLeaving(holder *Client) (requests int) {
	requests = math.MaxInt
	for n := range 2 {
		c.stage.withOtherKey(fmt.Sprintf("leaving-%d", n), func() {
			holder.acquireUnseen()
			c.mustBeRefused(c.request())
			_, giveUp := c.wait(func() {}, func(error, bool) {})
			c.awaitQuiet()
			before := c.line().Requests()
			giveUp()
			requests = min(requests, int(c.line().Requests()-before))
			holder.mustRelease(holder.session.Release(c.stage.ctx, &holder.lease))
		})
	}
	return requests
}

// withOtherKey does something with another key.
func (s *Stage) withOtherKey(suffix string, do func()) {
	key := s.key
	defer func() { s.key = key }()
	s.key += ":" + suffix
	do()
}

// acquireUnseen acquires the key, which is free, and tells the history nothing.
func (c *Client) acquireUnseen() {
	s := c.stage
	held, err := c.request()
	for patience := s.Now() + slack; !held && err == nil && s.Now() < patience; held, err = c.request() {
		s.Until(s.Now() + tryEvery) // a library that gets no answer in time may call that a refusal
	}
	s.leaveIf(!held || err != nil, safety.NotExercised, "%s could not acquire a free key: %v, %v", c.name, held, err)
}
