// The client loop: one goroutine for each simulated client. A cycle allocates nothing and writes to nothing that all
// clients share. Its counters are in counters.go, the open loop in arrivals.go.

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

// client is one simulated client. Its goroutine alone uses it while the load runs, but for what is atomic, and others read it
// when that has ended.
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
	wants time.Duration // it has wanted a lock, and not got one, since then

	granted         time.Duration // when the acquisition was answered
	sent            time.Duration // just before the release was sent
	grant           oracle.Grant
	recorded        bool  // granted lies in the measured window
	claimed         bool  // the acquisition counts towards -n
	waited          bool  // the arrival waited because no client was free
	tryOnly         bool  // the arrival gets one try and does not wait
	superseded      bool  // another client was granted the key since, and asked for it later; see oracle.Superseded
	lost            bool  // the watchdog has reported the hold as lost
	guessed         bool  // the library did not tell how many requests its calls sent
	crashed         bool  // the client has died while it held the lock; see crash
	pendingReleases int32 // to send after the one that counts; see flush
	counters        counters

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
	timer    *alarm.Timer   // nil until the first rest
	evidence
	holds *oracle.Log // of several processes; else nil
	_     [48]byte    // to whole cache lines: a cycle is to touch five of them and not six
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

// over ends the loop. A driver that panics ends the run, which keeps what it has measured.
func (c *client) over() {
	c.left = c.e.clock.Now()
	if v := recover(); v != nil {
		c.e.crashed(drivers.Panicked(v))
	}
}

// crashed records that a driver has panicked.
func (e *engine) crashed(err error) {
	now := e.clock.Now()
	e.errors.add("cycle", err, now >= e.from && now < e.until())
	e.panicked.CompareAndSwap(nil, &err)
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
	if c.wants < c.e.until() && c.e.budget == nil { // the window closed in the pause after an error
		c.counters.longest = max(c.counters.longest, c.e.until()-c.wants)
	}
}

// cycle acquires, holds, releases and thinks. It returns the time when it was over.
//
// Requests run under the background context. Their time limit is the driver's IO time-out; a context with a
// deadline for each would cost four allocations, and its Done channel a select in the client library.
//
// Only this small frame lies between the loop and the driver; the functions that it calls are kept out of it. Two requests
// a cycle block here, and with hundreds of clients a stack has left the cache when the answer comes.
func (c *client) cycle(start time.Duration) time.Duration {
	c.begin(start)
	held, err := c.session.Try(context.Background(), &c.lease)
	if held && err == nil {
		c.answered(c.e.clock.Now())
	} else if !c.contend(held, err) {
		return c.finished
	}
	c.hold()
	if c.crashed {
		return c.crash()
	}
	removed, err := c.session.Release(context.Background(), &c.lease)
	return c.released(removed, err)
}

// begin chooses the key of a cycle and fills in the lease.
//
//go:noinline
func (c *client) begin(start time.Duration) {
	e := c.e
	c.start, c.asked, c.handed, c.key = start, start, false, c.pick()
	c.lease.Key = e.keys[c.key]
	c.lease.Deadline = time.Time{}
	if patience := c.class.Timeout; patience > 0 {
		if c.class.open {
			start = c.due
		}
		c.lease.Deadline = e.clock.Time(start + patience)
	}
}

// contend goes on after a first try that was not granted, and reports whether the lock is held in the end. If not, the
// cycle is finished.
//
//go:noinline
func (c *client) contend(held bool, err error) bool {
	c.unclaim()
	c.class.waiting.Add(1)
	defer c.class.waiting.Add(-1)
	a, err := wait.After(context.Background(), held, err, c.session, c.currentWaiter(), &c.lease, &c.e.clock, c)
	c.answered(c.e.clock.Now())
	c.contended(&a)
	switch {
	case err != nil:
		c.finished = c.failed(&a, err)
	case !a.Held:
		c.refused(a.GaveUp)
		c.finished = c.think(c.granted)
	}
	return a.Held
}

