// Clients that wait for a key as -wait lets them, and miss its release.

package hazards

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/fault"
	"github.com/lockbench/lockbench/drivers/wait"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/safety"
)

func init() {
	register(Hazard{
		Number: 23, Name: drivers.HazardMissedWakeup,
		Applies: needs(registers, "its waiters register for nothing: they ask again and again", needsExclusive),
		Tell:    missedWakeup, Lone: true,
		MinTTL: 1500 * time.Millisecond, // a waiter that hears of a release has more than a third of it to act
		Fails:  []string{"rueidislock library"}, Sound: []string{"rueidis set-nx"},
	})
}

// polling are the drivers whose waiters have no registration to miss, though they wait by themselves.
var polling = []string{"redislock", "redsync"}

func registers(t drivers.Traits) bool { return t.Wakes || t.Blocks || t.Waits }

// missedWakeup tells each fault of each way of waiting, an attempt each.
//
// A waiter that misses a release sleeps until A's lease would have ended. So it fails if it still sleeps when a tenth of that lease
// is left. Nobody can hear over a connection that falls silent without an end: then it has another TTL, in which its I/O time-out (a
// quarter of a TTL) or that of its session (a TTL) has to end its wait, if only by an error.
func missedWakeup(s *Stage) {
	s.leaveIf(slices.Contains(polling, s.lock.Driver),
		safety.NotApplicable, "its waiters ask again and again: they register for nothing")
	ways := s.ways()
	way, number := ways[s.number%len(ways)], s.number/len(ways)
	a, b, c := s.Waiter("A", way), s.Waiter("B", way), s.Waiter("C", way)
	requests := b.rehearseWait(a)
	const ofSleeper = 3 // faults: its connections are cut, or silent; or none, since it may not be told at all
	s.outcome.Gaps = len(ways) * (ofSleeper + requests)
	a.Acquire()
	b.mustBeRefused(b.Try())
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

// ways returns the ways of waiting of the lock that register something and then sleep.
func (s *Stage) ways() (list []wait.Kind) {
	t := s.lock.Design.Traits
	for _, k := range wait.Kinds() {
		if k.Wakes && t.Wakes || k.Blocks && t.Blocks || k.Native && t.Waits {
			list = append(list, k)
		}
	}
	return list
}

// Waiter opens a client that can wait, and whose releases wake those that do. An answer may take it a quarter of the lease.
func (s *Stage) Waiter(name string, way wait.Kind) *Client {
	c := s.ClientWith(name, func(cfg *drivers.Config) {
		cfg.Wakes, cfg.Blocks, cfg.Polls, cfg.IOTimeout = way.Wakes, way.Blocks, false, s.ttl/4
	})
	ctx, cancel := context.WithTimeout(s.ctx, openTimeout)
	defer cancel()
	room, err := wait.NewRoom(ctx, way.Name, c.service, wait.Options{})
	s.leaveIf(err != nil, safety.NotExercised, "%s cannot wait: %v", name, err)
	s.closers = append(s.closers, room.Close)
	if c.session, c.waiter, err = room.Client(c.session, 0); err != nil {
		s.leave(safety.NotExercised, "%s cannot wait: %v", name, err)
	}
	return c
}

// waiting is a client's wait for a key.
type waiting struct {
	client  *Client
	way     string          // of -wait
	granted <-chan struct{} // closed once it holds the key, or at the end of the attempt
	failed  atomic.Int64    // when the last error came, in nanoseconds of the attempt; 0: there was none
	giveUp  func()          // ends the wait
}

// Wait begins to wait for the key, which the client has just been refused, and tries again after an error. It ends with the attempt
// at the latest. The history has the first error of each row.
func (c *Client) Wait(way wait.Kind) *waiting {
	c.add(safety.Asks, "again, when it hears of a release")
	w := &waiting{client: c, way: way.Name}
	w.granted, w.giveUp = c.wait(c.granted, func(err error, again bool) {
		if !again {
			c.add(safety.Errs, err.Error())
		}
		w.failed.Store(int64(c.stage.Now()))
	})
	return w
}

// failedSince reports whether there was an error after a moment.
func (w *waiting) failedSince(moment time.Duration) bool {
	return time.Duration(w.failed.Load()) > moment
}

// Watches lets time pass until done is closed or a moment has come, and reports which. It ends the attempt as stalled if this
// process did not run for a while: then its waiters did not either, and nothing is known of them.
func (s *Stage) Watches(done <-chan struct{}, moment time.Duration) (closed bool) {
	for last := s.Now(); ; {
		select {
		case <-done:
			return true
		case <-time.After(min(tryEvery, moment-last)):
		}
		now := s.Now()
		switch {
		case s.ctx.Err() != nil:
			s.leave(safety.NotExercised, "stopped")
		case now-last > s.ttl/10:
			s.leave(safety.Stalled, "for %v this process did not run", (now - last).Round(time.Millisecond))
		case now >= moment:
			return false
		}
		last = now
	}
}

// HitBy waits until a breakpoint holds what it is for, or ends the attempt when a moment has come.
func (s *Stage) HitBy(b *fault.Break, moment time.Duration) {
	s.leaveIf(!s.Watches(b.Hit(), moment), safety.NotExercised, "the request that was to be stopped was not sent")
}

// wait waits for the key, and tries again after an error. It calls failed with each error, which may follow another one, and
// granted once it holds the key. It closes done after that, or once it has given up, at the end of the attempt at the latest.
func (c *Client) wait(granted func(), failed func(err error, again bool)) (done <-chan struct{}, giveUp func()) {
	ctx, cancel := context.WithCancel(c.stage.ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		clock := drivers.NewClock()
		held, err := false, error(nil)
		for again := false; ctx.Err() == nil; again = err != nil {
			var a wait.Attempt
			if a, err = wait.After(ctx, held, err, c.session, c.waiter, &c.lease, &clock, nil); a.Held {
				granted()
				return
			}
			if err != nil && ctx.Err() == nil {
				failed(err, again)
			}
			if a.Unknown {
				_, _ = c.session.Release(ctx, &c.lease) // best effort
			}
			select {
			case <-time.After(tryEvery):
			case <-ctx.Done():
				return
			}
			held, err = c.request()
		}
		if held || err != nil {
			_, _ = c.session.Release(c.stage.ctx, &c.lease) // it has given up meanwhile
		}
	}()
	giveUp = func() {
		cancel()
		<-ended
	}
	c.stage.closers = append(c.stage.closers, func() error {
		giveUp()
		return nil
	})
	return ended, giveUp
}

// rehearseWait waits for another key until its holder releases it, and returns how many requests that takes before the client
// sleeps: the fewest of two times, since the first one connects. It is no part of the history.
func (c *Client) rehearseWait(holder *Client) (requests int) {
	s := c.stage
	requests = math.MaxInt
	for n := range 2 {
		s.withOtherKey(fmt.Sprintf("rehearsal-%d", n), func() {
			holder.acquireUnseen()
			c.mustBeRefused(c.request())
			before := c.line().Requests()
			var granted atomic.Bool
			done, _ := c.wait(func() { granted.Store(true) }, func(error, bool) {})
			c.awaitQuiet()
			requests = min(requests, int(c.line().Requests()-before))
			holder.mustRelease(holder.session.Release(s.ctx, &holder.lease))
			s.Watches(done, s.Now()+s.TTL())
			s.leaveIf(!granted.Load(), safety.NotExercised, "%s was not granted another key, without a fault", c.name)
			c.mustRelease(c.session.Release(s.ctx, &c.lease))
		})
	}
	return requests
}

// mustRelease ends the attempt unless a release has removed the lock.
func (c *Client) mustRelease(removed bool, err error) {
	c.stage.leaveIf(!removed || err != nil,
		safety.NotExercised, "%s could not let its key go: %v, %v", c.name, removed, err)
}

// awaitQuiet waits until the client has asked for nothing for some time, neither for a connection nor over one: it sleeps. It waits
// for a quarter of the lease at most.
func (c *Client) awaitQuiet() {
	const silence = 50 * time.Millisecond
	asked := func() int64 { return c.line().Requests() + c.line().Refused() }
	last, since := asked(), c.stage.Now()
	for began := since; c.stage.Now() < min(since+silence, began+c.stage.ttl/4); {
		c.stage.Until(c.stage.Now() + tryEvery)
		if n := asked(); n != last {
			last, since = n, c.stage.Now()
		}
	}
}

// awaken fails the attempt if a waiter still sleeps at a moment, though the key is free: c is granted it. One whose connection does
// not answer does not sleep if it is told so, in the second half of that time or, with early, at any moment of it.
func (s *Stage) awaken(w *waiting, c *Client, moment time.Duration, early bool) {
	released, sent := s.Now(), w.client.line().Requests()
	half := released + (moment-released)/2
	for !s.Watches(w.granted, min(moment, s.Now()+tryEvery)) {
		switch {
		case early && w.failedSince(released):
			return
		case s.Now() < moment:
		case w.failedSince(half):
			return
		default:
			s.asleep(w, c, s.Now()-released, w.client.line().Requests()-sent)
			return
		}
	}
	s.Recovered(max(0, w.client.Granted-released))
}

// asleep fails the attempt of a waiter that sleeps and has sent some requests: the key is free, and c is granted it at once, or the
// server has granted the key to the waiter.
func (s *Stage) asleep(w *waiting, c *Client, slept time.Duration, requests int64) {
	held, err := c.Try()
	s.leaveIf(err != nil, safety.NotExercised, "%s: %s has no answer: %v", w.way, c.name, err)
	if !held {
		s.grantUnheard(w, c)
		return
	}
	if took := c.Granted - c.Asked; took > s.ttl/10 {
		s.leave(safety.Stalled, "%s: %s was granted the key only after %v", w.way, c.name, took)
	}
	s.Fail("%s: %s slept on a free key for %v, in which it sent %s; %s was granted it at once", w.way, w.client.name, slept.Round(time.Millisecond),
		format.Plural(int(requests), "request"), c.name)
}

// grantUnheard fails the attempt of a waiter that sleeps though the key, which nobody else can have, is not free: it has been granted
// it, does not know, and would sleep for ever.
func (s *Stage) grantUnheard(w *waiting, c *Client) {
	since := s.Now()
	free := c.AcquireBy(since + 2*s.TTL() + slack)
	took := s.elapsed(since)
	select {
	case <-w.granted:
		s.leave(safety.Stalled, "%s: %s heard of its grant after all", w.way, w.client.name)
	default:
	}
	switch {
	case w.failedSince(since):
		s.leave(safety.NotExercised, "%s: the connection of %s has ended meanwhile", w.way, w.client.name)
	case free:
		s.Fail("%s: %s slept on a key that it had been granted, and that came free after another %v", w.way, w.client.name, took)
	default:
		s.Never("%s: the server has granted the key to %s, which has not heard of it and sleeps: it was not free after another %v", w.way, w.client.name, took)
	}
}
