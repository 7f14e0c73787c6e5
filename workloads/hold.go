// Managed holds, which do more than sleep: re-entry (-reentry), renewal (-renew), and holders that crash without
// a release (-crash). They are apart from the cycle, so that a plain hold pays for one comparison.

package workloads

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/renew"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/workloads/matrix"
	"github.com/lockbench/lockbench/workloads/shape"
)

// watchdog renews the holds of all clients; its zero value renews nothing.
type watchdog struct {
	scheduler *renew.Scheduler // nil without -renew

	renewals, errors atomic.Int64 // answered in the window, and those that failed
}

// startWatchdog starts the renewals. The clock must run, and no client may hold a lock yet.
func (e *engine) startWatchdog() {
	if e.run.Plan.Renew && !matrix.Batched(&e.run.Plan) {
		e.watchdog.scheduler = renew.New(renew.Options{Clock: e.clock, Renewed: e.renewed})
	}
}

// stopWatchdog ends the renewals, when no client holds a lock any more.
func (e *engine) stopWatchdog() {
	if e.watchdog.scheduler != nil {
		e.watchdog.scheduler.Close()
	}
}

func (e *engine) renewed(r renew.Renewal) {
	recorded := r.Answered >= e.from && r.Answered < e.until()
	if r.Err != nil {
		e.errors.add("renew", r.Err, recorded)
	}
	if !recorded {
		return
	}
	e.watchdog.renewals.Add(1)
	if r.Err != nil {
		e.watchdog.errors.Add(1)
		return
	}
	shard := e.recorder.Borrow()
	shard.Record(results.RenewIndex, r.Answered-r.Sent)
	e.recorder.Return(shard)
}

// newHold registers the client with the watchdog, if there is one: workers renew the holds of theirs.
func (c *client) newHold() {
	if r, ok := drivers.As[drivers.Renewer](c.session); ok && c.e.run.Plan.Renew && !matrix.Batched(&c.e.run.Plan) {
		c.watched = renew.NewHold(r)
	}
}

// holdManaged holds from the grant until the last release may be sent. Re-entries come first, then the watchdog has the
// session until the hold is over, then the inner releases: never two of them at a time. All releases but the last leave the
// lock held, so they are part of the hold.
func (c *client) holdManaged() {
	p := &c.e.run.Plan
	entered, whole := 0, true
	c.lost = false
	crashes := c.drawCrash()
	if p.Reentry > 1 {
		entered, whole = c.reenter(p.Reentry - 1)
	}
	if whole {
		c.sleepWatched(c.class.holds.Next(&c.rng))
	}
	if crashes {
		c.markCrashed()
	}
	switch {
	case c.crashed:
	case c.lost:
		c.pendingReleases += int32(entered) // the hold has to end at once
	case entered > 0:
		c.releaseReentries(entered)
	}
	if p.Reentry > 1 {
		c.sent = c.e.clock.Now()
	}
}

// sleepWatched sleeps for d, or until the run stops or the hold is lost, and has the lease renewed meanwhile.
func (c *client) sleepWatched(d time.Duration) {
	if c.watched == nil {
		if d > 0 {
			c.sent = c.sleepFor(d)
		}
		return
	}
	watchdog := c.e.watchdog.scheduler
	watchdog.Start(c.watched, &c.lease, c.leaseBegan())
	if d > 0 {
		c.sent = c.sleepUntil(d, c.watched.Lost())
	}
	var waited bool
	if c.lost, waited = watchdog.Stop(c.watched); waited {
		c.sent = c.e.clock.Now()
	}
}

// leaseBegan returns when the lease of the hold began at the earliest. A client whose Wait has acquired the lock knows that
// from ValidUntil, or only that the answer has come.
func (c *client) leaseBegan() time.Duration {
	switch {
	case !c.handed:
		return c.asked
	case !c.lease.ValidUntil.IsZero():
		return c.leaseEnd() - c.lease.TTL
	}
	return c.granted
}

// awaitRenewal ends a hold that was lost: the client may use the session again once no renewal is under way.
func (c *client) awaitRenewal() {
	c.e.watchdog.scheduler.Await(c.watched)
	c.sent = c.e.clock.Now()
}

// reenter acquires the held lock n times more. It stops at the first refusal, and returns how many were granted.
func (c *client) reenter(n int) (entered int, whole bool) {
	for ; entered < n; entered++ {
		before, sent := c.lease, c.e.clock.Now()
		held, err := c.session.Try(context.Background(), &c.lease)
		if !c.reentered(&before, held, err, c.e.clock.Now()-sent) {
			return entered, false
		}
	}
	return entered, true
}