// contended counts an acquisition whose first try was not granted, and that is over.
func (c *client) contended(a *wait.Attempt) {
	if c.recorded {
		c.counters.retries += int64(a.Tries + a.Local - 1)
		c.counters.local += int64(a.Local)
		c.counters.waits += int64(a.Waits)
		c.guessed = c.guessed || a.Guessed
	}
	if a.Waits > 0 {
		c.counters.waited += c.e.inside(a.Began, c.granted)
	}
	if a.Asked > 0 && c.e.run.Plan.Wait != wait.Native { // whose Wait may acquire, and Try confirms it
		c.asked = a.Asked
	} else {
		c.handed = a.Waits > 0
	}
	if !a.Held && c.e.oracle != nil && !c.e.run.Plan.Shared {
		if died := c.e.oracle.Died(int(c.key)); died > 0 {
			c.waitedForDead(died)
		}
	}
	if a.Leave != nil {
		c.e.errors.add("leave", a.Leave, c.recorded)
	}
}

// currentWaiter is how the client waits in this cycle; nil if it does not.
func (c *client) currentWaiter() drivers.Waiter {
	if c.tryOnly {
		return nil
	}
	return c.waiter
}

// answered records when an acquisition ended, whether granted or not.
//
//go:noinline
func (c *client) answered(now time.Duration) {
	e := c.e
	c.granted = now
	end := e.until() // read once: an interruption moves it
	c.recorded = c.granted >= e.from && c.granted < end
	if c.class.open {
		c.counters.inSystem += e.inside(c.due, c.granted)
	}
	if e.budget != nil {
		c.spend()
	}
	if e.stuck.some.Load() {
		c.counters.blocked += e.stuck.waited(c)
	}
	if c.granted >= end {
		c.countInFlight(end)
	}
}

// hold is the time in which the client believes that it holds the lock. It ends just before the release is sent.
//
//go:noinline
func (c *client) hold() {
	c.enter()
	if c.class.managedHold {
		c.holdManaged()
	} else if c.class.timedHold {
		c.sent = c.sleepFor(c.class.holds.Next(&c.rng))
	}
	if most := c.sampleFor(); most > 0 {
		c.sampleHold(most)
	}
	c.leave()
}

func (c *client) enter() {
	e := c.e
	if e.stuck.some.Load() {
		e.stuck.granted(c)
	}
	if e.oracle != nil {
		c.grant = e.oracle.Enter(int(c.key), int(c.id), c.fence(), c.asked, c.granted)
		if e.run.Plan.Shared { // another run's clients may have had it in between
			c.grant.Handoff, c.grant.CrashedAt, c.grant.Run, c.grant.Moved = 0, 0, 0, false
		}
		if died := c.grant.CrashedAt; died > 0 {
			c.e.dead.locked.Add(int64(c.waitedForDead(died)))
		}
	}
	if c.recorded {
		c.counters.grant(&c.grant, c.granted-c.wants)
		c.moved()
	}
	if c.class.timedHold { // record now: the release may come seconds later
		c.extra = 0
		shard := c.class.recorder.Borrow()
		c.recordGrant(shard)
		c.class.recorder.Return(shard)
	}
	c.sent = c.granted
	if c.grant.Counted { // it has met others: that the holds of both overlap is to follow from their times
		c.sent = e.clock.Now()
	}
}

// moved counts for how long the key was locked before the grant while no client held it. The request that was granted
// had its effect in the middle, as far as anybody knows, and so has a release: Bound.Transit is half of both. A lock
// that the former holder passed on was never free since its release was sent. When a service granted a lock for which
// it let the client wait is not known; another release stands for that request.
func (c *client) moved() {
	t := &c.counters
	switch {
	case c.e.passes && c.grant.Handoff > c.start && (c.handed || c.e.traits.Fair):
		t.transit += 2 * (c.granted - c.grant.Handoff)
		t.passed++
	case c.handed:
		t.passed--
	default:
		t.transit += c.granted - c.asked
	}
}

// waitedForDead counts how long an acquisition that is over waited for its key, whose holder died then. It returns
// how much of the window the key was locked by it: until its lease ended at the most, since later the key was free.
func (c *client) waitedForDead(died time.Duration) (locked time.Duration) {
	end := min(c.granted, c.e.freed(died, c.lease.TTL))
	c.e.dead.waited.Add(int64(c.e.inside(max(died, c.start), end)))
	return c.e.inside(died, end)
}

