package results

// What kept a load from going faster, apart from the estimated bound: read off the record, so that a report of last year's
// runs says the same.

import (
	"math"
	"time"
)

// figures are what records and cells have in common.
type figures struct {
	rate    float64
	counts  *Counts
	latency map[Metric]Latency
	bound   *Bound
	cost    *Cost
	machine *Generator
	elapsed time.Duration // of one trial
}

func (r *Record) figures() figures {
	return figures{r.Throughput(), &r.Counts, r.Latency, &r.Bound, &r.Cost, &r.Generator, r.Elapsed}
}

func (c *Cell) figures() figures {
	return figures{c.Rate.Median, &c.Counts, c.Latency, &c.Bound, &c.Cost, &c.Generator, c.First().Elapsed}
}

// Limit is what an open loop, or clients that share a pool of connections, are held up by.
type Limit string

const (
	// NoLimit: fewer than 1 % of the arrivals had to wait for a client, or the clients were busy with requests that failed.
	NoLimit Limit = ""
	// ClientLimited: arrivals waited for a free client, though neither the lock nor the connections held the clients up,
	// nor a saturated machine, on which more of them would not go faster.
	ClientLimited Limit = "client-limited"
	// ConnectionLimited: at least as many requests were under way, or waited for a connection, as there were connections.
	ConnectionLimited Limit = "connection-limited"
	// LockLimited: arrivals waited for a free client, since the clients waited for the lock.
	LockLimited Limit = "lock-limited"
)

const (
	// backlogWorth is the share of the arrivals that may find all clients busy. It is below what the p99 of the response
	// would show.
	backlogWorth = 0.01
	// nearLimit is the share of a bound from which it counts as reached.
	nearLimit = 0.90
)

// KeptUp tells whether the clients kept up with the arrivals of an open loop, so that the recorded times are those of
// all: by Little's law, with what may be missing or too much by chance, since some √L arrivals more lie across one edge
// of the window than across the other, for as long as the slowest take (p99). A closed loop keeps up.
func (r *Record) KeptUp() bool { return r.figures().keptUp() }

// KeptUp is that of the median trial.
func (c *Cell) KeptUp() bool { return c.figures().keptUp() }

func (f figures) keptUp() bool {
	b := f.bound
	if b.LittleOpen == 0 || b.InSystem == 0 || f.elapsed == 0 {
		return true
	}
	chance := 3 * math.Sqrt(2*max(1, b.InSystem)) * float64(f.latency[Response].P99) / (b.InSystem * float64(f.elapsed))
	return math.Abs(b.LittleOpen-1) <= littleSlack+chance
}

// Limit is what held the load of r up.
func (r *Record) Limit() Limit { return r.figures().limit(r.Plan.Clients) }

// Limit is what held the load of c up.
func (c *Cell) Limit() Limit { return c.figures().limit(c.First().Plan.Clients) }

// Backlogged is the share of the arrivals of an open loop that found all clients busy.
func (r *Record) Backlogged() float64 { return r.figures().backlogged() }

// Backlogged is the share of the arrivals of an open loop that found all clients busy.
func (c *Cell) Backlogged() float64 { return c.figures().backlogged() }

// Requests is the mean number of requests of r that were under way, or waited for a connection: by Little's law their
// rate times the time of one, for which a release stands, which never waits for a lock. It is 0 if nothing was released.
func (r *Record) Requests() float64 { return r.figures().requests() }

func (f figures) backlogged() float64 {
	waited, began := f.latency[Backlog].Count, f.latency[Lag].Count
	if waited == 0 {
		return 0
	}
	return float64(waited) / float64(waited+began)
}

func (f figures) requests() float64 {
	each := f.cost.RoundTrips // per lock
	if each <= 0 {
		each = max(1, f.cost.Tries) + 1
	}
	return f.rate * each * f.latency[Release].Mean.Seconds()
}

func (f figures) limit(clients int) Limit {
	if pool := f.bound.Pool; pool > 0 && pool < clients && f.requests() >= nearLimit*float64(pool) {
		return ConnectionLimited
	}
	if f.backlogged() < backlogWorth || f.failing() {
		return NoLimit
	}
	atKeys := f.waited() && f.bound.By == "keys" && f.bound.Efficiency >= nearLimit
	if atKeys || f.waiting() > 0.5 {
		return LockLimited
	}
	if f.machine.Saturated {
		return NoLimit
	}
	return ClientLimited
}

// failing tells whether requests that failed, and the pauses after them, took more of the clients' time than the books may
// be out by: then it was those that arrivals waited for, whatever the others took.
func (f figures) failing() bool {
	for _, n := range f.counts.Errors {
		if n > 0 {
			return f.bound.Little > 0 && f.bound.Little < 1-littleSlack
		}
	}
	return false
}

// waited tells whether any client waited for a lock. One that did has been refused before; where all first tries are granted,
// however slowly, nobody waits for anything but the server. A single request that waits on the server (GET_LOCK with a
// time-out) is a wait as well, and comes after a try that does not.
func (f figures) waited() bool {
	return f.bound.Waited > 0 || f.cost.Wakeups > 0 || f.cost.Wakeups < 0 && f.cost.Tries > 1 // negative: not known
}

// waiting is the share of the clients' busy time that they waited for a lock. Records from before that was measured have
// what an acquisition took beyond one request, for which a release stands.
func (f figures) waiting() float64 {
	sum := func(m Metric) float64 { return float64(f.latency[m].Count) * float64(f.latency[m].Mean) }
	acquiring := sum(Acquire) + sum(Refusal)
	busy := acquiring + sum(Hold) + sum(Release)
	if busy == 0 || !f.waited() {
		return 0
	}
	if f.bound.Waited > 0 {
		return min(1, float64(f.bound.Waited)/busy)
	}
	requests := float64(f.latency[Acquire].Count+f.latency[Refusal].Count) * float64(f.latency[Release].Mean)
	return max(0, acquiring-requests) / busy
}

// Waiting is the share of the clients' busy time in which they waited for a lock.
func (r *Record) Waiting() float64 { return r.figures().waiting() }
