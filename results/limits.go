package results

// What kept a load from going faster, apart from the estimated bound: read off the record, so that a report of last year's
// runs says the same.

import (
	"math"
)

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

// KeptUp reports whether the clients kept up with the arrivals of an open loop, so that the recorded times are those of
// all: by Little's law, with what may be missing or too much by chance, since some √L arrivals more lie across one edge
// of the window than across the other, for as long as the slowest take (p99). A closed loop keeps up.
func (r *Record) KeptUp() bool { return r.Figures().keptUp() }

// KeptUp returns that of the median trial.
func (c *Cell) KeptUp() bool { return c.Figures().keptUp() }

func (f Figures) keptUp() bool {
	b := f.Bound
	if b.LittleOpen == 0 || b.InSystem == 0 || f.Elapsed == 0 {
		return true
	}
	chance := 3 * math.Sqrt(2*max(1, b.InSystem)) * float64(f.Latency[Response].P99) / (b.InSystem * float64(f.Elapsed))
	return math.Abs(b.LittleOpen-1) <= littleSlack+chance
}

// Limit returns what held the load of r up.
func (r *Record) Limit() Limit { return r.Figures().limit(r.Plan.Clients) }

// Limit returns what held the load of c up.
func (c *Cell) Limit() Limit { return c.Figures().limit(c.First().Plan.Clients) }

// Backlogged returns the share of the arrivals of an open loop that found all clients busy.
func (r *Record) Backlogged() float64 { return r.Figures().backlogged() }

// Backlogged returns the share of the arrivals of an open loop that found all clients busy.
func (c *Cell) Backlogged() float64 { return c.Figures().backlogged() }

// Requests returns the mean number of requests of r that were under way, or waited for a connection: by Little's law their
// rate times the time of one, for which a release stands, which never waits for a lock. It is 0 if nothing was released.
func (r *Record) Requests() float64 { return r.Figures().requests() }

func (f Figures) backlogged() float64 {
	waited, began := f.Latency[Backlog].Count, f.Latency[Lag].Count
	if waited == 0 {
		return 0
	}
	return float64(waited) / float64(waited+began)
}

func (f Figures) requests() float64 {
	each := f.Cost.RoundTrips // per lock
	if each <= 0 {
		each = max(1, f.Cost.Tries) + 1
	}
	return f.Rate * each * f.Latency[Release].Mean.Seconds()
}

func (f Figures) limit(clients int) Limit {
	if pool := f.Bound.Pool; pool > 0 && pool < clients && f.requests() >= nearLimit*float64(pool) {
		return ConnectionLimited
	}
	if f.backlogged() < backlogWorth || f.failing() {
		return NoLimit
	}
	atKeys := f.waited() && f.Bound.By == "keys" && f.Bound.Efficiency >= nearLimit
	if atKeys || f.waiting() > 0.5 {
		return LockLimited
	}
	if f.Generator.Saturated {
		return NoLimit
	}
	return ClientLimited
}

// failing reports whether requests that failed, and the pauses after them, took more of the clients' time than the books may
// be out by: then it was those that arrivals waited for, whatever the others took.
func (f Figures) failing() bool {
	for _, n := range f.Counts.Errors {
		if n > 0 {
			return f.Bound.Little > 0 && f.Bound.Little < 1-littleSlack
		}
	}
	return false
}

// waited reports whether any client waited for a lock. One that did has been refused before; where all first tries are granted,
// however slowly, nobody waits for anything but the server. A single request that waits on the server (GET_LOCK with a
// time-out) is a wait as well, and comes after a try that does not.
func (f Figures) waited() bool {
	return f.Bound.Waited > 0 || f.Cost.Wakeups > 0 || f.Cost.Wakeups < 0 && f.Cost.Tries > 1 // negative: not known
}

// waiting returns the share of the clients' busy time that they waited for a lock. Records from before that was measured have
// what an acquisition took beyond one request, for which a release stands.
func (f Figures) waiting() float64 {
	sum := func(m Metric) float64 { return float64(f.Latency[m].Count) * float64(f.Latency[m].Mean) }
	acquiring := sum(Acquire) + sum(Refusal)
	busy := acquiring + sum(Hold) + sum(Release)
	if busy == 0 || !f.waited() {
		return 0
	}
	if f.Bound.Waited > 0 {
		return min(1, float64(f.Bound.Waited)/busy)
	}
	requests := float64(f.Latency[Acquire].Count+f.Latency[Refusal].Count) * float64(f.Latency[Release].Mean)
	return max(0, acquiring-requests) / busy
}

// Waiting returns the share of the clients' busy time in which they waited for a lock.
func (r *Record) Waiting() float64 { return r.Figures().waiting() }