// leave ends a hold at the time c.sent.
func (c *client) leave() {
	e := c.e
	c.superseded = false
	if e.oracle != nil && !e.oracle.Exit(int(c.key), int(c.id), c.grant, c.sent) {
		c.successor, c.superseded = e.oracle.Superseded(int(c.key), c.granted)
		c.sent = e.clock.Now() // after the grants of others that Exit has seen
	}
	if c.lost && c.watched != nil {
		c.awaitRenewal()
	}
	if c.holds != nil {
		c.logHold()
	}
}

// released records how a release ended, and finishes the cycle.
//
//go:noinline
func (c *client) released(removed bool, err error) time.Duration {
	now := c.e.clock.Now()
	shard := c.class.recorder.Borrow()
	c.settle(shard, removed, err, now)
	c.class.recorder.Return(shard)
	if err != nil {
		now = c.recover(c.sent)
	}
	if c.pendingReleases > 0 {
		now = c.flush(now)
	}
	c.wants = c.think(now)
	return c.wants
}

// settle records how a release ended, to a shard of the class's.
func (c *client) settle(shard *results.Shard, removed bool, err error, now time.Duration) {
	e := c.e
	if err == nil && e.oracle != nil && (!removed || c.superseded || e.traits.Expires) {
		c.checkRelease(removed, now)
	}
	shard.Granted.Add(1)
	if !c.class.timedHold {
		c.recordGrant(shard)
	}
	if c.recorded {
		c.counters.release(removed, err, c.lost)
		c.record(shard, now, err)
	}
	if err != nil {
		c.windowEdge(c.start, c.sent, c.recorded)
		e.errors.add("release", err, c.recorded && !c.lost)
		if !c.lost {
			e.stuck.leave(c, c.sent)
		}
	} else {
		c.windowEdge(c.start, now, c.recorded)
		c.pause = minErrorPause
	}
}

// recordGrant records the latencies that end with the grant; in the warm-up, for the time series alone.
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
	if died := c.grant.CrashedAt; died > 0 {
		shard.Record(results.RecoveryIndex, c.granted-died)
	}
	if handoff := c.grant.Handoff; handoff > c.start { // it was waiting when the key was released
		shard.Record(results.HandoffIndex, c.granted-handoff)
	}
}

// intended returns when the acquisition was due: in a closed loop, when it began.
func (c *client) intended() time.Duration {
	if c.class.open {
		return c.due
	}
	return c.start
}

// record records the latencies that end with the release.
func (c *client) record(shard *results.Shard, released time.Duration, err error) {
	if c.class.timedHold {
		shard.Record(results.HoldIndex, c.sent-c.granted-c.extra)
	}
	if err == nil {
		shard.Record(results.ReleaseIndex, released-c.sent)
	}
}

func (c *client) think(now time.Duration) time.Duration {
	if !c.class.thinking {
		return now
	}
	woke := c.sleepFor(c.class.thinks.Next(&c.rng))
	c.thought(now, woke)
	return woke
}

func (c *client) thought(now, woke time.Duration) {
	recorded := woke >= c.e.from && woke < c.e.until()
	if recorded {
		c.counters.thoughts++
		c.counters.thought += woke - now
	}
	c.windowEdge(now, woke, recorded)
}

// windowEdge corrects the recorded time for work that crosses an edge of the measured window: it adds what was not recorded
// and took time inside, and subtracts what was recorded and took time outside.
func (c *client) windowEdge(begin, finish time.Duration, recorded bool) {
	if !recorded || begin < c.e.from || finish >= c.e.until() {
		c.crossEdge(begin, finish, recorded)
	}
}

// crossEdge is the rare part of windowEdge, so that the compiler can inline the check that every cycle makes.
func (c *client) crossEdge(begin, finish time.Duration, recorded bool) {
	c.counters.edges += c.e.inside(begin, finish)
	if recorded {
		c.counters.edges -= finish - begin
	}
}

// countInFlight counts an acquisition that was under way when the window closed, however it ended.
func (c *client) countInFlight(end time.Duration) {
	c.counters.longest = max(c.counters.longest, end-c.wants)
	if c.e.cut.Load() {
		c.counters.canceled++
	} else {
		c.counters.unfinished++
	}
}

