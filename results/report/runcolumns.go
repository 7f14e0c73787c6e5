package report

// The columns of a table of cells: the metrics that have one, and what goes with them.

import (
	"cmp"
	"math"
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
	text  func(c *results.Cell) string      // how the value is written; – is not known
	class func(k *results.ClassCell) string // the same of a class; nil: classes do not have it
}

func (c column) head() string { return c.Group + "\n" + c.Title }

// known reports whether the value is known of a cell.
func (c column) known(of *results.Cell) bool { return c.text(of) != format.None }

// beside are the columns that are no metric of a record, by the metric that they follow.
var beside = map[string][]column{
	"locks/s": {
		{Column: metric.Column{Title: "±", Only: severalTrials}, text: func(c *results.Cell) string { return scatter(view.Rate(c)) }},
		ofCell(metric.Column{Title: "offered/s", Drop: 11, Only: (*results.Cell).Open}, metric.PerSecond, offered),
		{
			Column: metric.Column{Title: "dropped", Drop: 3, Only: func(c *results.Cell) bool { return c.Counts.Dropped > 0 }},
			text:   func(c *results.Cell) string { return share(c.Counts.Dropped, c.Counts.Offered) },
			class:  func(k *results.ClassCell) string { return share(k.Counts.Dropped, k.Counts.Offered) },
		},
		waiting(metric.Column{Title: "p50"}, func(l results.Latency) float64 { return l.Quantile(0.5) }),
		waiting(metric.Column{Title: "p99"}, func(l results.Latency) float64 { return l.Quantile(0.99) }),
		{Column: metric.Column{Group: "wait", Title: "p99 ±", Drop: 10, Only: severalTrials},
			text: func(c *results.Cell) string { return scatter(view.Tail(c)) }},
		waiting(metric.Column{Title: "max", Drop: 13}, func(l results.Latency) float64 {
			if l.Count == 0 {
				return math.NaN()
			}
			return float64(l.Max)
		}),
	},
	"recovery.p50": {
		ofCell(metric.Column{Group: "neighbour", Title: "p50 ×", Drop: 4, Only: probed}, metric.Ratio, (*results.Cell).Disturbance),
	},
}

func ofCell(col metric.Column, u *metric.Unit, value func(*results.Cell) float64) column {
	return column{Column: col, text: func(c *results.Cell) string { return u.Format(value(c)) }}
}

// waiting returns a column of how long clients wait for a lock: in an open loop the response, else the acquisition.
func waiting(col metric.Column, of func(results.Latency) float64) column {
	col.Group = "wait"
	return column{
		Column: col,
		text:   func(c *results.Cell) string { return metric.Duration.Format(of(c.Latency[view.Waiting(c)])) },
		class: func(k *results.ClassCell) string {
			l := k.Latency[results.Response]
			if l.Count == 0 {
				l = k.Latency[results.Acquire]
			}
			return metric.Duration.Format(of(l))
		},
	}
}

// scatter returns how far from their median the trials are at the most: the 95 % confidence interval of the median or, of fewer
// trials than that takes, all of them.
func scatter(e stats.Estimate) string {
	if e.N < 2 || e.Known() {
		return view.HalfWidth(e)
	}
	e.Low, e.High = e.Min, e.Max
	return view.HalfWidth(e)
}

// columns are all columns, in their order on the page.
var columns = func() (all []column) {
	for _, m := range metric.All() {
		if m.Column == nil {
			continue
		}
		col, unit := *m.Column, cmp.Or(m.Column.Unit, m.Unit)
		shown := ofCell(col, unit, func(c *results.Cell) float64 {
			if m.Name == "efficiency" && c.Beaten() {
				return math.NaN() // of an estimate that was too low
			}
			return m.Of(c.Figures())
		})
		if col.Classes {
			shown.class = func(k *results.ClassCell) string { return unit.Format(m.Of(k.Figures())) }
		}
		all = append(append(all, shown), beside[m.Name]...)
	}
	return append(all,
		column{Column: metric.Column{Group: "limited", Title: "by", Drop: 2}, text: func(c *results.Cell) string {
			return cmp.Or(string(c.Limit().By), format.None)
		}},
		column{Column: metric.Column{Title: "viol."}, text: violationText})
}()

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

// probed reports whether a neighbour was asked, before the load and under it.
func probed(c *results.Cell) bool { return !math.IsNaN(c.Disturbance()) }

func severalTrials(c *results.Cell) bool { return len(c.Trials) > 1 }

// manyTrials are enough for an interval.
func manyTrials(c *results.Cell) bool { return len(c.Trials) >= stats.MinTrials }

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

// violationText returns how many violations there were, if one could have been seen.
func violationText(c *results.Cell) string {
	if !c.Safety.Checked || blind(c) {
		return format.None
	}
	return format.Count(c.Safety.Violations)
}

// plan is ...
