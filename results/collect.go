package results

// Collecting: records come one by one, and what they say together stays.

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/lockbench/lockbench/results/spec"
)

// maxEvents is how many violations a cell shows. A record has the first few of its trial.
const maxEvents = 100

// Collector sorts records into cells as they come, so that a file larger than the memory can be read. The zero value is
// ready; one goroutine uses it at a time.
//
// Its memory grows with the cells, by their merged histograms, and by some 5 KB for each trial: it keeps all figures of a
// record, but no histogram (Latency.HDR), Series and Steps of the first trial of a cell alone, and the first hundred violations
// of a cell. A cell of a single trial has that trial's histograms as they were recorded.
//
// Cells are in the order of their runs, and within a run in that of its matrix; see cellKey for what is a trial of the same one. A
// record whose ID has been seen before is left out.
type Collector struct {
	// Outline leaves the merged histograms out, for those who need no more than each trial's own figures: Cell.Latency
	// and that of its classes are empty, and memory does not grow with the cells' distributions.
	Outline bool

	cells      []*openCell // in the order in which they came
	byKey      map[string]*openCell
	byID       map[string]*openCell
	runs       map[string]int // when each run came first
	texts      map[string]string
	duplicates int
}

// openCell is a cell that trials still come to.
type openCell struct {
	trials     []kept
	first      int // of trials: the one that comes first in the end, which keeps its series
	latency    sums
	classes    []sums
	events     int
	duplicates int
}

// kept is what is left of a record.
type kept struct {
	*Record
	run int // the place of its run among the runs
	at  int // its place among all records
}

// before returns the order of trials, in a cell and over all.
func (k kept) before(o kept) int {
	return cmp.Or(cmp.Compare(k.run, o.run), cmp.Compare(k.Cell, o.Cell), cmp.Compare(k.Trial, o.Trial), cmp.Compare(k.at, o.at))
}

// Add adds a valid record, which it neither changes nor holds on to. The error says which record has a histogram that
// cannot be merged, and it is as if that one had not been added; records that pass Validate have none.
func (c *Collector) Add(r *Record) error {
	if err := c.add(r); err != nil {
		return fmt.Errorf("results: collect: record %s: %w", r.ID, err)
	}
	return nil
}

// Read adds the records of a JSON Lines file. It does what Read with Add does, and decodes each histogram once instead of
// twice.
func (c *Collector) Read(r io.Reader) (Report, error) {
	return read(r, lineReader{limit: maxLine, payloads: c.Outline}, func(rec *Record) error {
		if err := c.add(rec); err != nil {
			return lineError{err}
		}
		return nil
	})
}

func (c *Collector) add(r *Record) error {
	key, err := cellKey(r)
	if err != nil {
		return err
	}
	if c.byID == nil {
		c.byKey, c.byID, c.runs, c.texts = map[string]*openCell{}, map[string]*openCell{}, map[string]int{}, map[string]string{}
	}
	if g := c.byID[r.ID]; g != nil {
		g.duplicates++
		c.duplicates++
		return nil
	}
	g := c.byKey[key]
	if g == nil {
		g = new(openCell)
	}
	if !c.Outline {
		if err := g.merge(r); err != nil {
			return err
		}
	}
	if len(g.trials) == 0 {
		c.byKey[key] = g
		c.cells = append(c.cells, g)
	}
	run, seen := c.runs[r.Run]
	if !seen {
		run = len(c.runs)
		c.runs[c.share(r.Run)] = run
	}
	g.keep(kept{c.outline(r, g), run, len(c.byID)})
	c.byID[r.ID] = g
	return nil
}

// Duplicates returns the records that Add has left out, since it had their IDs already.
func (c *Collector) Duplicates() int { return c.duplicates }

// Cells returns the cells of what has been added so far. Add may go on afterwards, and does not change them.
func (c *Collector) Cells() []*Cell {
	type sorted struct {
		cell  *Cell
		first kept
	}
	var all []sorted
	for _, g := range c.cells {
		trials := slices.SortedFunc(slices.Values(g.trials), kept.before)
		cell := &Cell{Duplicates: g.duplicates, Latency: g.latency.latencies()}
		for _, k := range trials {
			cell.Trials = append(cell.Trials, k.Record)
		}
		cell.sum(g.classes)
		all = append(all, sorted{cell, trials[0]})
	}
	slices.SortFunc(all, func(a, b sorted) int { return a.first.before(b.first) })
	var cells []*Cell
	for _, s := range all {
		cells = append(cells, s.cell)
	}
	return cells
}

