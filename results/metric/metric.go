// Package metric is the table of metrics: each number that a record, a cell or a class of clients has, its unit, and
// what is better. Tables, pages, exports, thresholds, comparisons and histories loop over it, so that all mean the
// same by "acquire.p99". A new row is all that a new metric of a record takes.
package metric

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results"
)

// Better is the direction in which a metric improves.
type Better string

const (
	Neither Better = "" // a property of the load: a change is a change
	Higher  Better = "higher"
	Lower   Better = "lower"
)

// Group is the question that a metric answers.
type Group int

const (
	Speed Group = iota // how fast, and how long a wait
	Fairness
	Safety
	Outcomes // of acquisitions
	Cost     // of one lock
	Machine  // what lockbench itself used
)

// Metric is one number that a record has, or has not. How those of several trials become one is up to package stats.
type Metric struct {
	Name   string
	Group  Group
	Unit   *Unit
	Better Better
	About  string // half a line

	Quantile float64 // of a distribution; 0 for all others

	// Of returns the metric in the base unit; NaN if it is not known, or a quantile of too few values.
	Of func(results.Figures) float64
}

// Values returns the metric of each trial, NaN where it is not known.
func (m *Metric) Values(trials []*results.Record) []float64 {
	values := make([]float64, len(trials))
	for i, r := range trials {
		values[i] = m.Of(r.Figures())
	}
	return values
}

// WhyUnknown returns the likely reason why no trial knows m; empty if there is none that is likelier than others.
func (m *Metric) WhyUnknown() string {
	distribution, _, isQuantile := strings.Cut(m.Name, ".")
	switch {
	case m.Group == Safety:
		return "the oracle was off"
	case slices.Contains([]results.Metric{results.Response, results.Lag, results.Backlog}, results.Metric(distribution)):
		return "only an open loop has it"
	case isQuantile:
		return "too few values, or none: a longer -duration gives more"
	}
	return ""
}

// All returns all metrics in the order in which they are read: how fast, how fair, how safe, what it costs.
func All() []*Metric { return slices.Clone(table) }

// Names returns the names of all metrics.
func Names() (names []string) {
	for _, m := range table {
		names = append(names, m.Name)
	}
	return names
}

// Of returns the metrics of a group.
func Of(g Group) []*Metric {
	return slices.DeleteFunc(All(), func(m *Metric) bool { return m.Group != g })
}

// Named returns the metric of that name.
func Named(name string) (*Metric, bool) {
	i := slices.Index(Names(), name)
	if i < 0 {
		return nil, false
	}
	return table[i], true
}

// PerAcquisition ends the name of a count's share of all acquisitions.
const PerAcquisition = "/acquisition"

// Quantile returns a quantile of a distribution by a name such as response.p99.9. One that records do not spell out is
// known of the histogram alone, which a cell has.
func Quantile(name string, q float64) *Metric {
	d, digits, _ := strings.Cut(name, ".")
	if m, spelled := Named(d + "." + strings.Replace(digits, ".", "", 1)); spelled {
		return m
	}
	return &Metric{Name: name, Unit: Duration, Better: Lower, Quantile: q, Of: func(f results.Figures) float64 {
		v, err := f.Latency[results.Metric(d)].Values()
		return known(err == nil && results.Enough(v.Count(), q), float64(v.Quantile(q)))
	}}
}

// Distribution is a latency that records hold as a histogram.
type Distribution struct {
	Metric results.Metric
	Better Better
	About  string
}

