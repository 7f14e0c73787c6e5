package history

// From records to series, one record at a time: a history of years does not fit into memory, a few numbers a trial do.

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/results/stats"
)

// Collector takes records in any order. Of each it keeps the figures that are asked for, some hundred bytes.
type Collector struct {
	options    Options
	history    History
	series     map[string]*builder
	order      []*builder // as they came
	seen       map[string]bool
	conditions map[string]*conditions // each set once
	last       time.Time
}

// builder is a series that grows.
type builder struct {
	sample  *results.Record
	cell    int // its place in the matrix of the runs, the first of them
	figures []*metric.Metric
	trials  []trial
}

// trial is what is kept of a record.
type trial struct {
	started, end time.Time
	run          string
	conditions   *conditions
	values       []float64 // of the builder's figures
	saturated    bool
	violations   int64
}

// conditions are what may change from point to point without making another series of it.
type conditions struct {
	revision string
	list     []condition
}

type condition struct{ what, value string }

// NewCollector makes a collector that has seen nothing.
func NewCollector(o Options) *Collector {
	return &Collector{options: o, series: map[string]*builder{}, seen: map[string]bool{}, conditions: map[string]*conditions{}}
}

// Add takes a record that is valid (see results.Record.Validate), and keeps no pointer into it.
func (c *Collector) Add(r *results.Record) error {
	if c.seen[r.ID] {
		c.history.Duplicates++
		return nil
	}
	c.seen[r.ID] = true
	switch {
	case r.Partial != "":
		c.history.Partial++
		if r.Violated() {
			c.history.Violated++
		}
		return nil
	case r.Started.Before(c.options.Since):
		c.history.Earlier++
		return nil
	}
	if c.last.Sub(r.Started) > pause { // less is the order in which trials end, or a clock that was set right
		c.history.Backwards++
	}
	c.last = r.Started
	sample := common(r)
	key, err := json.Marshal(sample)
	if err != nil {
		return fmt.Errorf("history: record %s: %w", r.ID, err)
	}
	b := c.series[string(key)]
	if b == nil {
		sample.Traits = r.Traits // the first one's: a design that is found to claim more is no other cell
		b = &builder{sample: sample, cell: r.Cell, figures: c.options.Figures}
		if len(b.figures) == 0 {
			b.figures = defaultFigures(r)
		}
		c.series[string(key)] = b
		c.order = append(c.order, b)
	}
	t := trial{
		started: r.Started, end: r.Started.Add(r.Elapsed), run: strings.Clone(r.Run), conditions: c.conditionsOf(r),
		saturated: r.Generator.Saturated, violations: r.Broken(),
	}
	for _, f := range b.figures {
		t.values = append(t.values, f.Of(r.Figures()))
	}
	b.trials = append(b.trials, t)
	c.history.Records++
	return nil
}

// common returns what the records of a series have in common, and by which they are told from others.
func common(r *results.Record) *results.Record {
	s := &results.Record{Schema: results.SchemaVersion, Plan: r.Plan, Trial: 1}
	s.Plan.Seed, s.Plan.Command, s.Plan.Workload = 0, "", ""
	s.Plan.Classes = slices.Clone(r.Plan.Classes)
	s.Env = results.Env{OS: r.Env.OS, Arch: r.Env.Arch, CPU: r.Env.CPU, CPUs: r.Env.CPUs, GOMAXPROCS: r.Env.GOMAXPROCS}
	s.Server = results.Server{Kind: r.Server.Kind, Name: r.Server.Name}
	if r.Server.Kind == "external" {
		s.Server.Addr = r.Server.Addr
	}
	return s
}

// conditionsOf keeps each set of conditions once.
func (c *Collector) conditionsOf(r *results.Record) *conditions {
	is := conditions{revision: cmp.Or(r.Env.Revision, r.Env.Lockbench)}
	add := func(what, value string) {
		if value != "" {
			is.list = append(is.list, condition{what, value})
		}
	}
	if r.Env.Revision != "" {
		add("lockbench", r.Env.Lockbench)
	}
	add("server", strings.TrimSpace(r.Server.Name+" "+r.Server.Version))
	add("mode", r.Server.Mode)
	add("persistence", r.Server.Persistence)
	add("network", r.Server.Network)
	add("Go", r.Env.Go)
	add("kernel", r.Env.Kernel)
	for _, name := range slices.Sorted(maps.Keys(r.Env.Libraries)) {
		add(name, r.Env.Libraries[name])
	}
	key := fmt.Sprintf("%q", is)
	if had := c.conditions[key]; had != nil {
		return had
	}
	c.conditions[key] = &is
	return &is
}

