// Planted faults of holders: they crash without a release (-crash), and they hold on when their lease is over (-overstay).
// They are apart from the cycle, so that a plain load does not pay for them.

package workloads

import (
	"errors"
	"fmt"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// errCrashed stands for the answer to a release that a crashed holder never sent.
var errCrashed = errors.New("the holder has crashed")

// clockGrain is more than servers that keep time in whole milliseconds round a lease by.
const clockGrain = 2 * time.Millisecond

// holdEnd is how a hold ends.
type holdEnd uint8

const (
	endRelease  holdEnd = iota // by a release
	endCrash                   // without a release
	endOverstay                // by a release after its lease is over
)

// drawEnd chooses how the next hold ends.
func (c *client) drawEnd() holdEnd {
	cl := c.class
	if cl.Crash == 0 && cl.Overstay == 0 {
		return endRelease
	}
	switch u := c.unit(); {
	case u < cl.Crash:
		return endCrash
	case u < cl.Crash+cl.Overstay:
		return endOverstay
	}
	return endRelease
}

// overstay holds on after the lease: from the grant for the TTL, and then for the planned hold, at least a tenth of the TTL.
// The hold is not renewed and not entered again.
//
// Only the server knows when the lease ends. A violation from when it may have ended, within clockGrain, is this hold's fault and
// not the lock's; see leaseEnd and Oracle.Overstay.
func (c *client) overstay() {
	c.sent = c.sleepFor(c.overstayFor())
	c.overstayed()
}

// overstayFor begins such a hold, and returns how long it takes.
func (c *client) overstayFor() time.Duration {
	ttl := c.lease.TTL
	if o := c.e.oracle; o != nil {
		o.Overstay(int(c.key), int(c.id), &c.grant, c.leaseEnd()-clockGrain)
	}
	return ttl + max(c.drawHold(), ttl/10)
}

// overstayed counts such a hold.
func (c *client) overstayed() {
	if c.recorded && c.sent-c.granted >= c.lease.TTL { // else the run has stopped before
		c.counters.overstayed++
	}
}

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
