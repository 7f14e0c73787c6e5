package report

// What a reader needs to believe the figures of cells, and to go on from them.

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/view"
)

// cellAnswer returns how many locks a second, how long the slowest wait, whether the lock excluded, and what is
// doubtful.
func cellAnswer(c *results.Cell) (string, Tone) {
	n, l := c.Counts, c.Latency[view.Waiting(c)]
	if n.Acquired == 0 {
		return strings.TrimPrefix(c.Partial()+": no lock was granted", ": "), Warn
	}
	rate := strings.TrimSuffix(format.Three(c.Rate.Median)+" locks/s ± "+scatter(view.Rate(c)), " ± "+format.None)
	parts := []string{rate, "max " + format.Duration(l.Max)}
	if t := l.Quantile(0.99); !math.IsNaN(t) {
		parts[1] = "p99 " + duration(t)
	}
	if _, bounded := c.Figures().MaxRate(); c.Breaches() > 0 {
		parts = append(parts, "two holders at once, which the design allows")
	} else if bounded {
		parts = append(parts, "no violation seen")
	}
	if granted := float64(n.Acquired) / float64(n.Acquired+n.Contended+n.TimedOut+n.Failed()); granted < 0.99 {
		parts = append(parts, "granted "+format.Percent(granted))
	}
	return strings.Join(append(parts, view.Doubts(c)...), " · "), toneOf(c)
}

// broken returns by what the exclusion of a cell was broken.
func broken(c *results.Cell) string {
	if s := c.Safety; s.Violations > 0 {
		return format.Count(s.Violations) + " of " + format.Plural(s.Grants, "grant")
	}
	return view.Witnesses(c)
}

// runFacts returns what limits a cell and how it went, what can go wrong with the designs, and what to do next. A
// threshold may have been missed.
func runFacts(v *view.Run, missed bool) *Table {
	t, risks, c, notes, one := &Table{}, &Table{}, v.Cells[0], 0, len(v.Cells) == 1
	for _, c := range v.Cells {
		notes += len(c.Warnings)
	}
	if one {
		t.fact(Plain, "limited by", limited(c))
		t.fact(Plain, "waits", waits(c.Latency[view.Waiting(c)]))
		t.fact(toneOf(c)*Tone(min(1, c.Breaches())), "safety", view.Exclusion(c))
		t.fact(max(toneOf(c), Warn), "witnesses", view.Witnesses(c))
		t.fact(Plain, "outcomes", answers(c, metric.Outcomes))
		t.fact(Warn, "errors", errorsOf(c.Counts))
		for _, m := range marks(c) {
			t.fact(m.Tone, strings.TrimSpace(m.Code+" "+m.Args), m.Line)
		}
	}
	if risks.tell(v, "risk", view.Risk); len(risks.Rows) > 1 {
		risks.Rows[0].Cells[1].Text += fmt.Sprintf(" · %d more", len(risks.Rows)-1)
	}
	t.Rows = append(t.Rows, risks.Rows[:min(1, len(risks.Rows))]...)
	if one && notes > 0 {
		t.fact(Warn, "note", c.Warnings[0])
		notes--
	}
	t.fact(Warn, "notes", strings.TrimPrefix(format.Count(notes)+", with the figures", "0, with the figures"))
	bad := slices.IndexFunc(v.Cells, (*results.Cell).Violated)
	switch {
	case one:
		t.fact(Plain, "next", next(c, missed))
	case bad >= 0:
		t.fact(Plain, "next", spaced(v.Names[bad])+": "+next(v.Cells[bad], missed))
	case v.Rivals:
		t.fact(Plain, "next", prove(v.Groups[0].Cells[v.Groups[0].Best()[0]]))
	}
	return t
}

// errorsOf returns how many requests failed of each class, warm-up included, with the first error.
func errorsOf(n results.Counts) string {
	all := maps.Clone(n.Errors)
	results.Add(&all, n.EarlyErrors)
	var parts []string
	for _, class := range slices.Sorted(maps.Keys(all)) {
		text := class + " " + format.Count(all[class]) + format.Labelled(", in the warm-up", n.EarlyErrors[class])
		parts = append(parts, strings.TrimSuffix(text+": "+n.ErrorSample[class], ": "))
	}
	return strings.Join(parts, " · ")
}

// figures returns all latencies of each cell, what its metrics answer, and its notes, without what facts have told.
func figures(v *view.Run, told *Table) (blocks []Block) {
	heading := "Figures"
	for i, c := range v.Cells {
		t := &Table{}
		if len(v.Cells) > 1 {
			t.fact(Plain, "row", v.Names[i])
		}
		for _, d := range metric.Distributions {
			t.fact(Plain, d.Title, waits(c.Latency[d.Metric]))
		}
		for i, question := range []string{"fairness", "safety", "outcomes", "cost", "generator"} {
			t.fact(Plain, question, answers(c, metric.Fairness+metric.Group(i)))
		}
		for _, note := range c.Warnings {
			t.fact(Warn, "note", note)
		}
		blocks, heading = append(blocks, Block{Heading: heading, Detail: true, Table: t.without(told)}), ""
	}
	return blocks
}

// without removes the facts that others have told.
func (t *Table) without(told *Table) *Table {
	t.Rows = slices.DeleteFunc(t.Rows, func(r Row) bool {
		return slices.ContainsFunc(told.Rows, func(t Row) bool { return t.Cells[1].Text == r.Cells[1].Text })
	})
	return t
}

// answers returns the metrics of a group that are above 0.
func answers(c *results.Cell, of metric.Group) string {
	var texts []string
	for _, m := range metric.Of(of) {
		if value := m.Of(c.Figures()); value > 0 {
			texts = append(texts, strings.TrimSuffix(m.Name, "/lock")+" "+m.Unit.Format(value))
		}
	}
	return format.Join(texts...)
}

