package metric

import (
	"math"
	"slices"

	"github.com/lockbench/lockbench/results"
)

// Distributions are all latencies of a record, in the order in which they are read.
var Distributions = []Distribution{
	{results.Response, "response", Lower, "intended start to grant, in an open loop", nil},
	{results.Acquire, "acquire", Lower, "start of an acquisition to its grant", []column{
		{"p50", Column{Drop: 7, Classes: true, Only: (*results.Cell).Open}},
		{"p99", Column{Drop: 6, Classes: true, Only: (*results.Cell).Open}},
	}},
	{results.Lag, "lag", Lower, "how late the generator was, in an open loop", []column{
		{"p99", Column{Drop: 8, Only: (*results.Cell).Open}},
	}},
	{results.Backlog, "backlog", Lower, "wait of an arrival for a free client", nil},
	{results.AcquireAll, "all nodes", Lower, "start of a granted try to the last node's answer", []column{
		{"p50", Column{Drop: 18, Only: (*results.Cell).Voted}},
	}},
	{results.Handoff, "hand-off", Lower, "release to the next grant of that key", []column{
		{"p50", Column{Drop: 9}},
	}},
	{results.Release, "release", Lower, "release to its reply", nil},
	{results.Refusal, "gave up", Lower, "start of an acquisition to giving up", nil},
	{results.Hold, "hold", Neither, "actual hold time", nil},
	{results.Reentry, "re-entry", Lower, "acquisition by the holder to its grant", nil},
	{results.Renew, "renew", Lower, "renewal to its reply", nil},
	{results.Recovery, "recovery", Lower, "death of a holder to the next grant of its key", []column{
		{"p50", Column{Drop: 5, Only: func(c *results.Cell) bool { return c.Counts.Crashed > 0 }}},
	}},
	{results.Probe, "neighbour", Lower, "a neighbour's request under the load", nil},
	{results.ProbeIdle, "neighbour, idle", Lower, "a neighbour's request before the load", nil},
	{results.Worker, "worker", Lower, "how late the workers of batches sent a request", nil},
	{results.Hiccup, "hiccup", Neither, "how late a ticker beside the load was", nil},
}