// changes returns what differs from one set of conditions to another, the revision left out.
func (c *conditions) changes(to *conditions) (all []Change) {
	for _, is := range to.list {
		for _, was := range c.list {
			if was.what == is.what && was.value != is.value {
				all = append(all, Change{is.what, was.value, is.value})
			}
		}
	}
	return all
}

func defaultFigures(r *results.Record) []*metric.Metric {
	latency := "acquire.p99"
	if slices.ContainsFunc(r.Plan.Groups(), func(g spec.Class) bool { return g.Open() }) {
		latency = "response.p99"
	}
	rate, _ := metric.Named("locks/s")
	wait, _ := metric.Named(latency)
	return []*metric.Metric{rate, wait}
}

// machines counts those of the series.
func machines(series []*Series) int {
	all := map[[3]string]bool{}
	for _, s := range series {
		e := s.Sample.Env
		all[[3]string{e.OS + "/" + e.Arch, e.CPU, fmt.Sprint(e.CPUs, e.GOMAXPROCS)}] = true
	}
	return len(all)
}

// pause is how long nothing may be measured of a revision before it counts as measured again: within an hour a machine
// is what it was, and a new value would be none of its own.
const pause = time.Hour

// points sorts trials by time and puts those together that were measured at one time. Trials of two revisions may take
// turns. A run that lasts longer than any pause is one point all the same.
func points(trials []trial) (all []Point) {
	slices.SortStableFunc(trials, func(a, b trial) int { return a.started.Compare(b.started) })
	latest := map[string]int{} // by revision
	for _, t := range trials {
		revision := t.conditions.revision
		i, had := latest[revision]
		if had && (all[i].runs[t.run] || t.started.Sub(all[i].end) <= pause) {
			all[i].add(t)
			continue
		}
		latest[revision] = len(all)
		p := Point{Revision: revision, Started: t.started, conditions: t.conditions, runs: map[string]bool{}}
		p.add(t)
		all = append(all, p)
	}
	return all
}

func (p *Point) add(t trial) {
	p.trials = append(p.trials, t)
	p.runs[t.run] = true
	if t.end.After(p.end) {
		p.end = t.end
	}
	p.Trials++
	p.Violations += t.violations
	if t.saturated {
		p.Saturated++
	}
}

// build makes a series of what was collected.
func (b *builder) build() *Series {
	s := &Series{Sample: b.sample, Points: points(b.trials)}
	for i, f := range b.figures {
		l := Line{Figure: f, P: math.NaN()}
		for _, p := range s.Points {
			values := make([]float64, len(p.trials))
			for j, t := range p.trials {
				values[j] = t.values[i]
			}
			l.Values = append(l.Values, stats.Of(values))
		}
		s.Lines = append(s.Lines, l)
	}
	return s
}

// History returns what the records say; the collector is used up. It fails nowhere: no record, no series.
func (c *Collector) History() *History {
	h := &c.history
	slices.SortStableFunc(c.order, func(a, b *builder) int { return cmp.Compare(a.cell, b.cell) })
	for _, b := range c.order {
		h.Series = append(h.Series, b.build())
	}
	h.forget()
	h.Machines = machines(h.Series)
	h.judge()
	slices.SortStableFunc(h.Series, func(a, b *Series) int { return cmp.Compare(b.Loss(), a.Loss()) })
	return h
}

// forget leaves out the lines of figures that no record of their series knows, and notes which those are.
func (h *History) forget() {
	known := map[string]bool{}
	for _, s := range h.Series {
		for _, l := range s.Lines {
			if l.Latest() < 0 {
				s.Unknown = append(s.Unknown, l.Figure)
			} else {
				known[l.Figure.Name] = true
			}
		}
		s.Lines = slices.DeleteFunc(s.Lines, func(l Line) bool { return l.Latest() < 0 })
	}
	for _, s := range h.Series {
		for _, f := range s.Unknown {
			if !known[f.Name] {
				known[f.Name] = true // said once
				h.Unknown = append(h.Unknown, f)
			}
		}
	}
}