// reentered goes on after the answer to a re-entry, and reports whether it was granted. before is the lease before it.
func (c *client) reentered(before *drivers.Lease, held bool, err error, took time.Duration) bool {
	if !held || err != nil {
		c.lease = *before // of which a Try that was refused may have drawn another owner
		c.reentryDenied(err)
		return false
	}
	if c.recorded {
		c.counters.reentries++
		shard := c.class.recorder.Borrow()
		shard.Record(results.ReentryIndex, took)
		c.class.recorder.Return(shard)
	}
	return true
}

// reentryDenied counts a re-entry that was not granted. If the answer was not heard, the server may have counted it.
func (c *client) reentryDenied(err error) {
	if err == nil {
		if c.recorded {
			c.counters.reentryRefused++
		}
		return
	}
	c.reentryFailed("re-entry", err)
	if !drivers.NoEffect(err) {
		c.pendingReleases++
	}
}

func (c *client) reentryFailed(op string, err error) {
	c.e.errors.add(op, err, c.recorded)
	if c.recorded {
		c.counters.reentryError++
	}
}

// releaseReentries releases n re-entries, as far as there are any.
func (c *client) releaseReentries(n int) {
	for range n {
		if !c.reentryReleased(c.session.Release(context.Background(), &c.lease)) {
			return
		}
	}
}

// reentryReleased goes on after the answer to the release of a re-entry, and reports whether to release the next one: not if the server says
// that there is nothing left, since the last release, which is the one that counts, gets the same answer. A release that failed is
// pending, whether it had an effect or not.
func (c *client) reentryReleased(removed bool, err error) bool {
	if err != nil {
		c.reentryFailed("release", err)
		c.pendingReleases++
	}
	return removed || err != nil
}

// flush sends the pending releases, best effort and after the one that counts: they free the lock if the server counted a
// re-entry whose answer was lost, and find nothing if it did not. It returns the time.
func (c *client) flush(begin time.Duration) time.Duration {
	for c.pendingReleases > 0 {
		_, err := c.session.Release(context.Background(), &c.lease)
		c.flushed(err)
	}
	now := c.e.clock.Now()
	c.counters.failing += c.e.inside(begin, now)
	return now
}

// flushed counts the answer to a pending release. After an error the server is gone, and the others would fail as well.
func (c *client) flushed(err error) {
	if c.pendingReleases--; err != nil {
		c.pendingReleases = 0
	}
}

// errCrashed stands for the answer to a release that a crashed holder never sent.
var errCrashed = errors.New("the holder has crashed")

// clockGrain is more than servers that keep time in whole milliseconds round a lease by.
const clockGrain = 2 * time.Millisecond

// drawCrash chooses whether the next hold ends in a crash.
func (c *client) drawCrash() bool { return c.class.Crash > 0 && shape.Unit(&c.rng) < c.class.Crash }

// markCrashed makes a hold that is over end in a crash, unless the run has ended too or the hold was lost before.
func (c *client) markCrashed() {
	if c.lost || c.e.stopping.Err() != nil {
		return
	}
	c.crashed, c.grant.Crashes = true, true
	c.pendingReleases = 0
}

// crash ends a cycle with a crash of the client: it releases nothing, and its session ends without a word to the service.
// Another client takes its place at once, with a session of its own, as a new process would. crash returns the time when
// that client is ready.
//
//go:noinline
func (c *client) crash() time.Duration {
	c.crashed = false
	shard := c.class.recorder.Borrow()
	shard.Granted.Add(1)
	if !c.class.timedHold {
		c.recordGrant(shard)
	}
	if c.recorded {
		c.counters.crashed++
		c.record(shard, c.sent, errCrashed)
	}
	c.class.recorder.Return(shard)
	c.windowEdge(c.start, c.sent, c.recorded)
	if session, ok := drivers.As[drivers.Crasher](c.session); ok {
		session.Crash()
	}
	c.session, c.waiter, c.watched = nil, nil, nil
	c.lease = drivers.Lease{TTL: c.class.TTL}
	c.wants = c.respawn(c.sent)
	return c.wants
}

// respawn opens a session for the client that takes the place of the one that crashed at that time. It tries until it has
// one or the run stops. No latency includes the time that this takes.
func (c *client) respawn(died time.Duration) time.Duration {
	e, begin := c.e, died
	for {
		err := c.connect(e.stopping)
		now := e.clock.Now()
		if err == nil || e.stopping.Err() != nil {
			c.windowEdge(begin, now, false)
			return now
		}
		e.errors.add("session", fmt.Errorf("after a crash: %w", err), now >= e.from && now < e.until())
		begin = c.recover(begin)
	}
}
