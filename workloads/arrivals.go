// The open loop: arrivals come when they are due, whether a client is free or not, and clients serve them.
//
// An arrival has two starts. The intended one is when it was due; the actual one is when a client took it up and sent its
// first request. The time between is the generator's lag if a client was free, and backlog if all were busy: a backlog is
// served late, in order, and nothing in it is skipped. So the response, from the intended start to the grant, is what a
// user would have waited, and leaves out nothing because the system under test was slow (coordinated omission; Tene, "How
// NOT to Measure Latency", 2013).
//
// The time-out counts from the intended start as well: it is the user's, who does not know whether the wait is for a client
// or for the lock. An arrival whose time-out has passed in the backlog still gets one try, but does not wait.

package workloads

import (
	"sync/atomic"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/workloads/pace"
	"github.com/lockbench/lockbench/workloads/shape"
)

// arrivals counts a class's arrivals, those that were due in the measured window.
type arrivals struct {
	offered  atomic.Int64
	dropped  atomic.Int64
	untaken  atomic.Int64 // when the window closed no client had taken them up
	left     atomic.Int64 // untaken, and those due before the window that no client took up
	inSystem atomic.Int64 // ns in the window that those of left waited

	refused atomic.Int64 // dropped since the load began, warm-up included
}

// startArrivals makes the arrivals of all classes from one goroutine, from the clock's start on. stop ends it and waits
// until it has ended.
func (e *engine) startArrivals() (stop func()) {
	var lanes []pace.Lane
	for i, cl := range e.classes {
		if cl.open {
			lanes = append(lanes, pace.Lane{Schedule: e.schedule(i), Due: func(at time.Duration) { e.arrive(cl, at) }})
		}
	}
	if lanes == nil {
		return func() {}
	}
	ended, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		pace.Run(e.clock, stopped, lanes...)
	}()
	return func() {
		close(stopped)
		<-ended
	}
}

func (e *engine) schedule(i int) pace.Schedule {
	p, l := &e.run.Plan, &e.classes[i].Load
	window := pace.Window{Warmup: p.Warmup, Duration: p.Duration}
	if l.Burst > 0 {
		return pace.Bursts(l.Clients, l.Burst, window)
	}
	all := pace.Arrivals(l.Rate, l.Arrival, window, seed(p, streamArrivals+i))
	return pace.Each(all, e.run.Share.Rank, e.run.Share.Ranks)
}

// arrive queues an arrival for the clients. Only the pacer's goroutine calls it, and it does not block.
func (e *engine) arrive(cl *class, at time.Duration) {
	counted := at >= e.from
	if counted {
		if e.budget != nil && e.budget.claim(1) == 0 {
			return // -n has been reached
		}
		cl.arrivals.offered.Add(1)
	}
	if cl.MaxQueue == 0 || cl.queue.Len()+int(cl.waiting.Load()) < cl.MaxQueue {
		cl.queue.Put(at)
		return
	}
	cl.arrivals.refused.Add(1)
	if counted {
		cl.arrivals.dropped.Add(1)
		if e.budget != nil {
			e.budget.end(1, at)
		}
	}
}

// closeQueues ends the serving of arrivals when the window has closed. Arrivals that still wait for a client are not served.
func (e *engine) closeQueues() {
	for _, cl := range e.classes {
		if cl.open {
			for _, due := range cl.queue.Close() {
				e.countUntaken(cl, due)
			}
		}
	}
}

// countUntaken counts an arrival that no client took up before the window closed.
func (e *engine) countUntaken(cl *class, due time.Duration) {
	cl.arrivals.left.Add(1)
	cl.arrivals.inSystem.Add(int64(e.inside(due, e.until())))
	if due >= e.from {
		cl.arrivals.untaken.Add(1)
	}
}

// serve takes up arrivals until the queue is closed. It does not wait for the start: no arrival comes before it, and the
// first ones need clients that are ready.
func (c *client) serve() {
	e, cl := c.e, c.class
	free := time.Duration(0) // since when it has been idle
	for {
		due, waited, ok := cl.queue.Take()
		now := e.clock.Now()
		c.counters.idle += e.inside(free, now)
		if !ok {
			return
		}
		free = now
		if now >= e.until() {
			e.countUntaken(cl, due)
			continue
		}
		c.due, c.waited, c.wants = due, waited, due
		c.claimed = due >= e.from
		c.tryOnly = cl.TryOnly > 0 && shape.Unit(&c.rng) < cl.TryOnly
		free = c.cycle(now)
	}
}

// recordStart records how late an arrival was taken up: backlog if all clients were busy, and else lag.
func (c *client) recordStart(shard *results.Shard) {
	if c.waited {
		shard.Record(results.BacklogIndex, c.start-c.due)
	} else {
		shard.Record(results.LagIndex, c.start-c.due)
	}
}

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
