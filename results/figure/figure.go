// Package figure names the figures of a record, so that a threshold, a comparison, a history and an export all mean the
// same thing by "acquire.p99". A figure is one number of one trial; how trials become one number is package stats' affair.
package figure

import (
	"math"
	"slices"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/stats"
)

// Unit is what a figure is counted in. Values are always in the base unit.
type Unit int

const (
	PerSecond Unit = iota // a rate
	Duration              // nanoseconds
	Ratio                 // 0 to 1, or a factor
	Share                 // 0 to 1, written as a percentage
	PerLock               // any amount for one granted lock
	Micros                // microseconds of CPU time for one granted lock
	Count                 // how many
	Bytes                 // of memory
)

// Better is the direction in which a figure improves.
type Better int

const (
	Neither Better = iota // a property of the load: a change is a change
	Higher
	Lower
)

// Figure is one number that a record has, or has not.
type Figure struct {
	Name   string
	Unit   Unit
	Better Better
	About  string // what it is, in half a line

	of func(*results.Record) float64
}

// Of is the figure in r, in the base unit of its Unit; NaN if r does not know it, or if it is a quantile of too few values
// (see stats.Enough).
func (f Figure) Of(r *results.Record) float64 { return f.of(r) }

// Values are those of trials, NaN where it is not known.
func (f Figure) Values(trials []*results.Record) []float64 {
	values := make([]float64, len(trials))
	for i, r := range trials {
		values[i] = f.Of(r)
	}
	return values
}

// All are all figures, in the order in which they are read: how fast, how long, how fair, how safe, what it costs.
func All() []Figure { return slices.Clone(all) }

// Named finds a figure by its name.
func Named(name string) (Figure, bool) {
	i := slices.IndexFunc(all, func(f Figure) bool { return f.Name == name })
	if i < 0 {
		return Figure{}, false
	}
	return all[i], true
}

var all = slices.Concat([]Figure{
	{"locks/s", PerSecond, Higher, "granted locks a second", (*results.Record).Throughput},
	{"efficiency", Share, Higher, "throughput as a share of the estimated bound", func(r *results.Record) float64 {
		if r.Bound.LocksPerS <= 0 {
			return math.NaN()
		}
		return r.Bound.Efficiency
	}},
},
	distribution(results.Response, Lower, "intended start to grant, in an open loop"),
	distribution(results.Acquire, Lower, "start of an acquisition to its grant"),
	distribution(results.Handoff, Lower, "release to the next grant of that key"),
	distribution(results.Release, Lower, "release to its reply"),
	distribution(results.Refusal, Lower, "start of an acquisition to giving up"),
	distribution(results.Hold, Neither, "the hold as it really was"),
	distribution(results.Reentry, Lower, "acquisition by the holder to its grant"),
	distribution(results.Renew, Lower, "renewal to its reply"),
	distribution(results.Recovery, Lower, "death of a holder to the next grant of its key"),
	distribution(results.AcquireAll, Lower, "start of a granted try to the last node's answer"),
	distribution(results.Lag, Lower, "how late the generator was, in an open loop"),
	distribution(results.Backlog, Lower, "wait of an arrival for a free client"),
	distribution(results.Probe, Lower, "a neighbour's request under the load"),
	distribution(results.ProbeIdle, Lower, "a neighbour's request before the load"),
	distribution(results.Hiccup, Neither, "how late a ticker beside the load was"),
	[]Figure{
		{"jain", Ratio, Higher, "Jain's index of the grants of the clients", func(r *results.Record) float64 {
			return known(r.Counts.Acquired > 0, r.Fairness.Jain)
		}},
		{"longest-wait", Duration, Lower, "longest time that a client wanted a lock in vain", func(r *results.Record) float64 {
			return float64(r.Fairness.LongestWait)
		}},
		{"starved", Count, Lower, "clients that wanted locks and got none", func(r *results.Record) float64 {
			return float64(r.Fairness.Starved)
		}},
		checked("violations", "times that exclusion was broken, as the witness that saw most has it; those asked for (-overstay) left out",
			results.Safety.Breaches),
		{"watched", Count, Higher, "grants during whose hold a rival was refused, which alone could show a violation", func(r *results.Record) float64 {
			if r.Safety.Power == nil {
				return math.NaN()
			}
			return float64(r.Safety.Power.Watched)
		}},
		checked("lost-early", "releases that found the lock gone before its lease can have ended", func(s results.Safety) int64 { return s.LostEarly }),
		checked("lost-updates", "by the oracle's second witness", func(s results.Safety) int64 { return s.LostUpdates }),
		checked("wrong-releases", "releases that removed another's lock", func(s results.Safety) int64 { return s.WrongReleases }),
		checked("fence-regress", "fencing tokens not above the highest seen", func(s results.Safety) int64 { return s.FenceRegress }),
		{"errors", Count, Lower, "requests that failed", func(r *results.Record) float64 {
			sum := int64(0)
			for _, n := range r.Counts.Errors {
				sum += n
			}
			return float64(sum)
		}},
		counted("unknown", "acquisitions whose answer an error hid", func(c results.Counts) int64 { return c.Unknown }),
		counted("lost", "holds that were no longer the holder's at their end", func(c results.Counts) int64 { return c.Lost + c.LostRenewal }),
		counted("timed-out", "acquisitions whose patience ran out", func(c results.Counts) int64 { return c.TimedOut }),
		counted("contended", "acquisitions that found the lock taken and did not wait", func(c results.Counts) int64 { return c.Contended }),
		counted("dropped", "arrivals that found the queue full", func(c results.Counts) int64 { return c.Dropped }),
		perLock("tries/lock", "requests for the lock", func(c results.Cost) float64 { return c.Tries }),
		perLock("local-refusals/lock", "attempts that the local line refused and the server never saw (-wait queue)",
			func(c results.Cost) float64 { return known(c.LocalRefusals > 0, c.LocalRefusals) }),
		perLock("commands/lock", "commands on the server", func(c results.Cost) float64 { return c.Commands }),
		traffic("round-trips/lock", "requests whose answer somebody waited for", func(c results.Cost) float64 { return c.RoundTrips }),
		traffic("notices/lock", "messages that the server sent unasked", func(c results.Cost) float64 { return c.Notices }),
		traffic("keep-alives/lock", "requests that only kept a session alive", func(c results.Cost) float64 { return c.KeepAlives }),
		perLock("bytes-in/lock", "bytes to the server", func(c results.Cost) float64 { return c.BytesIn }),
		perLock("bytes-out/lock", "bytes from the server", func(c results.Cost) float64 { return c.BytesOut }),
		cpu("server-cpu/lock", "CPU time of the server", func(c results.Cost) float64 { return c.ServerCPUUs }),
		cpu("client-cpu/lock", "CPU time of lockbench", func(c results.Cost) float64 { return c.ClientCPUUs }),
		perLock("wakeups/lock", "returns from waiting", func(c results.Cost) float64 { return c.Wakeups }),
		perLock("allocs/lock", "heap allocations of lockbench", func(c results.Cost) float64 { return c.Allocs }),
		{"cores", Ratio, Neither, "cores that lockbench used", func(r *results.Record) float64 {
			return known(r.Generator.CPU >= 0, r.Generator.CPU)
		}},
		{"memory", Bytes, Lower, "memory of lockbench at the end", func(r *results.Record) float64 {
			return known(r.Generator.Memory > 0, float64(r.Generator.Memory))
		}},
	},
)

