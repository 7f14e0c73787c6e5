package results

// Grouping: the trials of one cell, and what they say together.

import (
	"encoding/json"
	"slices"

	"github.com/lockbench/lockbench/results/spec"
)

// Cell is what was measured under one plan and the same conditions: one or more whole trials, or one partial one.
// Counts add up over the trials, histograms are merged, ratios are the median trial's; quantiles are never averaged.
type Cell struct {
	Trials     []*Record // in their order in the run; without histograms, and but for the first without Series and Steps
	Duplicates int       // records left out because they have the ID of one of the trials

	Rate      Spread // granted locks a second
	Counts    Counts
	Latency   map[Metric]Latency // quantiles of all trials together, Values and Histogram too; HDR only of a single trial
	Fairness  Fairness           // Jain: median; Clients: the most; the rest: the worst trial, but OwnerChanges: sum
	Safety    Safety             // sums; Longest: the longest; Checked: in all trials; Events: the first hundred
	Cost      Cost               // medians of the trials that know, negative if none does
	Bound     Bound              // medians of the trials that know, but of Waited and Blocked the sums
	Generator Generator          // medians of the trials that know, but GCLongest, Memory, Paused: the most; Pauses: all; Saturated and Why: the first saturated trial's
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

// cellKey is equal for records that belong together.
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
	same.Server.Connections = 0 // as many as happened to be open
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
		c.Counts.add(r.Counts)
		for _, warning := range r.Warnings {
			if !warned[warning] {
				warned[warning] = true
				c.Warnings = append(c.Warnings, warning)
			}
		}
	}
	rates := valuesOf(c.Trials, (*Record).Throughput)
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