// waits returns the quantiles of a latency, its mean, and the longest.
func waits(l results.Latency) string {
	var texts []string
	for _, q := range metric.Quantiles {
		texts = append(texts, titled(strings.Replace(q.Name, "p999", "p99.9", 1), duration(l.Quantile(q.Q))))
	}
	return format.Join(append(texts, lasting("mean", l.Mean), lasting("max", l.Max))...)
}

// environment returns where cells ran, what is known of their designs, and what was asked for.
func environment(v *view.Run) *Table {
	t := &Table{}
	for _, a := range view.Axes {
		if slices.Contains([]string{"at", "machine", "lockbench", "libraries"}, a.Title) {
			t.tell(v, a.Title, func(c *results.Cell) string { return strings.TrimPrefix(a.Value(c), a.Title+" ") })
		}
	}
	t.tell(v, "claims", func(c *results.Cell) string { return view.Claims(c.First().Traits) })
	t.tell(v, "variables", func(c *results.Cell) string { return view.Variables(c.First().Env) })
	t.tell(v, "all risks", func(c *results.Cell) string { return c.First().Wrong })
	t.tell(v, "command", func(c *results.Cell) string { return c.Plan().Command })
	t.fact(Plain, "started", v.Cells[0].First().Started.UTC().Format(time.DateTime)+" UTC")
	return t
}

// limited returns what limits a throughput, with the figures that say so, most of them shares of time; empty if several
// clients held a key at once.
func limited(c *results.Cell) string {
	l, release := c.Limit(), lasting("release", c.Latency[results.Release].Mean)
	if l.Slower >= 2 {
		release += fmt.Sprintf(", %.1f times idle", l.Slower)
	}
	share := func(title string, of float64) string {
		if of < 0.005 {
			return ""
		}
		return title + " " + format.Percent(of)
	}
	var of []string
	switch l.By {
	case results.ByKey, results.ByLock, results.ByLease:
		of = []string{share("held", l.Held), share("moving", l.Moving), share("dead", l.Dead),
			share("free while wanted", l.Waited), share("free", l.Idle), release}
	case results.ByClients, results.ByErrors, results.ByUnknown:
		of = []string{share("in requests", l.Requests), share("holding", l.Holding), share("waiting", l.Waiting),
			share("failing", l.Failing), share("stuck", l.Stuck)}
	case results.ByServerCPU, results.ByGenerator, results.ByMachine:
		of = []string{titled("cores", format.Count(c.First().Env.CPUs)),
			titled("lockbench", format.Three(c.Generator.CPU)), titled("server", known(l.ServerCores, format.Three)),
			share("its thread ran", l.Thread.Ran), share("and waited for a core", l.Thread.Waited)}
	case results.ByConnections:
		of = []string{titled("requests at a time", format.Three(c.Requests())),
			titled("connections", format.Count(c.Bound.Pool))}
	}
	by := map[bool]string{true: "hottest "}[l.Hottest] + string(l.By)
	return strings.TrimSuffix(by+": "+format.Join(of...), ": ")
}

// limitRemedies are what to change about a limit, unless another line of waiting would help.
var limitRemedies = map[results.LimitedBy]string{
	results.ByKey:         "more keys (-keys), or shorter holds",
	results.ByLock:        otherDesign,
	results.ByLease:       "a shorter -ttl",
	results.ByServerCPU:   "a faster server, or one of its own (-addr)",
	results.ByGenerator:   "fewer clients, or lockbench on a machine of its own",
	results.ByMachine:     "lockbench on another machine than the server (-addr)",
	results.ByConnections: "more connections (-conns)",
	results.ByClients:     "more clients (-clients)",
	results.ByRate:        "more arrivals (-rate)",
}

const otherDesign = "another design: lockbench list"

// next returns what to try; empty if nothing is known to help.
func next(c *results.Cell, missed bool) string {
	p, l := c.Plan(), c.Limit()
	switch {
	case c.Violated() && p.TTL > 0 && p.Hold >= p.TTL && !p.Renew:
		return "-renew, or -ttl above the hold of " + format.Exact(p.Hold)
	case c.Violated():
		return otherDesign
	case missed && l.By == results.ByRate:
		return "fewer arrivals (-rate), or " + otherDesign
	case (l.By == results.ByLock || l.By == results.ByKey && l.Moving > l.Held) && queues(c):
		return "-wait queue"
	}
	return limitRemedies[l.By]
}

// queues reports whether the clients of c could wait in a line within lockbench, and do not: their releases wake
// waiters, as those of all designs on Redis do but of those that queue on the server.
func queues(c *results.Cell) bool {
	p := c.Plan()
	redis := slices.Contains([]string{"redis", "valkey", "miniredis"}, c.First().Server.Name)
	own := slices.Contains([]string{"queue", "library", "native"}, p.Wait) || p.Lock == "fair"
	return !view.TriesOnce(p) && p.Wait != "queue" && (c.First().Traits.Wakes || redis && !own)
}

// prove returns the command that shows what can go wrong with the lock of a cell; empty if it claims nothing.
func prove(c *results.Cell) string {
	p := c.Plan()
	if !c.First().Traits.Exclusive || p.Driver == "" {
		return ""
	}
	driver := p.Driver // the other topologies are proven on one server
	if slices.Contains([]string{"redlock", "replicated", "sentinel"}, p.Topology) {
		driver += "@" + p.Topology
	}
	return "lockbench prove -driver " + driver + " -lock " + p.Lock
}