func known(is bool, v float64) float64 {
	if !is {
		return math.NaN()
	}
	return v
}

// distribution are the figures of a latency.
func distribution(m results.Metric, better Better, about string) []Figure {
	of := func(name string, q float64, get func(results.Latency) float64) Figure {
		return Figure{string(m) + "." + name, Duration, better, about, func(r *results.Record) float64 {
			l := r.Latency[m]
			return known(l.Count > 0 && stats.Enough(l.Count, q), get(l))
		}}
	}
	return []Figure{
		of("p50", 0.5, func(l results.Latency) float64 { return float64(l.P50) }),
		of("p90", 0.9, func(l results.Latency) float64 { return float64(l.P90) }),
		of("p99", 0.99, func(l results.Latency) float64 { return float64(l.P99) }),
		of("p999", 0.999, func(l results.Latency) float64 { return float64(l.P999) }),
		of("mean", 0, func(l results.Latency) float64 { return float64(l.Mean) }),
		of("max", 0, func(l results.Latency) float64 { return float64(l.Max) }),
	}
}

func checked(name, about string, get func(results.Safety) int64) Figure {
	return Figure{name, Count, Lower, about, func(r *results.Record) float64 {
		return known(r.Safety.Checked, float64(get(r.Safety)))
	}}
}

func counted(name, about string, get func(results.Counts) int64) Figure {
	return Figure{name, Count, Lower, about, func(r *results.Record) float64 { return float64(get(r.Counts)) }}
}

// perLock are costs, which are negative if they are not known.
func perLock(name, about string, get func(results.Cost) float64) Figure {
	return Figure{name, PerLock, Lower, about, func(r *results.Record) float64 {
		return known(get(r.Cost) >= 0, get(r.Cost))
	}}
}

func cpu(name, about string, get func(results.Cost) float64) Figure {
	f := perLock(name, about, get)
	f.Unit = Micros
	return f
}

func traffic(name, about string, get func(results.Cost) float64) Figure {
	f := perLock(name, about, get)
	of := f.of
	f.of = func(r *results.Record) float64 { return known(r.Cost.Trafficked(), of(r)) }
	return f
}
