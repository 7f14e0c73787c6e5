package report

// All that is known of cells, below the fold: a block a question.

import (
	"fmt"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/view"
)

// questions are what the figures of a cell answer.
var questions = []struct {
	heading string
	told    bool // by the facts of a single cell
	figures func(*results.Cell) []figure
}{
	{"Bound", false, bound},
	{"Outcomes", true, func(c *results.Cell) []figure { return ofGroup(c, metric.Outcomes) }},
	{"Fairness", false, func(c *results.Cell) []figure { return ofGroup(c, metric.Fairness) }},
	{"Safety", true, func(c *results.Cell) []figure { return ofGroup(c, metric.Safety) }},
	{"Cost", false, func(c *results.Cell) []figure { return ofGroup(c, metric.Cost) }},
	{"Generator", false, generator},
}

// details returns all figures of cells. Those of a single cell are a list with a line a question.
func details(v *view.Run) (blocks []Block) {
	list := &Table{}
	for _, q := range questions {
		if len(v.Cells) > 1 {
			t := listed(v, func(c *results.Cell) []line { return []line{{"", q.figures(c)}} })
			blocks = append(blocks, Block{Heading: q.heading, Detail: true, Table: t})
		} else if !q.told {
			list.fact(Plain, strings.ToLower(q.heading), joined(q.figures(v.Cells[0])))
		}
	}
	return append(blocks, Block{Heading: "Figures", Detail: true, Table: list},
		Block{Heading: "Overlaps", Detail: true, Table: listed(v, overlaps)},
		Block{Heading: "Processes", Detail: true, Table: listed(v, processes)})
}

// bound returns what bounds the throughput of a cell, if it is known.
func bound(c *results.Cell) []figure {
	by := strings.TrimPrefix(format.Three(c.Bound.LocksPerS)+" by "+c.Bound.By, "0 by ")
	reached := strings.TrimPrefix(metric.Share.Format(c.Figures().Efficiency()), format.None)
	return []figure{{"locks/s", by}, {"reached", reached}, lasting("round trip", c.Bound.RoundTrip())}
}

// generator returns how busy lockbench and its machine were.
func generator(c *results.Cell) []figure {
	g := c.Generator
	busy := strings.TrimPrefix(metric.Share.Format(max(0, g.Machine)), "0 %")
	return append(ofGroup(c, metric.Machine), figure{"machine", busy}, lasting("run queue p99", g.RunQueue),
		lasting("core wait", g.CoreWait), lasting("throttled", g.Throttled), lasting("longest GC pause", g.GCLongest),
		lasting("paused", g.Paused))
}

// latencies returns all distributions of a cell.
func latencies(c *results.Cell) (lines []line) {
	for _, d := range metric.Distributions {
		l := c.Latency[d.Metric]
		if l.Count == 0 {
			continue
		}
		figures := []figure{{"count", format.Count(l.Count)}, {"mean", format.Duration(l.Mean)}}
		lines = append(lines, line{d.Title, append(figures, quantiles(l)...)})
	}
	return lines
}

// overlaps returns the first violations of a cell.
func overlaps(c *results.Cell) (lines []line) {
	for _, e := range c.Safety.Events[:min(someRows, len(c.Safety.Events))] {
		lines = append(lines, line{"key " + format.Count(e.Key), []figure{lasting("at", e.At),
			{"holder", format.Count(e.Holder)}, {"intruder", format.Count(e.Intruder)}, lasting("overlap", e.Overlap)}})
	}
	return lines
}

// processes returns those of the first trial of a cell, if several made the load.
func processes(c *results.Cell) (lines []line) {
	for _, r := range c.First().Ranks {
		lines = append(lines, line{fmt.Sprintf("%d on %s", r.Rank, r.Host), []figure{
			{"clients", format.Count(r.Clients)}, {"acquired", format.Count(r.Acquired)}, lasting("round trip", r.RTT),
			lasting("clock within", r.Bound), lasting("late", r.Late), {"cores", format.Three(r.Generator.CPU)}}})
	}
	return lines
}

// environment returns where cells ran, and what was asked for: once what is true of all, else with the names of cells.
func environment(v *view.Run) *Table {
	t, names, servers := &Table{}, designs(v), &Table{}
	if servers.tell(v, names, Plain, "server", of(view.Server), nil); len(servers.Rows) > 1 { // or the head has it
		t.Rows = append(t.Rows, servers.Rows...)
	}
	for _, f := range []struct {
		label string
		text  func(*results.Cell) string
	}{
		{"machine", func(c *results.Cell) string { return view.Machine(c.First().Env) }},
		{"program", func(c *results.Cell) string { return strings.TrimSpace("lockbench " + c.First().Env.Lockbench) }},
		{"libraries", func(c *results.Cell) string { return view.Libraries(c.First().Env) }},
		{"variables", func(c *results.Cell) string { return view.Variables(c.First().Env) }},
		{"claims", func(c *results.Cell) string { return view.Claims(c.First().Traits) }},
		{"other risks", func(c *results.Cell) string {
			return strings.TrimPrefix(strings.TrimPrefix(c.First().Wrong, view.Risk(c)), "; ")
		}},
	} {
		t.tell(v, names, Plain, f.label, of(f.text), nil)
	}
	t.fact(Plain, "started", v.Cells[0].First().Started.UTC().Format(time.DateTime)+" UTC")
	for i, c := range v.Cells {
		if command := c.Plan().Command; i == 0 || command != v.Cells[i-1].Plan().Command {
			t.fact(Plain, "command", command)
		}
	}
	return t
}
