// What goes wrong with holders in production, planted on purpose: they die without a release (-crash), and they hold on
// when their lease is over (-overstay). It lies apart from the cycle, so that a plain load does not pay for it.

package workloads

import (
	"errors"
	"fmt"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results/spec"
)

// errDied stands for the answer to a release that was never sent.
var errDied = errors.New("the holder has died")

// grain is more than servers round a lease by, which keep time in whole milliseconds.
const grain = 2 * time.Millisecond

// fate is how a hold ends.
type fate uint8

const (
	releases  fate = iota // as it should
	dies                  // without a word
	overstays             // after its lease
)

// draw chooses how the next hold ends.
func (c *client) draw() fate {
	cl := c.class
	if cl.Crash == 0 && cl.Overstay == 0 {
		return releases
	}
	switch u := c.unit(); {
	case u < cl.Crash:
		return dies
	case u < cl.Crash+cl.Overstay:
		return overstays
	}
	return releases
}

// overstay is a hold that outlasts its lease: from the grant it lasts for the TTL and then for as long as it would have
// lasted anyhow, at least for a tenth of the TTL. It is not renewed and not entered again.
//
// When the lease ends the server alone knows. It cannot end before the TTL has passed since the acquisition began, but
// for the grain of the server's clock, nor before the driver says so if it does. Whoever is granted the key from then on
// was let in by this hold and not by the lock; see Oracle.Overstay.
func (c *client) overstay() {
	e, ttl := c.e, c.lease.TTL
	if e.oracle != nil {
		ends := c.start + ttl
		if !c.lease.ValidUntil.IsZero() {
			ends = e.clock.Reading(c.lease.ValidUntil)
		}
		e.oracle.Overstay(int(c.key), int(c.id), &c.grant, ends-grain)
	}
	c.sent = c.rest(ttl + max(c.drawHold(), ttl/10))
	if c.recorded && c.sent-c.granted >= ttl { // else the run has stopped before
		c.tally.overstayed++
	}
}

// markCrashed makes a hold that is over end in the holder's death, unless the run is over too or the hold was lost already.
func (c *client) markCrashed() {
	if c.lost || c.e.stopping.Err() != nil {
		return
	}
	c.dead, c.grant.Dies = true, true
	c.pendingReleases = 0
}

// die ends a cycle with the death of the client: nothing is released, and its session is gone without a word to the
// service. Its place takes another client, as a new process would, at once and with a session of its own. It returns the
// time when that one is ready.
//
//go:noinline
func (c *client) die() time.Duration {
	c.dead = false
	shard := c.class.recorder.Borrow()
	shard.Granted.Add(1)
	if !c.class.resting {
		c.recordGrant(shard)
	}
	if c.recorded {
		c.tally.crashed++
		c.record(shard, c.sent, errDied)
	}
	c.class.recorder.Return(shard)
	c.edge(c.start, c.sent, c.recorded)
	if session, ok := drivers.As[drivers.Crasher](c.session); ok {
		session.Crash()
	}
	c.session, c.waiter, c.watched = nil, nil, nil
	c.lease = drivers.Lease{TTL: c.class.TTL}
	c.wants = c.respawn(c.sent)
	return c.wants
}

// respawn opens the session of the client that takes the place of one that died at that time. It tries until it has
// one or the run stops. The time that this takes is in none of the latencies.
func (c *client) respawn(died time.Duration) time.Duration {
	e, begin := c.e, died
	for {
		err := c.connect(e.stopping)
		now := e.clock.Now()
		if err == nil || e.stopping.Err() != nil {
			c.edge(begin, now, false)
			return now
		}
		e.errors.add("session", fmt.Errorf("after a crash: %w", err), now >= e.from && now < e.until())
		begin = c.recover(begin)
	}
}

// canDie tells what is wrong with a plan that has the client die, whose session is as the service has made it.
func (c *client) canDie() error {
	if c.class.Crash == 0 || !c.e.traits.Session {
		return nil
	}
	if _, ok := drivers.As[drivers.Crasher](c.session); ok {
		return nil
	}
	p := &c.e.run.Plan
	return inClass(c.class.name, refuse("crash", spec.FormatShare(c.class.Crash), fmt.Sprintf(
		"left out with %s %s as it is opened: its sessions keep their locks as long as lockbench lives, and cannot die alone",
		p.Driver, p.Lock)))
}
