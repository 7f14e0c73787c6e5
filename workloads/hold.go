// Holds with more to them than a sleep: re-entry (-reentry) and renewal (-renew), and ends that are planted (faults.go).
// It lies apart from the cycle, so that a plain hold pays for one comparison.

package workloads

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/renew"
	"github.com/lockbench/lockbench/results"
)

// watchdog is what all clients share for the renewal of their holds; its zero value renews nothing.
type watchdog struct {
	scheduler *renew.Scheduler // nil without -renew

	renewals, errors atomic.Int64 // answered in the window, and those that failed
}

// startWatchdog follows the clock's start, and comes before any hold.
func (e *engine) startWatchdog() {
	if e.run.Plan.Renew {
		e.dog.scheduler = renew.New(renew.Options{Clock: e.clock, Renewed: e.renewed})
	}
}

// stopWatchdog comes when no client holds any more.
func (e *engine) stopWatchdog() {
	if e.dog.scheduler != nil {
		e.dog.scheduler.Close()
	}
}

// renewed takes down one renewal.
func (e *engine) renewed(r renew.Renewal) {
	recorded := r.Answered >= e.from && r.Answered < e.until()
	if r.Err != nil {
		e.errors.add("renew", r.Err, recorded)
	}
	if !recorded {
		return
	}
	e.dog.renewals.Add(1)
	if r.Err != nil {
		e.dog.errors.Add(1)
		return
	}
	shard := e.recorder.Borrow()
	shard.Record(results.RenewIndex, r.Answered-r.Sent)
	e.recorder.Return(shard)
}

// newHold makes the client's place with the watchdog, if the plan has one.
func (c *client) newHold() error {
	if !c.e.run.Plan.Renew {
		return nil
	}
	r, ok := drivers.As[drivers.Renewer](c.session)
	if !ok {
		return fmt.Errorf("-renew: the sessions of %s cannot renew, although the design says so", c.e.run.Plan.Lock)
	}
	c.watched = renew.NewHold(r)
	return nil
}

// keep is a hold from the grant to the moment when the release of it all may be sent. Re-entries come first, then the
// watchdog has the session until the hold is over, then the inner releases: never two of them at a time. All but the
// last release leave the lock held, so they belong to the hold.
func (c *client) keep() {
	p := &c.e.run.Plan
	entered, whole := 0, true
	c.lost = false
	ends := c.draw()
	if ends == overstays {
		c.overstay()
		return
	}
	if p.Reentry > 1 {
		entered, whole = c.reenter(p.Reentry - 1)
	}
	if whole {
		c.sleepWatched(c.drawHold())
	}
	if ends == dies {
		c.markCrashed()
	}
	switch {
	case c.dead:
	case c.lost:
		c.pendingReleases += int32(entered) // the belief has to end at once
	case entered > 0:
		c.leave(entered)
	}
	if p.Reentry > 1 {
		c.sent = c.e.clock.Now()
	}
}

// sleepWatched sleeps for d, or until the run stops or the hold is lost, and has the lease renewed meanwhile.
func (c *client) sleepWatched(d time.Duration) {
	if c.watched == nil {
		if d > 0 {
			c.sent = c.rest(d)
		}
		return
	}
	dog := c.e.dog.scheduler
	dog.Start(c.watched, &c.lease, c.granted)
	if d > 0 {
		c.sent = c.restUntil(d, c.watched.Lost())
	}
	var waited bool
	if c.lost, waited = dog.Stop(c.watched); waited {
		c.sent = c.e.clock.Now()
	}
}

// settle follows the end of the belief in a hold that was lost: the session is the client's again once no renewal is
// under way any more.
func (c *client) settle() {
	c.e.dog.scheduler.Await(c.watched)
	c.sent = c.e.clock.Now()
}

// reenter acquires the held lock n times more. It stops at the first that is not granted, and tells how many were.
func (c *client) reenter(n int) (entered int, whole bool) {
	before := c.lease
	for ; entered < n; entered++ {
		sent := c.e.clock.Now()
		held, err := c.session.Try(context.Background(), &c.lease)
		if !held || err != nil {
			c.lease = before // of which a Try that was refused may have drawn another owner
			c.unentered(err)
			return entered, false
		}
		before = c.lease
		if c.recorded {
			c.tally.reentries++
			shard := c.class.recorder.Borrow()
			shard.Record(results.ReentryIndex, c.e.clock.Now()-sent)
			c.class.recorder.Return(shard)
		}
	}
	return entered, true
}

// unentered counts a re-entry that was not granted. One whose answer was not heard may count on the server.
func (c *client) unentered(err error) {
	if err == nil {
		if c.recorded {
			c.tally.reentryRefused++
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
		c.tally.reentryError++
	}
}

// leave gives n re-entries back. It ends when the server says that there is nothing left: the last release will hear
// the same, and is what counts. One that failed is pending, whether it had an effect or not.
func (c *client) leave(n int) {
	for range n {
		removed, err := c.session.Release(context.Background(), &c.lease)
		if err != nil {
			c.reentryFailed("release", err)
			c.pendingReleases++
		} else if !removed {
			return
		}
	}
}

// flush sends the pending releases, best effort and after the one that counts: if the server did count what was
// not heard, they free the lock, and if not they find nothing. It returns when it was through.
func (c *client) flush(begin time.Duration) time.Duration {
	for ; c.pendingReleases > 0; c.pendingReleases-- {
		if _, err := c.session.Release(context.Background(), &c.lease); err != nil {
			c.pendingReleases = 0 // the server is gone; it would only be asked once more for each
			break
		}
	}
	now := c.e.clock.Now()
	c.tally.failing += c.e.inside(begin, now)
	return now
}
