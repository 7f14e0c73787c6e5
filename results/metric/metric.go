// Package metric is the table of metrics: each number that a record, a cell or a class of clients has, its unit, and
// what is better. Tables, pages, exports, thresholds, comparisons and histories loop over it, so that all mean the
// same by "acquire.p99". A new row is all that a new metric of a record takes.
package metric

import (
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

	// Of returns the metric in the base unit; NaN if it is not known, or a quantile of too few values.
	Of func(results.Figures) float64
}

// Column is how the table of cells shows a metric.
type Column struct {
	Group, Title string                   // the two lines of its head
	Unit         *Unit                    // nil: the metric's own
	Drop         int                      // columns that do not fit are dropped from the highest on; 0: never
	Classes      bool                     // classes of clients have it as well
	Only         func(*results.Cell) bool // the column is there if it is true of any cell; nil: always
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

// Distribution is a latency that records hold as a histogram.
type Distribution struct {
	Metric results.Metric
	Title  string
	Better Better
	About  string
}

// Quantiles are those that records spell out.
var Quantiles = []struct {
	Name string
	Q    float64
}{{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p999", 0.999}}
