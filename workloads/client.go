// The client loop: one goroutine for each simulated client, and what it counts. It allocates nothing a cycle and
// writes to nothing that all clients share.

package workloads

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/lockbench/lockbench/drivers"
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
	e       *engine
	session drivers.Session
	waiter  drivers.Waiter // nil for -wait none
	id      int

	rng      rand.PCG
	wants    time.Duration // since when it has wanted a lock without getting one
	acquired atomic.Int64  // all grants, warm-up included
	entered  int64         // grants that the oracle saw
	pause    time.Duration // the next one after an error
	sleep    *time.Timer

	lease drivers.Lease
	tally tally
}

// tally is what one client counted in the measured window; see results.Counts and results.Fairness.
type tally struct {
	// In every cycle:
	acquired, tries, waits, released int64
	changes                          int64         // grants of a key to this client after another
	longestRun                       int64         // grants of a key in a row
	longest                          time.Duration // without a grant while it wanted one

	// Now and then:
	contended, timedOut, unknown, refused, lost, releaseError int64
	canceled, unfinished, thoughts                            int64
	thought                                                   time.Duration // in think pauses, as they really were
	failing                                                   time.Duration // in requests that ended in an error, and the pauses after them
	edges                                                     time.Duration // see edge
}

const (
	minErrorPause = time.Millisecond
	maxErrorPause = 100 * time.Millisecond
)

func (c *client) open(ctx context.Context, e *engine, id int) (err error) {
	c.e, c.id = e, id
	c.rng.Seed(e.run.Plan.Seed, uint64(id))
	c.lease.TTL = e.run.Plan.TTL
	c.pause = minErrorPause
	if c.session, err = e.run.Service.Session(ctx, id); err != nil {
		return err
	}
	w, err := e.room.Waiter(c.session, id)
	if err != nil {
		c.close()
		return err
	}
	if w != nil {
		c.waiter = stoppable{w, e.stopping}
	}
	return nil
}

func (c *client) close() {
	if closer, ok := drivers.As[io.Closer](c.session); ok {
		closer.Close()
	}
}

// stoppable ends waits when the run ends, but leaves the requests of the same acquisition alone: a request that is
// cut short has an unknown outcome, and every run would close with a handful of them.
type stoppable struct {
	drivers.Waiter
	stopping context.Context
}

func (s stoppable) Wait(_ context.Context, l *drivers.Lease) error {
	return s.Waiter.Wait(s.stopping, l)
}

// loop runs cycles until the window closes. The time at the end of one cycle is the start of the next: it is a
// closed loop, and a client that has to wait sends less.
func (c *client) loop() {
	<-c.e.start
	now := c.e.clock.Now()
	c.wants = now
	for now < c.e.until() {
		now = c.cycle(now)
	}
	if c.wants < c.e.until() { // it ended in the pause after an error
		c.tally.longest = max(c.tally.longest, c.e.until()-c.wants)
	}
}

// cycle is one acquisition with everything that follows from it: acquire, hold, release, think. It returns the
// time when it was over.
//
// Requests run under the background context. Their time limit is the driver's IO time-out; a context with a
// deadline for each would cost four allocations, and its Done channel a select in the client library.
func (c *client) cycle(start time.Duration) time.Duration {
	e, l := c.e, &c.lease
	key := c.pick()
	l.Key = e.keys[key]
	l.Deadline = time.Time{}
	if patience := e.run.Plan.Timeout; patience > 0 {
		l.Deadline = e.clock.Time(start + patience)
	}
	a, err := wait.Acquire(context.Background(), c.session, c.waiter, l, e.clock)
	granted := e.clock.Now()
	end := e.until() // read once: an interruption moves it
	recorded := granted >= e.from && granted < end
	if recorded {
		c.tally.tries += int64(a.Tries)
		c.tally.waits += int64(a.Waits)
	}
	if a.Leave != nil {
		e.errors.add("leave", a.Leave, recorded)
	}
	if granted >= end {
		c.outlast(end)
	}
	switch {
	case err != nil:
		return c.failed(start, granted, a, err, recorded)
	case !a.Held:
		return c.refused(start, granted, recorded)
	}
	c.acquired.Store(c.acquired.Load() + 1)
	if recorded {
		c.tally.acquired++
		c.tally.longest = max(c.tally.longest, granted-c.wants)
	}
	c.wants = c.think(c.hold(key, start, granted, recorded))
	return c.wants
}

