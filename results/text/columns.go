package text

// The columns of a table of cells: the metrics that have one, and what goes with them.

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/stats"
	"github.com/lockbench/lockbench/results/view"
)

// column is one number of a cell.
type column struct {
	metric.Column
	text     func(c *results.Cell) string      // how the value is written; – is not known
	class    func(k *results.ClassCell) string // the same of a class; nil: classes do not have it
	interval bool                              // of a metric that has a column of its own
}

func (c column) head() string { return c.Group + "\n" + c.Title }

func (c column) formatClass(k *results.ClassCell) string {
	if c.class == nil {
		return ""
	}
	return c.class(k)
}

// beside are the columns that are no metric of a record, by the metric that they follow.
var beside = map[string][]column{
	"locks/s": {
		ofCell(metric.Column{Group: "locks/s", Title: "low", Drop: 5, Only: manyTrials}, metric.PerSecond,
			func(c *results.Cell) float64 { return view.Rate(c).Low }),
		ofCell(metric.Column{Group: "locks/s", Title: "high", Drop: 6, Only: manyTrials}, metric.PerSecond,
			func(c *results.Cell) float64 { return view.Rate(c).High }),
		ofCell(metric.Column{Group: "locks/s", Title: "min", Drop: 8, Only: fewTrials}, metric.PerSecond,
			ifFew(func(c *results.Cell) float64 { return c.Rate.Min })),
		ofCell(metric.Column{Group: "locks/s", Title: "max", Drop: 9, Only: fewTrials}, metric.PerSecond,
			ifFew(func(c *results.Cell) float64 { return c.Rate.Max })),
		ofCell(metric.Column{Title: "offered/s", Drop: 10, Only: (*results.Cell).Open}, metric.PerSecond, offered),
		{
			Column: metric.Column{Title: "dropped", Drop: 11, Only: func(c *results.Cell) bool { return c.Counts.Dropped > 0 }},
			text:   func(c *results.Cell) string { return share(c.Counts.Dropped, c.Counts.Offered) },
			class:  func(k *results.ClassCell) string { return share(k.Counts.Dropped, k.Counts.Offered) },
		},
	},
	"recovery.p50": {
		ofCell(metric.Column{Group: "neighbour", Title: "p50 ×", Drop: 16, Only: probed}, metric.Ratio, (*results.Cell).Disturbance),
	},
}

func ofCell(col metric.Column, u *metric.Unit, value func(*results.Cell) float64) column {
	return column{Column: col, text: func(c *results.Cell) string { return u.Format(value(c)) }}
}

// columns are all columns, in their order on the page.
var columns = func() (all []column) {
	var intervals []column
	for _, m := range metric.All() {
		if m.Column == nil {
			continue
		}
		col, unit := *m.Column, cmp.Or(m.Column.Unit, m.Unit)
		shown := ofCell(col, unit, func(c *results.Cell) float64 { return m.Of(c.Figures()) })
		if col.Classes {
			shown.class = func(k *results.ClassCell) string { return unit.Format(m.Of(k.Figures())) }
		}
		all = append(append(all, shown), beside[m.Name]...)
		if col.Interval > 0 {
			only := func(c *results.Cell) bool { return manyTrials(c) && hasColumn(m, c) }
			estimate := func(c *results.Cell) stats.Estimate { return stats.Of(m.Values(c.Trials)) }
			low := ofCell(metric.Column{Group: m.Title(), Title: "low", Drop: col.Interval, Only: only}, unit,
				func(c *results.Cell) float64 { return estimate(c).Low })
			high := ofCell(metric.Column{Group: m.Title(), Title: "high", Drop: col.Interval + 1, Only: only}, unit,
				func(c *results.Cell) float64 { return estimate(c).High })
			low.interval, high.interval = true, true
			intervals = append(intervals, low, high)
		}
	}
	all = append(all, column{Column: metric.Column{Title: "viol."}, text: violationText})
	return append(all, intervals...)
}()

