// The end of a run by operations (-n) instead of by time.

package workloads

import (
	"sync/atomic"
	"time"
)

// budget is the number of acquisitions that the measured window is to have. Each is claimed before it begins; when all have
// ended, granted or not, the window closes with the last one. Those that begin in the warm-up do not count.
type budget struct {
	e     *engine
	total int64
	left  atomic.Int64  // that no client has claimed
	open  atomic.Int64  // that have not ended
	last  atomic.Int64  // when the latest one ended
	spent chan struct{} // closed when all have ended
}

func newBudget(e *engine, total int64) *budget {
	b := &budget{e: e, total: total, spent: make(chan struct{})}
	b.left.Store(total)
	b.open.Store(total)
	return b
}

// maxClaim is how many acquisitions a client claims at once, so that clients seldom write to what all share.
const maxClaim = 16

// claim claims up to that many, and returns how many it got. Towards the end it hands out one at a time, so that no client
// is left with more to do than the others.
func (b *budget) claim(most int64) int64 {
	for {
		left := b.left.Load()
		n := min(most, max(1, left/int64(4*len(b.e.clients))), left)
		if n <= 0 || b.left.CompareAndSwap(left, left-n) {
			return max(0, n)
		}
	}
}

// giveBack returns what was claimed and has not begun.
func (b *budget) giveBack(n int64) { b.left.Add(n) }

// end counts n acquisitions as ended, the last of them at that time, and closes the window after the last of all.
func (b *budget) end(n int64, at time.Duration) {
	for last := b.last.Load(); int64(at) > last && !b.last.CompareAndSwap(last, int64(at)); last = b.last.Load() {
	}
	if b.open.Add(-n) == 0 {
		b.e.closeAt(time.Duration(b.last.Load()) + 1)
		close(b.spent)
	}
}

// ended returns the share of the acquisitions that have ended.
func (b *budget) ended() float64 { return 1 - float64(b.open.Load())/float64(b.total) }

// closeAt closes the measured window at that time, unless it closes sooner.
func (e *engine) closeAt(end time.Duration) {
	for old := e.end.Load(); int64(end) < old && !e.end.CompareAndSwap(old, int64(end)); old = e.end.Load() {
	}
}

// claim gets the client an acquisition for a cycle that begins now, and reports whether there was one left. A client whose
// cycles take time claims one at a time: no other client can do what it has claimed.
func (c *client) claim(now time.Duration) bool {
	c.claimed = now >= c.e.from
	if !c.claimed {
		return true
	}
	if c.claims == 0 {
		most := int64(maxClaim)
		if c.class.timedHold || c.class.thinking {
			most = 1
		}
		if c.claims = c.e.budget.claim(most); c.claims == 0 {
			return false
		}
	}
	c.claims--
	return true
}

// spend counts an acquisition that has ended as one of the budget, if it is. Clients of a closed loop count what they
// have claimed together at once.
func (c *client) spend() {
	if !c.claimed {
		c.recorded = false
		return
	}
	c.claimed = false
	c.spent++
	if c.claims == 0 {
		c.e.budget.end(c.spent, c.granted)
		c.spent = 0
	}
}

// unclaim gives back what the client has claimed beyond the acquisition under way, before it waits for a lock.
func (c *client) unclaim() {
	if c.claims > 0 {
		c.e.budget.giveBack(c.claims)
		c.claims = 0
	}
}
