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
	"github.com/lockbench/lockbench/results/view"
)

// cellRow is a cell, or one of its classes.
type cellRow struct {
	cell  *results.Cell
	of    results.Figures
	class bool
	name  string
	load  string // a heading above it; empty: that of the row before
	group string // what tells its load from others
	rank  int    // of those of its load how many are better, or wait longer; below 0: its lock did not exclude
}

// AllRows returns the table of all cells.
func AllRows(cells []*results.Cell) *Table {
	return cellTable(cellRows(view.NewRun(cells)), math.MaxInt)
}

// cellRows returns all cells, those of a load together, each with its classes.
func cellRows(v *view.Run) (all []*cellRow) {
	for _, g := range v.Groups {
		for i, c := range g.Cells {
			r := &cellRow{cell: c, of: c.Figures(), name: g.Short[i], group: g.Title}
			for at, o := range g.Cells {
				if v.Rivals && at < i || !v.Rivals && cmp.Compare(view.P99(o), view.P99(c)) > 0 { // NaN is least
					r.rank++
				}
			}
			if c.Breaches() > 0 {
				r.rank -= len(g.Cells)
			}
			if i == 0 && len(v.Cells) > 1 { // the head has that of one
				r.load = g.Load
			}
			all = append(all, r)
			for _, class := range c.Classes {
				all = append(all, &cellRow{cell: c, of: class.Figures(), class: true, name: class.Name})
			}
		}
	}
	return all
}

// leading returns as many rows as there is room for: those whose lock did not exclude, then the best of each load, and
// so on; of loads that do not compare those with the longest waits. What marks mean stands below the table of all rows.
func leading(v *view.Run, room int) *Table {
	rows := cellRows(v)
	if len(v.Cells) > 1 {
		rows = slices.DeleteFunc(rows, func(r *cellRow) bool { return r.class })
		byRank := func(a, b *cellRow) int { return a.rank - b.rank }
		first := slices.SortedStableFunc(slices.Values(rows), byRank)[:min(room, len(rows))]
		rows = slices.DeleteFunc(rows, func(r *cellRow) bool { return !slices.Contains(first, r) })
		for _, r := range rows {
			r.name, r.load = strings.TrimSuffix(spaced(r.name)+" · "+r.group, " · "), ""
		}
		rows[0].load = view.Common(v.Cells, func(a view.Axis) bool { return !a.Load || a.Late })
	}
	t := cellTable(rows, costs)
	for i := range t.Columns {
		t.Columns[i].Title = strings.NewReplacer("\n/", "/", "\n", " ").Replace(t.Columns[i].Title)
	}
	for i, r := range t.Rows {
		if len(r.Marks) > 0 {
			t.Rows[i].Marks = []Mark{{Code: r.Marks[0].Code, Tone: r.Marks[0].Tone}}
		}
	}
	return t
}

// cellTable returns a row for each cell, with the columns that any of them knows, but for those of a Drop from drop on.
func cellTable(rows []*cellRow, drop int) *Table {
	t := columns("")
	for _, r := range rows {
		row := t.row(r.name)
		if row.Group, row.Part = r.load, r.class; !r.class {
			row.Tone, row.Marks = toneOf(r.cell), marks(r.cell)
		}
	}
	for _, col := range cellColumns {
		if col.drop >= drop {
			continue
		}
		m, is := metric.Named(col.metric)
		if is {
			col.about = m.About
		}
		t.Columns = append(t.Columns, Column{Title: col.title, About: col.about, Drop: col.drop})
		for i, r := range rows {
			text := format.None
			switch {
			case r.class && !col.classes:
				text = ""
			case col.only != nil && !col.only(r.cell):
			case is:
				text = m.Unit.Format(m.Of(r.of))
			default:
				text = col.text(r.cell, r.of)
			}
			t.Rows[i].Cells = append(t.Rows[i].Cells, Cell{Text: text})
		}
	}
	return dense(t)
}

// cellColumn is one number of a cell: a metric, or a text of its own.
type cellColumn struct {
	title, metric string
	drop          int  // see Column
	classes       bool // classes of clients have it as well
	only          func(*results.Cell) bool
	about         string
	text          func(*results.Cell, results.Figures) string // – is not known
}

// costs is the Drop of the first column that is about neither speed nor safety.
const costs = 12

// cellColumns are those of the table of cells. A narrow table drops first what a lock costs, then the share of the
// bound, the hand-off, and where a wait of an open loop came from. It keeps the throughput.
var cellColumns = []cellColumn{
	{title: "locks/s", metric: "locks/s", classes: true},
	{title: "±", about: "95 % interval of the median, or the range of fewer trials",
		text: func(c *results.Cell, _ results.Figures) string { return scatter(view.Rate(c)) }},
	{title: "wait\np50", about: "in an open loop the response", text: wait(0.5), classes: true},
	{title: "wait\np99", about: "in an open loop the response", text: wait(0.99), classes: true},
	{title: "of\nbound", metric: "efficiency", drop: 12, only: func(c *results.Cell) bool { return !c.Beaten() }},
	{title: "acquire\np50", metric: "acquire.p50", drop: 7, only: (*results.Cell).Open, classes: true},
	{title: "acquire\np99", metric: "acquire.p99", drop: 6, only: (*results.Cell).Open, classes: true},
	{title: "lag\np99", metric: "lag.p99", drop: 8},
	{title: "all nodes\np50", metric: "acquire_all.p50", drop: 18},
	{title: "hand-off\np50", metric: "handoff.p50", drop: 9},
	{title: "recovery\np50", metric: "recovery.p50", drop: 5},
	{title: "Jain", metric: "jain", drop: 1, classes: true},
	{title: "commands\n/lock", metric: "commands/lock", drop: 15},
	{title: "round trips\n/lock", metric: "round-trips/lock", drop: 14},
	{title: "server CPU\n/lock", metric: "server-cpu/lock", drop: 16},
	{title: "client CPU\n/lock", metric: "client-cpu/lock", drop: 17},
	{title: "neighbour\np50 ×", drop: 4, about: "a request beside the load",
		text: func(c *results.Cell, _ results.Figures) string { return metric.Ratio.Format(c.Disturbance()) }},
	{title: "limited\nby", drop: 2, about: "see lockbench help marks",
		text: func(c *results.Cell, _ results.Figures) string { return string(c.Limit().By) }},
	{title: "viol.", about: "grants of a held key; –: none could have been seen",
		text: func(c *results.Cell, _ results.Figures) string {
			if s := c.Safety; s.Checked && (s.Violations > 0 || s.Power == nil || s.Power.Watched > 0) {
				return format.Count(s.Violations)
			}
			return format.None
		}},
}

// wait returns a quantile of what clients felt.
func wait(q float64) func(*results.Cell, results.Figures) string {
	return func(_ *results.Cell, f results.Figures) string {
		l := f.Latency[results.Response]
		if l.Count == 0 {
			l = f.Latency[results.Acquire]
		}
		return duration(l.Quantile(q))
	}
}