// hasColumn reports whether a table in which c is has a column of m.
func hasColumn(m *metric.Metric, c *results.Cell) bool {
	return m.Column != nil && (m.Column.Only == nil || m.Column.Only(c))
}

// offered returns the rate of the arrivals, the median over trials. Of a number of operations it is not known: all may have been
// due long before the last of them was served, which is when the window ends.
func offered(c *results.Cell) float64 {
	return stats.Trials(c.Trials, func(r *results.Record) float64 {
		if !c.Open() || r.Elapsed <= 0 || r.Plan.Ops > 0 {
			return math.NaN()
		}
		return float64(r.Counts.Offered) / r.Elapsed.Seconds()
	}).Median
}

// share formats a part of a whole; a dash if that is nothing.
func share(n, of int64) string {
	if of == 0 {
		return format.None
	}
	return format.Percent(float64(n) / float64(of))
}

// nameBounds says what makes the bound: above the column if it is the same for all cells, else before each figure.
// Records from before it was known say nothing.
func nameBounds(columns []column, cells []*results.Cell) {
	i := slices.IndexFunc(columns, column.isBound)
	if i < 0 {
		return
	}
	by := ""
	for _, c := range cells {
		if b := c.Bound.By; b != "" && by != "" && b != by {
			text := columns[i].text
			columns[i].text = func(c *results.Cell) string { return strings.TrimSpace(c.Bound.By + " " + text(c)) }
			return
		} else if b != "" {
			by = b
		}
	}
	if by != "" {
		columns[i].Group, columns[i].Title = "of bound", format.Clean("by "+by)
	}
}

// isBound finds the column whatever nameBounds has made of it.
func (c column) isBound() bool { return c.Group == "of" || c.Group == "of bound" }

// probed reports whether a neighbour was asked, before the load and under it.
func probed(c *results.Cell) bool { return !math.IsNaN(c.Disturbance()) }

func severalTrials(c *results.Cell) bool { return len(c.Trials) > 1 }

// manyTrials are enough for an interval; fewTrials are several, and not enough.
func manyTrials(c *results.Cell) bool { return len(c.Trials) >= stats.MinTrials }
func fewTrials(c *results.Cell) bool  { return severalTrials(c) && !manyTrials(c) }

func ifFew(value func(*results.Cell) float64) func(*results.Cell) float64 {
	return func(c *results.Cell) float64 {
		if manyTrials(c) {
			return math.NaN()
		}
		return value(c)
	}
}

// tooFew explains the dash that stands for a quantile of too few values.
var tooFew = func() string {
	var takes []string
	for _, q := range metric.Quantiles {
		n := int64(0)
		for !results.Enough(n, q.Q) {
			n++
		}
		takes = append(takes, format.Count(n)+" for "+strings.Replace(q.Name, "p999", "p99.9", 1))
	}
	return "–: not known, or too few values for that quantile: it takes " + strings.Join(takes, ", ") + "."
}()

// sparse reports whether a distribution of c has too few values for one of its quantiles that have columns.
func sparse(c *results.Cell) bool {
	for m, q := range map[results.Metric]float64{
		results.Response: 0.99, results.Acquire: 0.99, results.Lag: 0.99, results.Handoff: 0.5, results.Recovery: 0.5,
	} {
		if n := c.Latency[m].Count; n > 0 && !results.Enough(n, q) {
			return true
		}
	}
	return false
}

// blind reports whether no violation of c could have been seen.
func blind(c *results.Cell) bool {
	s := c.Safety
	return s.Violations == 0 && s.Power != nil && s.Power.Watched == 0
}

// violationText tells violations apart that the plan has asked for.
func violationText(c *results.Cell) string {
	if !c.Safety.Checked || blind(c) {
		return format.None
	}
	text := format.Count(c.Safety.Violations)
	if planted := c.Safety.Overstayed; planted > 0 {
		text += " (" + format.Count(planted) + " planted)"
	}
	return text
}

// plan is ...
