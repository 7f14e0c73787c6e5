package report

// The table of cells: the metrics that have a column, and what goes with them.

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

// cellColumn is one number of a cell.
type cellColumn struct {
	metric.Column
	about string
	text  func(c *results.Cell) string      // – is not known
	class func(k *results.ClassCell) string // the same of a class; nil: classes do not have it
}

// cellTable returns a row for each cell, those of a load together and the best of them first, with classes below it.
func cellTable(v *view.Run) *Table {
	t, shown := columns(""), []cellColumn{}
	for _, col := range cellColumns() {
		known := func(c *results.Cell) bool { return col.text(c) != format.None }
		title := strings.TrimPrefix(col.Group+"\n"+col.Title, "\n")
		switch {
		case col.Only != nil && !slices.ContainsFunc(v.Cells, col.Only), col.Drop > 0 && !slices.ContainsFunc(v.Cells, known):
			continue
		}
		shown, t.Columns = append(shown, col), append(t.Columns, Column{Title: title, About: col.about, Drop: col.Drop})
	}
	for _, g := range v.Groups {
		order := g.Index // the only group, in its own order
		if v.Rivals {
			order = g.Best()
		}
		for i, at := range order {
			c := g.Cells[at]
			r := t.row(g.Short[at])
			if len(v.Cells) > 1 { // facts have those of one
				r.Marks = marks(c)
			}
			if r.Tone = toneOf(c); i == 0 {
				r.Group = strings.TrimPrefix(g.Load, ", ")
			}
			for _, col := range shown {
				r.Cells = append(r.Cells, Cell{Text: col.text(c)})
			}
			for k := range c.Classes {
				part := t.row(c.Classes[k].Name)
				part.Part = true
				for _, col := range shown {
					text := ""
					if col.class != nil {
						text = col.class(&c.Classes[k])
					}
					part.Cells = append(part.Cells, Cell{Text: text})
				}
			}
		}
	}
	return t
}

// toneOf returns the tone of a row: bad for a broken promise, a warning for figures that are doubtful.
func toneOf(c *results.Cell) Tone {
	switch {
	case c.Violated():
		return Bad
	case c.Breaches() > 0 || doubtsOf(c) != nil:
		return Warn
	}
	return Plain
}

// cellColumns returns all columns in their order.
func cellColumns() (all []cellColumn) {
	trials := func(c *results.Cell) bool { return len(c.Trials) > 1 }
	wait := func(title string, drop int, of func(results.Latency) float64) cellColumn {
		return cellColumn{metric.Column{Group: "wait", Title: title, Drop: drop}, "for a lock; in an open loop the response",
			func(c *results.Cell) string { return duration(of(c.Latency[view.Waiting(c)])) },
			func(k *results.ClassCell) string {
				if l := k.Latency[results.Response]; l.Count > 0 {
					return duration(of(l))
				}
				return duration(of(k.Latency[results.Acquire]))
			}}
	}
	rates := []cellColumn{
		{metric.Column{Title: "±", Only: trials}, "95 % interval of the median, or the range of fewer trials",
			func(c *results.Cell) string { return scatter(view.Rate(c)) }, nil},
		{metric.Column{Title: "offered/s", Drop: 11, Only: (*results.Cell).Open}, "arrivals that were due",
			func(c *results.Cell) string { return metric.PerSecond.Format(offered(c)) }, nil},
		{metric.Column{Title: "dropped", Drop: 3, Only: func(c *results.Cell) bool { return c.Counts.Dropped > 0 }},
			"share of the arrivals that found the queue full",
			func(c *results.Cell) string { return share(c.Counts.Dropped, c.Counts.Offered) },
			func(k *results.ClassCell) string { return share(k.Counts.Dropped, k.Counts.Offered) }},
		wait("p50", 0, func(l results.Latency) float64 { return l.Quantile(0.5) }),
		wait("p99", 0, func(l results.Latency) float64 { return l.Quantile(0.99) }),
		{metric.Column{Group: "wait", Title: "p99 ±", Drop: 10, Only: trials}, "over the trials, each one's own",
			func(c *results.Cell) string { return scatter(view.Tail(c)) }, nil},
		wait("max", 13, longest),
	}
	for _, m := range metric.All() {
		if m.Column == nil {
			continue
		}
		unit := cmp.Or(m.Column.Unit, m.Unit)
		col := cellColumn{Column: *m.Column, about: m.About, text: func(c *results.Cell) string {
			if m.Name == "efficiency" && c.Beaten() {
				return format.None // the bound is an estimate, and was too low
			}
			return unit.Format(m.Of(c.Figures()))
		}}
		if col.Classes {
			col.class = func(k *results.ClassCell) string { return unit.Format(m.Of(k.Figures())) }
		}
		if all = append(all, col); m.Name == "locks/s" {
			all = append(all, rates...)
		}
	}
	neighbour := func(c *results.Cell) string { return metric.Ratio.Format(c.Disturbance()) }
	limit := func(c *results.Cell) string { return cmp.Or(string(c.Limit().By), format.None) }
	return append(all,
		cellColumn{metric.Column{Group: "neighbour", Title: "p50 ×", Drop: 4}, "a request beside the load", neighbour, nil},
		cellColumn{metric.Column{Group: "limited", Title: "by", Drop: 2}, "see lockbench help marks", limit, nil},
		cellColumn{metric.Column{Title: "viol."}, "grants of a held key; –: none could have been seen", violations, nil})
}

// violations returns how many there were, if one could have been seen.
func violations(c *results.Cell) string {
	if s := c.Safety; !s.Checked || s.Violations == 0 && s.Power != nil && s.Power.Watched == 0 {
		return format.None
	}
	return format.Count(c.Safety.Violations)
}

func longest(l results.Latency) float64 {
	if l.Count == 0 {
		return math.NaN()
	}
	return float64(l.Max)
}

// scatter returns how far from their median trials are at the most: its 95 % interval or, of too few for one, all of
// them.
func scatter(e stats.Estimate) string {
	if e.N > 1 && !e.Known() {
		e.Low, e.High = e.Min, e.Max
	}
	return view.HalfWidth(e)
}

// offered returns the rate of the arrivals, the median over trials. Of a number of operations it is not known: all may
// have been due long before the window ends, with the last of them.
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
