// The client loop: one goroutine for each simulated client. It allocates nothing a cycle and writes to nothing that all
// clients share. What it counts is in counters.go, and what differs from a closed loop in arrivals.go.

package workloads

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/alarm"
	"github.com/lockbench/lockbench/drivers/renew"
	"github.com/lockbench/lockbench/drivers/wait"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/workloads/oracle"
)

// client is one simulated client. Its goroutine alone writes to it while the load runs; acquired is read by the
// progress report meanwhile, and the rest when the goroutine has ended.
//
// The fields are in the order in which a cycle needs them, packed into few cache lines: with hundreds of clients whose
// state has left the cache by the time they run again, the lines that a cycle touches are most of what the harness
// costs.
type client struct {
	// What begins a cycle:
	e       *engine
	class   *class
	session drivers.Session
	rng     rand.PCG
	start   time.Duration // when the cycle began
	key     int32
	id      int32

	// What follows the grant:
	lease drivers.Lease
	wants time.Duration // since when it has wanted a lock without getting one

	granted         time.Duration // when the acquisition was answered
	sent            time.Duration // when the release was about to be sent
	grant           oracle.Grant
	recorded        bool  // granted lies in the measured window
	claimed         bool  // the acquisition counts among those of -n; false without
	waited          bool  // the arrival had to wait since no client was free
	tryOnly         bool  // the arrival gets one try and does not wait
	exclusive       bool  // the oracle saw nobody else during the hold
	lost            bool  // the watchdog has reported the hold as lost
	dead            bool  // the client has died while it held the lock; see faults.go
	pendingReleases int32 // to send after the one that counts; see flush
	tally           tally

	// In an open loop, or with -n:
	due    time.Duration // the intended start of the acquisition
	claims int64         // of the budget, that have not begun
	spent  int64         // of the budget, that have ended and are not counted yet

	// Now and then:
	waiter   drivers.Waiter // nil for -wait none, and for a client that tries only
	watched  *renew.Hold    // nil without -renew
	finished time.Duration  // when a cycle was over that ended without a hold
	pause    time.Duration  // the next one after an error
	joined   time.Duration  // when its closed loop began, which takes a processor
	left     time.Duration  // when its loop ended
	sleep    *alarm.Timer   // nil until the first rest
	witness
	_ [16]byte // to whole cache lines: the clients lie side by side, and a cycle is to touch five lines and not six
}

const (
	minErrorPause = time.Millisecond
	maxErrorPause = 100 * time.Millisecond
)

// loop runs cycles until the window closes.
func (c *client) loop() {
	defer c.over()
	if c.class.open {
		c.serve()
	} else {
		c.repeat()
	}
}

// over ends the loop. A driver that crashes ends the run, of which what was measured is kept.
func (c *client) over() {
	c.left = c.e.clock.Now()
	if v := recover(); v != nil {
		err := drivers.Panicked(v)
		c.e.errors.add("cycle", err, c.left >= c.e.from && c.left < c.e.until())
		c.e.crash.CompareAndSwap(nil, &err)
	}
}

// repeat is the closed loop: the time at the end of one cycle is the start of the next, and a client that has to wait
// sends less.
func (c *client) repeat() {
	<-c.e.start
	now := c.e.clock.Now()
	c.joined, c.wants = now, now
	for now < c.e.until() && (c.e.budget == nil || c.claim(now)) {
		now = c.cycle(now)
	}
	if c.wants < c.e.until() && c.e.budget == nil { // it ended in the pause after an error
		c.tally.longest = max(c.tally.longest, c.e.until()-c.wants)
	}
}

// cycle is one acquisition with everything that follows from it: acquire, hold, release, think. It returns the
// time when it was over.
//
// Requests run under the background context. Their time limit is the driver's IO time-out; a context with a
// deadline for each would cost four allocations, and its Done channel a select in the client library.
//
// It is cut so that only this small frame lies between the loop and the driver, and the functions around it are kept
// out of it. Two requests a cycle block here, and of hundreds of clients each finds its stack out of the cache when the
// answer has come. What did not help: to give each client's stack another offset, so that their hot lines fall into
// different sets of the cache; a prefetch of the oracle's cell for writing; cells of half a line.
func (c *client) cycle(start time.Duration) time.Duration {
	c.begin(start)
	held, err := c.session.Try(context.Background(), &c.lease)
	if held && err == nil {
		c.answered()
	} else if !c.contend(held, err) {
		return c.finished
	}
	c.hold()
	if c.dead {
		return c.die()
	}
	removed, err := c.session.Release(context.Background(), &c.lease)
	return c.released(removed, err)
}

