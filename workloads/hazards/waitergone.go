package hazards

import (
	"slices"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/wait"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/safety"
)

func init() {
	register(Hazard{
		Number: 35, Name: drivers.HazardWaiterGone,
		Applies: needsQueue,
		Tell:    waiterGone,
		Server:  true,
		Lone:    true,
		MinTTL:  1500 * time.Millisecond,
		Sound:   []string{"rueidis fair", "zookeeper sequential", "etcd lease"},
	})
	register(Hazard{
		Number: 36, Name: drivers.HazardWaiterSessionLost,
		Applies: needsPlace,
		Tell:    waiterSessionLost,
		Server:  true,
		Lone:    true,
		MinTTL:  1500 * time.Millisecond,
		Sound:   []string{"rueidis fair", "zookeeper sequential", "etcd lease"},
	})
}

func needsQueue(t drivers.Traits) string {
	if !t.Waits && !t.Blocks {
		return "its waiters do not queue at the server"
	}
	return needsExclusive(t)
}

func needsPlace(t drivers.Traits) string {
	if !t.Waits || !t.Session && !t.Fair {
		return "its waiters have nothing at the server that could end"
	}
	return needsExclusive(t)
}

// queues returns the ways of waiting by which clients may stand in line at the server.
func (s *Stage) queues() []wait.Kind {
	return slices.DeleteFunc(s.ways(), func(k wait.Kind) bool { return !k.Native && !k.Blocks })
}

// waits lets a client wait for the key, which another one holds, and returns once it sleeps.
func (c *Client) waits(way wait.Kind) *waiting {
	if answered(c) {
		c.stage.leave(safety.NotExercised, "%s was not refused", c.name)
	}
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
	if _, err := a.Release(); err != nil {
		s.leave(safety.NotExercised, "A has no answer to its release: %v", err)
	}
	s.failIfPassedOver(wc, a, does)
}

// enteredBeside fails the attempt for a client that was granted the key while another one held it.
func (s *Stage) enteredBeside(holder *Client, others ...*Client) {
	var entered []*Client
	for _, c := range others {
		if c.believes.Load() {
			entered = append(entered, c)
		}
	}
	if len(entered) == 0 {
		s.leave(safety.NotExercised, "a wait has ended without a grant")
	}
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
	if _, err := a.Release(); err != nil {
		s.leave(safety.NotExercised, "A has no answer to its release: %v", err)
	}
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