// table is all metrics. What a narrow table drops first is what a lock costs, then the share of the estimated bound, the
// hand-off, and where in an open loop a wait came from. How long a client waits is a column of the table alone (package report),
// and stays, as do the throughput and whether the lock excluded.
var table = slices.Concat(
	[]*Metric{
		{Name: "locks/s", Unit: PerSecond, Better: Higher, About: "granted locks a second",
			Column: &Column{Title: "locks/s", Classes: true}, of: func(f results.Figures) float64 { return f.Rate }},
		{Name: "efficiency", Unit: Share, Better: Higher, About: "throughput as a share of the estimated bound; unknown if two clients held a key at once",
			Column: &Column{Group: "of", Title: "bound", Drop: 12}, of: results.Figures.Efficiency},
	},
	distributions(),
	[]*Metric{
		{Name: "jain", Group: Fairness, Unit: Ratio, Better: Higher, About: "Jain's index of the grants of the clients, if they had five each on average", Label: "Jain",
			Column: &Column{Title: "Jain", Drop: 1, Classes: true}, of: results.Figures.Jain},
		{Name: "longest-wait", Group: Fairness, Unit: Duration, Better: Lower, About: "longest time that a client wanted a lock without a grant",
			of: func(f results.Figures) float64 { return known(f.Wanted(), float64(f.Fairness.LongestWait)) }},
		{Name: "starved", Group: Fairness, Unit: Count, Better: Lower, About: "clients that wanted locks in the window and got none",
			of: func(f results.Figures) float64 { return float64(f.Fairness.Starved) }},
		{Name: "violations", Group: Safety, Unit: Count, Better: Lower,
			About: "times that two clients held a key at once",
			of:    func(f results.Figures) float64 { return known(f.Safety.Checked, float64(f.Breaches)) }},
		{Name: "watched", Group: Safety, Unit: Count, Better: Higher,
			About: "grants during whose hold a rival was refused, which alone could show a violation",
			of: func(f results.Figures) float64 {
				if f.Safety.Power == nil {
					return math.NaN()
				}
				return float64(f.Safety.Power.Watched)
			}},
		checked("lost-early", "lost early", "releases that found the lock gone before its lease can have ended",
			func(s *results.Safety) int64 { return s.LostEarly }),
		checked("lost-updates", "lost updates", "lost updates of a counter that each holder raises", func(s *results.Safety) int64 { return s.LostUpdates }),
		checked("wrong-releases", "wrong releases", "releases that removed another's lock", func(s *results.Safety) int64 { return s.WrongReleases }),
		checked("fence-regress", "fence regressions", "fencing tokens not above the highest seen",
			func(s *results.Safety) int64 { return s.FenceRegress }),
		counted("errors", "requests that failed", (*results.Counts).Failed),
		counted("unknown", "acquisitions whose answer an error hid", func(c *results.Counts) int64 { return c.Unknown }),
		counted("lost", "holds that were no longer the holder's at their end", func(c *results.Counts) int64 { return c.Lost + c.LostRenewal }),
		counted("timed-out", "acquisitions whose patience ran out", func(c *results.Counts) int64 { return c.TimedOut }),
		counted("contended", "acquisitions that found the lock taken and did not wait", func(c *results.Counts) int64 { return c.Contended }),
		counted("dropped", "arrivals that found the queue full", func(c *results.Counts) int64 { return c.Dropped }),
		cost("tries/lock", "tries", "requests for the lock", func(c *results.Cost) float64 { return c.Tries }),
		cost("local-refusals/lock", "local refusals", "attempts that the local line refused and the server never saw (-wait queue)",
			func(c *results.Cost) float64 { return known(c.LocalRefusals > 0, c.LocalRefusals) }),
		cost("commands/lock", "commands", "commands on the server", func(c *results.Cost) float64 { return c.Commands }).
			column(Column{Group: "commands", Title: "/lock", Drop: 15}),
		traffic("round-trips/lock", "round trips", "requests whose answer was waited for", func(c *results.Cost) float64 { return c.RoundTrips }).
			column(Column{Group: "round trips", Title: "/lock", Drop: 14, Only: func(c *results.Cell) bool { return c.Cost.Trafficked() }}),
		traffic("notices/lock", "notices", "messages that the server sent unasked", func(c *results.Cost) float64 { return c.Notices }),
		traffic("keep-alives/lock", "keep-alives", "requests that only kept a session alive", func(c *results.Cost) float64 { return c.KeepAlives }),
		cost("bytes-in/lock", "bytes in", "bytes to the server", func(c *results.Cost) float64 { return c.BytesIn }),
		cost("bytes-out/lock", "bytes out", "bytes from the server", func(c *results.Cost) float64 { return c.BytesOut }),
		cpu("server-cpu/lock", "server CPU", "CPU time of the server", func(c *results.Cost) float64 { return c.ServerCPUUs }).
			column(Column{Group: "server", Title: "µs/lock", Unit: PerLock, Drop: 16}),
		cpu("client-cpu/lock", "client CPU", "CPU time of lockbench", func(c *results.Cost) float64 { return c.ClientCPUUs }).
			column(Column{Group: "client", Title: "µs/lock", Unit: PerLock, Drop: 17}),
		cost("wakeups/lock", "wake-ups", "returns from waiting", func(c *results.Cost) float64 { return c.Wakeups }),
		cost("allocs/lock", "allocations", "heap allocations of lockbench", func(c *results.Cost) float64 { return c.Allocs }),
		{Name: "cores", Group: Machine, Unit: Ratio, About: "cores that lockbench used",
			of: func(f results.Figures) float64 { return known(f.Generator.CPU >= 0, f.Generator.CPU) }},
		{Name: "requests/write", Group: Machine, Unit: Ratio, About: "requests that one write to a connection carried, on average",
			of: func(f results.Figures) float64 { return known(f.Generator.PerWrite > 0, f.Generator.PerWrite) }},
		{Name: "memory", Group: Machine, Unit: Bytes, Better: Lower, About: "memory of lockbench at the end",
			of: func(f results.Figures) float64 { return known(f.Generator.Memory > 0, float64(f.Generator.Memory)) }},
	},
)

func distributions() (all []*Metric) {
	for i := range Distributions {
		all = append(all, Distributions[i].metrics()...)
	}
	return all
}

func (m *Metric) column(c Column) *Metric {
	m.Column = &c
	return m
}

func checked(name, label, about string, of func(*results.Safety) int64) *Metric {
	return &Metric{Name: name, Group: Safety, Unit: Count, Better: Lower, About: about, Label: label, of: func(f results.Figures) float64 {
		return known(f.Safety.Checked, float64(of(f.Safety)))
	}}
}

func counted(name, about string, of func(*results.Counts) int64) *Metric {
	return &Metric{Name: name, Group: Outcomes, Unit: Count, Better: Lower, About: about, of: func(f results.Figures) float64 {
		return float64(of(f.Counts))
	}}
}

// cost returns a metric of one lock; negative costs are not known.
func cost(name, label, about string, of func(*results.Cost) float64) *Metric {
	return &Metric{Name: name, Group: Cost, Unit: PerLock, Better: Lower, About: about, Label: label, of: func(f results.Figures) float64 {
		v := of(f.Cost)
		return known(v >= 0, v)
	}}
}

func cpu(name, label, about string, of func(*results.Cost) float64) *Metric {
	m := cost(name, label, about, of)
	m.Unit = Micros
	return m
}

func traffic(name, label, about string, of func(*results.Cost) float64) *Metric {
	return cost(name, label, about, func(c *results.Cost) float64 { return known(c.Trafficked(), of(c)) })
}