// keep adds a trial whose histograms have been merged already.
func (g *openCell) keep(k kept) {
	room := min(maxEvents-g.events, len(k.Safety.Events))
	g.events += room
	k.Safety.Events = slices.Clone(k.Safety.Events[:room])
	g.trials = append(g.trials, k)
	last := len(g.trials) - 1
	switch {
	case last == 0:
	case k.before(g.trials[g.first]) < 0:
		g.trials[g.first].Record = withoutSeries(g.trials[g.first].Record)
		g.first = last
	default:
		g.trials[last].Record = withoutSeries(k.Record)
	}
}

// withoutSeries returns r without Series. It is a copy, since r may be in a cell that somebody has.
func withoutSeries(r *Record) *Record {
	b := *r
	b.Series = nil
	return &b
}

// merge adds the histograms of r, all of them or, with an error, none.
func (g *openCell) merge(r *Record) error {
	latency, err := decodeAll(r.Latency)
	if err != nil {
		return fmt.Errorf("latency.%w", err)
	}
	classes := make([]map[Metric]counts, len(r.Classes))
	for i, c := range r.Classes {
		if classes[i], err = decodeAll(c.Latency); err != nil {
			return fmt.Errorf("classes[%d].latency.%w", i, err)
		}
	}
	if g.latency == nil {
		g.latency = sums{}
	}
	g.latency.add(r.Latency, latency)
	for i, c := range r.Classes {
		if i == len(g.classes) {
			g.classes = append(g.classes, sums{})
		}
		g.classes[i].add(c.Latency, classes[i])
	}
	return nil
}

// outline returns a copy of r without its histograms. What it has in common with the trials of its cell, or with any other
// record, is there once.
func (c *Collector) outline(r *Record, g *openCell) *Record {
	k := *r
	if len(g.trials) > 0 {
		k.Plan, k.Traits, k.Env, k.Server = g.trials[0].Plan, g.trials[0].Traits, g.trials[0].Env, g.trials[0].Server
		k.Plan.Seed, k.Plan.Command, k.Plan.Workload = r.Plan.Seed, r.Plan.Command, r.Plan.Workload // see cellKey
		k.Server.Addr, k.Server.Connections = r.Server.Addr, r.Server.Connections
	}
	for _, s := range []*string{&k.Run, &k.Side, &k.Plan.Command, &k.Plan.Workload, &k.Server.Addr, &k.Generator.Why} {
		*s = c.share(*s)
	}
	k.Latency = c.quantiles(r.Latency)
	k.Classes = slices.Clone(r.Classes)
	for i := range k.Classes {
		k.Classes[i].Name = c.share(k.Classes[i].Name)
		k.Classes[i].Latency = c.quantiles(r.Classes[i].Latency)
	}
	k.Warnings = slices.Clone(r.Warnings)
	for i := range k.Warnings {
		k.Warnings[i] = c.share(k.Warnings[i])
	}
	return &k
}

// quantiles are distributions without their payloads, those apart that are empty.
func (c *Collector) quantiles(all map[Metric]Latency) map[Metric]Latency {
	filled := 0
	for _, l := range all {
		if l.Count > 0 {
			filled++
		}
	}
	quantiles := make(map[Metric]Latency, filled)
	for m, l := range all {
		if l.Count > 0 {
			l.HDR, l.merged = "", ""
			quantiles[Metric(c.share(string(m)))] = l
		}
	}
	return quantiles
}

// share returns s, in the one copy that all records have.
func (c *Collector) share(s string) string {
	if one, seen := c.texts[s]; seen {
		return one
	}
	c.texts[s] = s
	return s
}