// refused counts an acquisition that the lock refused: the only try was contended, the time-out passed, or the
// library gave up.
func (c *client) refused(gaveUp bool) {
	outcome, count := results.OutcomeTimedOut, &c.counters.timedOut
	switch {
	case c.currentWaiter() == nil:
		outcome, count = results.OutcomeContended, &c.counters.contended
	case gaveUp:
		outcome, count = results.OutcomeGaveUp, &c.counters.gaveUp
	}
	shard := c.class.recorder.Borrow()
	shard.End(outcome)
	if c.recorded {
		*count++
		shard.Record(results.RefusalIndex, c.granted-c.start)
		if c.class.open {
			c.recordStart(shard)
			c.counters.longest = max(c.counters.longest, c.granted-c.wants)
		}
	}
	c.class.recorder.Return(shard)
	c.windowEdge(c.start, c.granted, c.recorded)
	c.pause = minErrorPause
}

// failed ends an acquisition by an error, and returns the time when the pause after it is over.
func (c *client) failed(a *wait.Attempt, err error) time.Duration {
	if c.interrupted(err) {
		return c.granted
	}
	if c.mustUndo(a) {
		_, undone := c.session.Release(context.Background(), &c.lease)
		c.undone(undone)
	}
	c.fail(a, err)
	return c.recover(c.asked)
}

// interrupted reports whether err says that the run has ended while the client waited, and ends the acquisition then.
func (c *client) interrupted(err error) bool {
	if c.e.stopping.Err() == nil || !errors.Is(err, context.Canceled) {
		return false
	}
	c.windowEdge(c.start, c.granted, false)
	return true
}

// mustUndo reports whether to release after an error, best effort: the answer was not heard, and the lock may have been granted.
// After the window has closed this is left to the cleaning, since a server that hangs would take another time-out. After an
// error of Wait nothing is released: another client holds the lock, and the release of a lock without owners would take it away.
func (c *client) mustUndo(a *wait.Attempt) bool {
	return a.Unknown && (!c.e.cleans || c.granted < c.e.until())
}

// undone goes on after the answer to the release after an attempt that failed so. A key that another client holds was
// not granted to this one.
func (c *client) undone(err error) {
	if err != nil && (c.e.oracle == nil || !c.e.oracle.Held(int(c.key))) {
		c.e.stuck.leave(c, c.granted)
	}
}

// fail counts an acquisition that ended by an error.
func (c *client) fail(a *wait.Attempt, err error) {
	if a.Waits > 0 { // the request that failed counts as that, and not as a wait
		c.counters.waited -= c.e.inside(max(a.Began, c.asked), c.granted)
	}
	c.e.errors.add("acquire", err, c.recorded)
	outcome, count := results.OutcomeRefused, &c.counters.refused
	if a.Unknown {
		outcome, count = results.OutcomeUnknown, &c.counters.unknown
	}
	shard := c.class.recorder.Borrow()
	shard.End(outcome)
	c.class.recorder.Return(shard)
	if c.recorded {
		*count++
	}
}

// recover pauses after an error, longer each time until an acquisition is refused or a lock released, so that clients do not spin
// on a server that is gone. begin is when the failed request began. It returns the time.
func (c *client) recover(begin time.Duration) time.Duration {
	now := c.sleepFor(c.drawPause())
	c.counters.failing += c.e.inside(begin, now)
	return now
}

// drawPause returns how long the next pause after an error takes.
func (c *client) drawPause() time.Duration {
	d := c.pause/2 + time.Duration(c.rng.Uint64()%uint64(c.pause/2))
	c.pause = min(2*c.pause, maxErrorPause)
	return d
}

// sleepFor sleeps for d, or until the run stops, and returns the time.
func (c *client) sleepFor(d time.Duration) time.Duration { return c.sleepUntil(d, nil) }

// sleepUntil is sleepFor, but ends early when lost is closed or sent to.
func (c *client) sleepUntil(d time.Duration, lost <-chan struct{}) time.Duration {
	c.alarm().Sleep(d, c.e.stop, lost)
	return c.e.clock.Now()
}

func (c *client) alarm() *alarm.Timer {
	if c.timer == nil {
		c.timer = new(alarm.Timer)
	}
	return c.timer
}