// begin chooses the key of a cycle and fills the lease in.
//
//go:noinline
func (c *client) begin(start time.Duration) {
	e := c.e
	c.start, c.asked, c.key = start, start, c.pick()
	c.lease.Key = e.keys[c.key]
	c.lease.Deadline = time.Time{}
	if patience := c.class.Timeout; patience > 0 {
		if c.class.open {
			start = c.due
		}
		c.lease.Deadline = e.clock.Time(start + patience)
	}
}

// contend goes on after a first try that was not granted, and tells whether the lock is held in the end. If not, it
// has finished the cycle.
//
//go:noinline
func (c *client) contend(held bool, err error) bool {
	c.unclaim()
	if c.class.MaxQueue > 0 {
		c.class.arrivals.contending.Add(1)
		defer c.class.arrivals.contending.Add(-1)
	}
	a, err := wait.After(context.Background(), held, err, c.session, c.way(), &c.lease, &c.e.clock, c.refusal)
	c.answered()
	if c.recorded {
		c.tally.retries += int64(a.Tries + a.Local - 1)
		c.tally.local += int64(a.Local)
		c.tally.waits += int64(a.Waits)
	}
	if a.Waits > 0 {
		c.tally.waited += c.e.inside(a.Began, c.granted)
	}
	if a.Asked > 0 && c.e.run.Plan.Wait != wait.Native { // whose Wait may acquire, and Try confirms it
		c.asked = a.Asked
	}
	if a.Leave != nil {
		c.e.errors.add("leave", a.Leave, c.recorded)
	}
	switch {
	case err != nil:
		c.finished = c.failed(a, err)
	case !a.Held:
		c.finished = c.refused()
	}
	return a.Held
}

// way is how the client waits in this cycle; nil if it does not.
func (c *client) way() drivers.Waiter {
	if c.tryOnly {
		return nil
	}
	return c.waiter
}

// answered takes down when an acquisition ended, however it did.
//
//go:noinline
func (c *client) answered() {
	e := c.e
	c.granted = e.clock.Now()
	end := e.until() // read once: an interruption moves it
	c.recorded = c.granted >= e.from && c.granted < end
	if c.class.open {
		c.tally.stayed += e.inside(c.due, c.granted)
	}
	if e.budget != nil {
		c.spend()
	}
	if c.granted >= end {
		c.countInFlight(end)
	}
}

// hold is the time in which the client believes to hold the lock. It ends when the release is about to be sent.
//
//go:noinline
func (c *client) hold() {
	e := c.e
	if e.oracle != nil {
		c.grant = e.oracle.Enter(int(c.key), int(c.id), c.fence(), c.granted)
	}
	if c.recorded {
		c.tally.grant(&c.grant, c.granted-c.wants)
	}
	if c.class.resting { // now, since the release may come seconds later
		c.extra = 0
		shard := c.class.recorder.Borrow()
		c.recordGrant(shard)
		c.class.recorder.Return(shard)
	}
	c.sent = c.granted
	if c.class.keeping {
		c.keep()
	} else if c.class.resting {
		c.sent = c.rest(c.drawHold())
	}
	if c.grant.Moved && c.sent >= c.resume {
		c.sample()
	}
	c.exclusive = e.oracle == nil || e.oracle.Exit(int(c.key), int(c.id), c.grant, c.sent)
	if c.lost {
		c.settle()
	}
}

// released takes down how a release ended, and finishes the cycle.
//
//go:noinline
func (c *client) released(removed bool, err error) time.Duration {
	e := c.e
	now := e.clock.Now()
	if removed && !c.exclusive && !e.traits.Owned { // an owned lock that was removed was still this holder's
		e.oracle.WrongRelease()
	}
	if err == nil && e.oracle != nil && (!removed || e.traits.Expires && !e.traits.Owned) {
		c.testify(removed, now)
	}
	shard := c.class.recorder.Borrow()
	shard.Granted.Add(1)
	if !c.class.resting {
		c.recordGrant(shard)
	}
	if c.recorded {
		c.tally.release(removed, err, c.lost)
		c.record(shard, now, err)
	}
	c.class.recorder.Return(shard)
	if err != nil {
		c.edge(c.start, c.sent, c.recorded)
		e.errors.add("release", err, c.recorded && !c.lost)
		now = c.recover(c.sent)
	} else {
		c.edge(c.start, now, c.recorded)
		c.pause = minErrorPause
	}
	if c.pendingReleases > 0 {
		now = c.flush(now)
	}
	c.wants = c.think(now)
	return c.wants
}

// recordGrant takes down the latencies that end with the grant; of the warm-up the series alone is told.
func (c *client) recordGrant(shard *results.Shard) {
	if !c.recorded {
		if c.granted < c.e.from {
			shard.Record(results.WarmupIndex, c.granted-c.intended())
		}
		return
	}
	shard.Record(results.AcquireIndex, c.granted-c.start)
	if c.class.open {
		shard.Record(results.ResponseIndex, c.granted-c.due)
		c.recordStart(shard)
	}
	if died := c.grant.Death; died > 0 {
		shard.Record(results.RecoveryIndex, c.granted-died)
	}
	if handoff := c.grant.Handoff; handoff > c.start { // it was waiting when the key was let go
		shard.Record(results.HandoffIndex, c.granted-handoff)
	}
}

