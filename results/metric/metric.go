// Package metric is the table of metrics: each number that a record, a cell or a class of clients has, with its unit and what
// is better. Tables, pages, exports, thresholds, comparisons and histories loop over it, so that all mean the same by
// "acquire.p99". A new row is all that a new metric of a record takes.
package metric

import (
	"math"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results"
)

// Better is the direction in which a metric improves.
type Better int

const (
	Neither Better = iota // a property of the load: a change is a change
	Higher
	Lower
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
	Label  string // in tables and pages, where the group is clear; empty: Name

	// Column is the metric's place in the table of cells, nil if it has none.
	Column *Column

	of func(results.Figures) float64
}

// Column is how the table of cells shows a metric.
type Column struct {
	Group, Title string // the two lines of its head
	Unit         *Unit  // nil: the metric's own
	Drop         int    // columns that do not fit are dropped from the highest on; 0: never
	Classes      bool   // classes of clients have it as well

	// Only reports whether a cell has the metric at all. The column is there if any cell has it; nil: always.
	Only func(*results.Cell) bool
}

// Of returns the metric of f in the base unit. It is NaN if f does not know it, or if it is a quantile of too few values (see
// results.Enough).
func (m *Metric) Of(f results.Figures) float64 { return m.of(f) }

// Values returns the metric of each trial, NaN where it is not known.
func (m *Metric) Values(trials []*results.Record) []float64 {
	values := make([]float64, len(trials))
	for i, r := range trials {
		values[i] = m.of(r.Figures())
	}
	return values
}

// Title returns the name of m in tables and pages.
func (m *Metric) Title() string {
	if m.Label == "" {
		return m.Name
	}
	return m.Label
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
		return "there were too few values, or none; a longer -duration gives more"
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
	i := slices.IndexFunc(table, func(m *Metric) bool { return m.Name == name })
	if i < 0 {
		return nil, false
	}
	return table[i], true
}

// Distribution is a latency that records hold as a histogram.
type Distribution struct {
	Metric results.Metric
	Title  string
	Better Better
	About  string

	columns []column // of its quantiles
}

// column is the Column of one quantile.
type column struct {
	quantile string
	Column
}

// Latency returns the distribution of m.
func Latency(m results.Metric) Distribution {
	for _, d := range Distributions {
		if d.Metric == m {
			return d
		}
	}
	return Distribution{Metric: m, Title: string(m)}
}

// metrics returns those of the distribution: its quantiles, mean and maximum.
func (d *Distribution) metrics() (all []*Metric) {
	add := func(name string, of func(results.Latency) float64) {
		m := &Metric{
			Name: string(d.Metric) + "." + name, Unit: Duration, Better: d.Better, About: d.About, Label: d.Title + " " + name,
			of: func(f results.Figures) float64 { return of(f.Latency[d.Metric]) },
		}
		for _, c := range d.columns {
			if c.quantile == name {
				c.Group, c.Title = d.Title, name
				m.Column = &c.Column
			}
		}
		all = append(all, m)
	}
	for _, q := range Quantiles {
		add(q.Name, func(l results.Latency) float64 { return l.Quantile(q.Q) })
	}
	add("mean", func(l results.Latency) float64 { return known(l.Count > 0, float64(l.Mean)) })
	add("max", func(l results.Latency) float64 { return known(l.Count > 0, float64(l.Max)) })
	return all
}

// Quantiles are those that records spell out.
var Quantiles = []struct {
	Name string
	Q    float64
}{{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p999", 0.999}}

func known(is bool, v float64) float64 {
	if !is {
		return math.NaN()
	}
	return v
}