// hold is the part of a cycle in which the client believes to hold the lock, and the release.
func (c *client) hold(key int, start, granted time.Duration, recorded bool) (released time.Duration) {
	e, l := c.e, &c.lease
	var grant oracle.Grant
	if e.oracle != nil {
		c.entered++
		grant = e.oracle.Enter(key, c.id, l.Fence, granted)
	}
	sent, undisturbed := granted, true
	if e.run.Plan.Hold > 0 {
		sent = c.rest(e.run.Plan.Hold)
	}
	if e.oracle != nil {
		undisturbed = e.oracle.Exit(key, c.id, grant, sent)
	}
	removed, err := c.session.Release(context.Background(), l)
	released = e.clock.Now()
	if removed && !undisturbed && !e.traits.Owned { // an owned lock that was removed was still this holder's
		e.oracle.WrongRelease()
	}
	if recorded {
		c.tally.release(grant, removed, err)
		c.record(start, granted, sent, released, grant.Handoff, err)
	}
	if err != nil {
		c.edge(start, sent, recorded)
		e.errors.add("release", err, recorded)
		return c.recover(sent)
	}
	c.edge(start, released, recorded)
	c.pause = minErrorPause
	return released
}

// release counts the end of a hold; g is zero without the oracle.
func (t *tally) release(g oracle.Grant, removed bool, err error) {
	t.longestRun = max(t.longestRun, g.Run)
	if g.Moved {
		t.changes++
	}
	switch {
	case err != nil:
		t.releaseError++
	case removed:
		t.released++
	default:
		t.lost++
	}
}

// record takes the latencies of a whole cycle down at once. handoff is when the key was let go before, or 0.
func (c *client) record(start, granted, sent, released, handoff time.Duration, err error) {
	shard := c.e.recorder.Borrow()
	shard.Record(results.AcquireIndex, granted-start)
	if handoff > start { // it was waiting when the key was let go
		shard.Record(results.HandoffIndex, granted-handoff)
	}
	if c.e.run.Plan.Hold > 0 {
		shard.Record(results.HoldIndex, sent-granted)
	}
	if err == nil {
		shard.Record(results.ReleaseIndex, released-sent)
	}
	c.e.recorder.Return(shard)
}

func (c *client) think(now time.Duration) time.Duration {
	if c.e.run.Plan.Think == 0 {
		return now
	}
	woke := c.rest(c.e.run.Plan.Think)
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

// outlast counts an acquisition that was under way when the window closed, whatever has become of it.
func (c *client) outlast(end time.Duration) {
	c.tally.longest = max(c.tally.longest, end-c.wants)
	if c.e.cut.Load() {
		c.tally.canceled++
	} else {
		c.tally.unfinished++
	}
}

// refused ends an acquisition that the lock answered with no: the one try was contended, or patience ran out.
func (c *client) refused(start, now time.Duration, recorded bool) time.Duration {
	if recorded {
		if c.waiter == nil {
			c.tally.contended++
		} else {
			c.tally.timedOut++
		}
		shard := c.e.recorder.Borrow()
		shard.Record(results.RefusalIndex, now-start)
		c.e.recorder.Return(shard)
	}
	c.edge(start, now, recorded)
	return c.think(now)
}

// failed ends an acquisition by an error. One whose answer was not heard may have been granted, so it is released, best
// effort. After an error of Wait nothing is released: the lock is known to be somebody else's, and one without owners
// would take it away from him.
func (c *client) failed(start, now time.Duration, a wait.Attempt, err error, recorded bool) time.Duration {
	if c.e.stopping.Err() != nil && errors.Is(err, context.Canceled) { // it waited, and was sent home
		c.edge(start, now, false)
		return now
	}
	c.e.errors.add("acquire", err, recorded)
	if a.Unknown {
		c.session.Release(context.Background(), &c.lease)
	}
	if recorded {
		if a.Unknown {
			c.tally.unknown++
		} else {
			c.tally.refused++
		}
	}
	return c.recover(start)
}

// recover pauses after an error, longer each time until something succeeds, so that a server that is gone is not
// hammered by clients that spin. begin is when that began which has failed.
func (c *client) recover(begin time.Duration) time.Duration {
	now := c.rest(c.pause/2 + time.Duration(c.rng.Uint64()%uint64(c.pause/2)))
	c.pause = min(2*c.pause, maxErrorPause)
	c.tally.failing += c.e.inside(begin, now)
	return now
}

// pick chooses a key, uniformly.
func (c *client) pick() int {
	n := uint64(c.e.run.Plan.Keys)
	if n == 1 {
		return 0
	}
	return int((c.rng.Uint64() >> 32) * n >> 32) // Lemire's reduction; its bias is below n/2^32
}

// rest sleeps for d, or until the run stops, and returns the time.
func (c *client) rest(d time.Duration) time.Duration {
	if c.sleep == nil {
		c.sleep = time.NewTimer(d)
	} else {
		c.sleep.Reset(d)
	}
	select {
	case <-c.sleep.C:
	case <-c.e.stop:
		c.sleep.Stop()
	}
	return c.e.clock.Now()
}