// intended is when the acquisition was due: in a closed loop, when it began.
func (c *client) intended() time.Duration {
	if c.class.open {
		return c.due
	}
	return c.start
}

// record takes down the latencies that end with the release.
func (c *client) record(shard *results.Shard, released time.Duration, err error) {
	if c.class.resting {
		shard.Record(results.HoldIndex, c.sent-c.granted-c.extra)
	}
	if err == nil {
		shard.Record(results.ReleaseIndex, released-c.sent)
	}
}

func (c *client) think(now time.Duration) time.Duration {
	if !c.class.pausing {
		return now
	}
	woke := c.rest(c.drawThink())
	recorded := woke >= c.e.from && woke < c.e.until()
	if recorded {
		c.tally.thoughts++
		c.tally.thought += woke - now
	}
	c.edge(now, woke, recorded)
	return woke
}

// edge corrects the books for what lies across an edge of the measured window: it adds what was not recorded and yet
// took time inside, and takes off what was recorded and took time outside.
func (c *client) edge(begin, finish time.Duration, recorded bool) {
	if !recorded || begin < c.e.from || finish >= c.e.until() {
		c.cross(begin, finish, recorded)
	}
}

// cross is the rare part of edge, apart so that the compiler inlines the check in every cycle.
func (c *client) cross(begin, finish time.Duration, recorded bool) {
	c.tally.edges += c.e.inside(begin, finish)
	if recorded {
		c.tally.edges -= finish - begin
	}
}

// countInFlight counts an acquisition that was under way when the window closed, whatever has become of it.
func (c *client) countInFlight(end time.Duration) {
	c.tally.longest = max(c.tally.longest, end-c.wants)
	if c.e.cut.Load() {
		c.tally.canceled++
	} else {
		c.tally.unfinished++
	}
}

// refused ends an acquisition that the lock answered with no: the one try was contended, or patience ran out.
func (c *client) refused() time.Duration {
	outcome, count := results.OutcomeTimedOut, &c.tally.timedOut
	if c.way() == nil {
		outcome, count = results.OutcomeContended, &c.tally.contended
	}
	shard := c.class.recorder.Borrow()
	shard.End(outcome)
	if c.recorded {
		*count++
		shard.Record(results.RefusalIndex, c.granted-c.start)
		if c.class.open {
			c.recordStart(shard)
			c.tally.longest = max(c.tally.longest, c.granted-c.wants)
		}
	}
	c.class.recorder.Return(shard)
	c.edge(c.start, c.granted, c.recorded)
	return c.think(c.granted)
}

// failed ends an acquisition by an error. One whose answer was not heard may have been granted, so it is released, best
// effort, unless that is left to the cleaning: the window is closed, and a server that hangs would take another time-out.
// After an error of Wait nothing is released: the lock is known to be somebody else's, and one without owners
// would take it away from him.
func (c *client) failed(a wait.Attempt, err error) time.Duration {
	if c.e.stopping.Err() != nil && errors.Is(err, context.Canceled) { // it waited, and was sent home
		c.edge(c.start, c.granted, false)
		return c.granted
	}
	c.e.errors.add("acquire", err, c.recorded)
	outcome, count := results.OutcomeRefused, &c.tally.refused
	if a.Unknown {
		if !c.e.cleans || c.granted < c.e.until() {
			c.session.Release(context.Background(), &c.lease)
		}
		outcome, count = results.OutcomeUnknown, &c.tally.unknown
	}
	shard := c.class.recorder.Borrow()
	shard.End(outcome)
	c.class.recorder.Return(shard)
	if c.recorded {
		*count++
	}
	return c.recover(c.start)
}

// recover pauses after an error, longer each time until something succeeds, so that a server that is gone is not
// hammered by clients that spin. begin is when that began which has failed.
func (c *client) recover(begin time.Duration) time.Duration {
	now := c.rest(c.pause/2 + time.Duration(c.rng.Uint64()%uint64(c.pause/2)))
	c.pause = min(2*c.pause, maxErrorPause)
	c.tally.failing += c.e.inside(begin, now)
	return now
}

// rest sleeps for d, or until the run stops, and returns the time.
func (c *client) rest(d time.Duration) time.Duration { return c.restUntil(d, nil) }

// restUntil is rest with another reason to get up, which may be nil.
func (c *client) restUntil(d time.Duration, lost <-chan struct{}) time.Duration {
	if c.sleep == nil {
		c.sleep = new(alarm.Timer)
	}
	c.sleep.Sleep(d, c.e.stop, lost)
	return c.e.clock.Now()
}