// quantiles are those that records spell out.
var quantiles = []struct {
	Name string
	Q    float64
}{{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p999", 0.999}}

// Distributions are all latencies of a record, in the order in which they are read.
var Distributions = []Distribution{
	{results.Response, Lower, "intended start to grant, in an open loop"},
	{results.Acquire, Lower, "start of an acquisition to its grant"},
	{results.Lag, Lower, "how late the generator was, in an open loop"},
	{results.Backlog, Lower, "wait of an arrival for a free client"},
	{results.AcquireAll, Lower, "start of a granted try to the last node's answer"},
	{results.Handoff, Lower, "release to the next grant of that key"},
	{results.Release, Lower, "release to its reply"},
	{results.Refusal, Lower, "start of an acquisition to giving up"},
	{results.Hold, Neither, "actual hold time"},
	{results.Reentry, Lower, "acquisition by the holder to its grant"},
	{results.Renew, Lower, "renewal to its reply"},
	{results.Recovery, Lower, "death of a holder to the next grant of its key"},
	{results.Probe, Lower, "a neighbour's request under the load"},
	{results.ProbeIdle, Lower, "a neighbour's request before the load"},
	{results.Worker, Lower, "how late the workers of batches sent a request"},
	{results.Hiccup, Neither, "how late a ticker beside the load was"},
}

// table is all metrics.
var table = slices.Concat(
	[]*Metric{
		{Name: "locks/s", Unit: PerSecond, Better: Higher, About: "granted locks a second",
			Of: func(f results.Figures) float64 { return f.Rate }},
		{Name: "efficiency", Unit: Share, Better: Higher, About: "share of the bound; unknown after a violation",
			Of: results.Figures.Efficiency},
	},
	distributions(),
	[]*Metric{
		{Name: "jain", Group: Fairness, Unit: Ratio, Better: Higher,
			About: "Jain's index of the clients' grants, from five each on", Of: results.Figures.Jain},
		{Name: "longest-wait", Group: Fairness, Unit: Duration, Better: Lower, About: "longest wait without a grant",
			Of: func(f results.Figures) float64 { return known(f.Wanted(), float64(f.Fairness.LongestWait)) }},
		{Name: "starved", Group: Fairness, Unit: Count, Better: Lower, About: "clients that wanted locks and got none",
			Of: func(f results.Figures) float64 { return float64(f.Fairness.Starved) }},
		{Name: "violations", Group: Safety, Unit: Count, Better: Lower, About: "times that two clients held a key at once",
			Of: func(f results.Figures) float64 { return known(f.Safety.Checked, float64(f.Breaches)) }},
		{Name: "watched", Group: Safety, Unit: Count, Better: Higher, About: "grants during whose hold a rival was refused",
			Of: func(f results.Figures) float64 {
				return known(f.Safety.Power != nil, float64(cmp.Or(f.Safety.Power, &results.Power{}).Watched))
			}},
		checked("lost-early", "locks gone before their lease can have ended",
			func(s *results.Safety) int64 { return s.LostEarly }),
		checked("lost-updates", "lost updates of a counter that each holder raises",
			func(s *results.Safety) int64 { return s.LostUpdates }),
		checked("wrong-releases", "releases that removed another's lock",
			func(s *results.Safety) int64 { return s.WrongReleases }),
		checked("fence-regress", "fencing tokens not above the highest seen",
			func(s *results.Safety) int64 { return s.FenceRegress }),
		counted("errors", "requests that failed", (*results.Counts).Failed),
		{Name: "errors" + PerAcquisition, Group: Outcomes, Unit: Share, Better: Lower,
			About: "failed requests over acquisitions: errors>1%",
			Of: func(f results.Figures) float64 {
				return known(f.Counts.Wanted() > 0, float64(f.Counts.Failed())/float64(f.Counts.Wanted()))
			}},
		counted("unknown", "acquisitions whose answer an error hid", func(c *results.Counts) int64 { return c.Unknown }),
		counted("lost", "holds lost before their end", func(c *results.Counts) int64 { return c.Lost + c.LostRenewal }),
		counted("timed-out", "acquisitions whose patience ran out", func(c *results.Counts) int64 { return c.TimedOut }),
		counted("gave-up", "acquisitions that the library gave up by itself", func(c *results.Counts) int64 { return c.GaveUp }),
		counted("contended", "acquisitions that found the lock taken", func(c *results.Counts) int64 { return c.Contended }),
		counted("dropped", "arrivals that found the queue full", func(c *results.Counts) int64 { return c.Dropped }),
		cost("tries", PerLock, "requests for the lock", func(c *results.Cost) float64 { return c.Tries }),
		cost("local-refusals", PerLock, "attempts that the local line refused (-wait queue)",
			func(c *results.Cost) float64 { return known(c.LocalRefusals > 0, c.LocalRefusals) }),
		cost("commands", PerLock, "commands on the server", func(c *results.Cost) float64 { return c.Commands }),
		traffic("round-trips", "requests that wait for an answer", func(c *results.Cost) float64 { return c.RoundTrips }),
		traffic("notices", "messages that the server sent unasked", func(c *results.Cost) float64 { return c.Notices }),
		traffic("keep-alives", "requests to keep a session alive", func(c *results.Cost) float64 { return c.KeepAlives }),
		cost("bytes-in", PerLock, "bytes to the server", func(c *results.Cost) float64 { return c.BytesIn }),
		cost("bytes-out", PerLock, "bytes from the server", func(c *results.Cost) float64 { return c.BytesOut }),
		cost("server-cpu", Micros, "CPU time of the server", func(c *results.Cost) float64 { return c.ServerCPUUs }),
		cost("client-cpu", Micros, "CPU time of lockbench", func(c *results.Cost) float64 { return c.ClientCPUUs }),
		cost("wakeups", PerLock, "returns from waiting", func(c *results.Cost) float64 { return c.Wakeups }),
		cost("allocs", PerLock, "heap allocations of lockbench", func(c *results.Cost) float64 { return c.Allocs }),
		{Name: "cores", Group: Machine, Unit: Ratio, About: "cores that lockbench used",
			Of: func(f results.Figures) float64 { return known(f.Generator.CPU >= 0, f.Generator.CPU) }},
		{Name: "requests/write", Group: Machine, Unit: Ratio, About: "requests that a write to a connection carries",
			Of: func(f results.Figures) float64 { return known(f.Generator.PerWrite > 0, f.Generator.PerWrite) }},
		{Name: "memory", Group: Machine, Unit: Bytes, Better: Lower, About: "memory of lockbench at the end",
			Of: func(f results.Figures) float64 { return known(f.Generator.Memory > 0, float64(f.Generator.Memory)) }},
	},
)

// distributions returns the quantiles, the mean and the maximum of each.
func distributions() (all []*Metric) {
	for _, d := range Distributions {
		add := func(name string, of func(results.Latency) float64) {
			all = append(all, &Metric{Name: string(d.Metric) + "." + name, Unit: Duration, Better: d.Better, About: d.About,
				Of: func(f results.Figures) float64 { return of(f.Latency[d.Metric]) }})
		}
		for _, q := range quantiles {
			add(q.Name, func(l results.Latency) float64 { return l.Quantile(q.Q) })
			all[len(all)-1].Quantile = q.Q
		}
		add("mean", func(l results.Latency) float64 { return known(l.Count > 0, float64(l.Mean)) })
		add("max", func(l results.Latency) float64 { return known(l.Count > 0, float64(l.Max)) })
	}
	return all
}

func known(is bool, v float64) float64 {
	if !is {
		return math.NaN()
	}
	return v
}

func checked(name, about string, of func(*results.Safety) int64) *Metric {
	known := func(f results.Figures) float64 { return known(f.Safety.Checked, float64(of(f.Safety))) }
	return &Metric{Name: name, Group: Safety, Unit: Count, Better: Lower, About: about, Of: known}
}

func counted(name, about string, of func(*results.Counts) int64) *Metric {
	count := func(f results.Figures) float64 { return float64(of(f.Counts)) }
	return &Metric{Name: name, Group: Outcomes, Unit: Count, Better: Lower, About: about, Of: count}
}

// cost returns a metric of one lock; negative costs are not known.
func cost(what string, unit *Unit, about string, of func(*results.Cost) float64) *Metric {
	known := func(f results.Figures) float64 { return known(of(f.Cost) >= 0, of(f.Cost)) }
	return &Metric{Name: what + "/lock", Group: Cost, Unit: unit, Better: Lower, About: about, Of: known}
}

func traffic(what, about string, of func(*results.Cost) float64) *Metric {
	return cost(what, PerLock, about, func(c *results.Cost) float64 { return known(c.Trafficked(), of(c)) })
}
