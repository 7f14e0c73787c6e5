package hazards

import (
	"slices"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/fault"
	"github.com/lockbench/lockbench/results/safety"
)

func init() {
	register(Hazard{
		Number: 23, Name: drivers.HazardMissedWakeup,
		Applies: needsRegistration,
		Tell:    missedWakeup,
		Server:  true,
		Lone:    true,
		MinTTL:  1500 * time.Millisecond, // a waiter that hears of a release has more than a third of it to act
		Fails:   []string{"rueidislock library"},
		Sound:   []string{"rueidis set-nx"},
	})
}

// polling are the drivers whose waiters have no registration to miss, though they wait by themselves.
var polling = []string{"redislock", "redsync"}

func needsRegistration(t drivers.Traits) string {
	if !t.Wakes && !t.Blocks && !t.Waits {
		return "its waiters register for nothing: they ask again and again"
	}
	return needsExclusive(t)
}

// missedWakeup tells each fault of each way of waiting, an attempt each.
//
// A waiter that misses a release sleeps until A's lease would have ended. So it fails if it still sleeps when a tenth of that lease
// is left. Nobody can hear over a connection that falls silent without an end: then it has another TTL, in which its I/O time-out (a
// quarter of a TTL) or that of its session (a TTL) has to end its wait, if only by an error.
func missedWakeup(s *Stage) {
	if slices.Contains(polling, s.lock.Driver) {
		s.leave(safety.NotApplicable, "its waiters ask again and again: they register for nothing")
	}
	ways := s.ways()
	way, number := ways[s.number%len(ways)], s.number/len(ways)
	a, b, c := s.Waiter("A", way), s.Waiter("B", way), s.Waiter("C", way)
	requests := b.rehearseWait(a)
	const ofSleeper = 3 // faults: its connections are cut, or silent; or none, since it may not be told at all
	s.outcome.Gaps = len(ways) * (ofSleeper + requests)
	a.Acquire()
	if held, err := b.Try(); held || err != nil {
		s.leave(safety.NotExercised, "B was not refused: %v, %v", held, err)
	}
	patience := a.Sure() - s.TTL()/10
	var request *fault.Break
	n := number%(ofSleeper+requests) - ofSleeper + 1 // of B's requests, if it is more than 0
	if n > 0 {
		request = b.Break(n)
	}
	w := b.Wait(way)
	switch n {
	case -2:
		b.awaitQuiet()
		s.Fault(s.Act(func() {}), "%s: B sleeps, and has nothing but A's release to wake it", way.Name)
	case -1:
		b.awaitQuiet()
		began, cut := s.Now(), b.Network().Outage()
		b.awaitQuiet() // it may look at once, and has to be refused a connection then
		s.FaultSince(began, cut, "%s: the connections of B, which sleeps, are cut, %d of them, and %d more refused: it cannot connect until A has released",
			way.Name, cut, b.line().Refused())
	case 0:
		b.awaitQuiet()
		silent := b.Network().Silence()
		s.Fault(silent, "%s: the connections of B, which sleeps, fall silent, %d of them: it is not told", way.Name, silent)
		patience = a.Sure() + s.TTL()
	default:
		s.HitBy(request, a.Sure()-s.TTL()/2)
		s.Fault(request.Held(), "%s: request %d of %d of B's wait, %d bytes, is held back until A has released", way.Name, n, requests, request.Held())
	}
	a.mustRelease(a.Release())
	s.Before(a.Sure()-s.TTL()/2, "the release of A")
	switch {
	case n > 0:
		request.Go()
	case n == -1:
		b.Network().Resume()
	}
	s.awaken(w, c, patience, n == 0)
}