// Cell is what was measured under one plan and the same conditions: one or more whole trials, or one partial one.
// Counts add up over the trials, histograms are merged, ratios are the median trial's; quantiles are never averaged.
type Cell struct {
	Trials     []*Record // in their order in the run; without histograms, and but for the first without Series and Steps
	Duplicates int       // records left out because they have the ID of one of the trials

	Rate      Spread // granted locks a second
	Counts    Counts
	Latency   map[Metric]Latency // quantiles of all trials together, Values and Histogram too; HDR only of a single trial
	Fairness  Fairness           // the most, but as the tags say; Jain: median
	Safety    Safety             // sums, but as the tags say; Checked: in all trials; Events: the first hundred
	Cost      Cost               // medians of the trials that know, negative if none does
	Bound     Bound              // medians of the trials that know, but as the tags say
	Generator Generator          // likewise; Pauses: all; Saturated and Why: the first saturated trial's
	Thread    Thread             // medians of the trials that know
	Classes   []ClassCell
	Steady    Steady   // the first trial's that drifts, else the first trial's
	Drifting  int      // trials that drift
	Warnings  []string // those of all trials, each once
}

// ClassCell is a class of a plan over the trials. Counts add up, histograms are merged; Clients too; Jain is the median,
// Starved that of the worst trial.
type ClassCell struct {
	ClassResult
	Rate Spread // granted locks a second
}

// Spread is how a figure varies over the trials.
type Spread struct{ Median, Min, Max float64 }

// First returns the cell's first trial, which speaks for all of them about plan, traits, environment and server.
func (c *Cell) First() *Record { return c.Trials[0] }

// Plan returns the plan of the cell, its seed and command line those of the first trial.
func (c *Cell) Plan() *spec.Plan { return &c.Trials[0].Plan }

// Partial returns why the cell's only trial ended early; empty for whole trials.
func (c *Cell) Partial() string { return c.Trials[0].Partial }

// Group sorts records into cells; see Collector, which is for those who cannot keep all records. The error tells which
// record has a histogram that cannot be merged.
func Group(recs []*Record) ([]*Cell, error) {
	var c Collector
	for _, r := range recs {
		if err := c.Add(r); err != nil {
			return nil, err
		}
	}
	return c.Cells(), nil
}

// cellKey is equal for trials of one cell: their plans agree in all but the seed, the command line and the workload's name, and so
// do their traits, environments and servers (but for the address of a server that lockbench started). The sides of a comparison
// are cells of their own, of one run each, and so is a partial record, which stopped before its figures were steady.
func cellKey(r *Record) (string, error) {
	same := struct {
		Plan    spec.Plan
		Traits  Traits
		Env     Env
		Server  Server
		Partial string // the record's ID
		Side    string
		Run     string // of a side
		Pair    int
	}{Plan: r.Plan, Traits: r.Traits, Env: r.Env, Server: r.Server, Side: r.Side, Pair: r.Pair}
	same.Plan.Seed, same.Plan.Command, same.Plan.Workload = 0, "", ""
	if r.Server.Kind != "external" {
		same.Server.Addr = ""
	}
	same.Server.Connections, same.Server.Replaced, same.Server.Evicted = 0, false, 0 // what happened to it
	if r.Partial != "" {
		same.Partial = r.ID
	}
	if r.Side != "" {
		same.Run = r.Run // a pair is one of its run
	}
	key, err := json.Marshal(same) // maps come out sorted
	return string(key), err
}

// sum fills in what the trials say together. Their distributions have been merged, those of the classes too.
func (c *Cell) sum(classes []sums) {
	warned := map[string]bool{}
	for _, r := range c.Trials {
		Add(&c.Counts, r.Counts)
		for _, warning := range r.Warnings {
			if !warned[warning] {
				warned[warning] = true
				c.Warnings = append(c.Warnings, warning)
			}
		}
	}
	var rates []float64
	for _, r := range c.Trials {
		rates = append(rates, r.Throughput())
	}
	c.Rate = Spread{median(rates), slices.Min(rates), slices.Max(rates)}
	c.Fairness = sumFairness(c.Trials)
	c.Safety = sumSafety(c.Trials)
	c.Cost = medianCost(c.Trials)
	c.Bound = medianBound(c.Trials)
	c.Generator = sumGenerator(c.Trials)
	c.Thread = medianThread(c.Trials)
	c.Steady = c.First().Steady
	for _, r := range c.Trials {
		if r.Steady.Drifts {
			if c.Drifting++; c.Drifting == 1 {
				c.Steady = r.Steady
			}
		}
	}
	c.Classes = sumClasses(c.Trials, classes)
}
