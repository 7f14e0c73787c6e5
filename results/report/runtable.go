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

// AllRows returns the table of all cells.
func AllRows(cells []*results.Cell) *Table { return cellTable(view.NewRun(cells), nil) }

// cellTable returns rows of cells, load by load and the best first, with the columns that any of them knows: all, with
// their classes; or for a first screen those that are given, without what locks cost, and of their marks with the first
// and that of an adapter.
func cellTable(v *view.Run, given []*results.Cell) *Table {
	t, short := columns(""), given != nil
	var cellOf []*results.Cell // of each row
	var figures []results.Figures
	for _, g := range v.Groups {
		for i, c := range g.Cells {
			if short && !slices.Contains(given, c) {
				continue
			}
			r := t.row(g.Short[i])
			r.Tone, r.Marks = toneOf(c), marks(c)
			cellOf, figures = append(cellOf, c), append(figures, c.Figures())
			if short {
				r.Cells[0].Text = strings.TrimSuffix(spaced(g.Short[i])+" · "+g.Title, " · ")
				first := r.Marks[:min(1, len(r.Marks))]
				r.Marks = slices.DeleteFunc(r.Marks, func(m Mark) bool { return m != first[0] && m.Code != "bridge" })
				continue
			}
			if i == 0 && len(v.Cells) > 1 { // the head has the load of one
				r.Group = g.Load
			}
			for _, class := range c.Classes {
				t.row(class.Name).Part = true
				cellOf, figures = append(cellOf, c), append(figures, class.Figures())
			}
		}
	}
	if short {
		t.explain()
		t.Rows[0].Group = view.Common(v.Cells, func(a view.Axis) bool { return !a.Load || a.Late })
	}
	for _, col := range cellColumns {
		if short && col.drop >= costs {
			continue
		} else if short {
			col.title = strings.NewReplacer("\n/", "/", "\n", " ").Replace(col.title)
		}
		m, is := metric.Named(col.metric)
		or, either := metric.Named(col.or)
		if is {
			col.about = cmp.Or(col.about, m.About)
		}
		t.Columns = append(t.Columns, Column{Title: col.title, About: col.about, Drop: col.drop})
		for i, f := range figures {
			text := format.None
			switch {
			case t.Rows[i].Part && !col.class:
				text = ""
			case col.open && !cellOf[i].Open():
			case !is:
				text = col.text(cellOf[i])
			case either && math.IsNaN(m.Of(f)):
				text = or.Unit.Format(or.Of(f))
			default:
				text = m.Unit.Format(m.Of(f))
			}
			t.Rows[i].Cells = append(t.Rows[i].Cells, Cell{Text: text})
		}
	}
	return dense(t)
}

// cellColumn is one number of a cell: a metric, or another where that is not known; or a text of its own.
type cellColumn struct {
	title, metric, or string
	drop              int  // see Column
	class             bool // classes of clients have it as well
	open              bool // closed loops do not have it
	about             string
	text              func(*results.Cell) string
}

// costs is the Drop of the first column that is about neither speed nor safety.
const costs = 12

// cellColumns are those of the table of cells. A narrow table drops first what a lock costs, then the share of the
// bound, the hand-off, and where a wait of an open loop came from. It keeps the throughput.
var cellColumns = []cellColumn{
	{title: "locks/s", metric: "locks/s", class: true},
	{title: "±", about: "95 % interval of the median, or the range of fewer trials",
		text: func(c *results.Cell) string { return scatter(view.Rate(c)) }},
	{title: "granted", drop: 3, about: "share of what was asked for", text: granted},
	{title: "wait\np50", about: "in an open loop the response", metric: "response.p50", or: "acquire.p50", class: true},
	{title: "wait\np99", about: "in an open loop the response", metric: "response.p99", or: "acquire.p99", class: true},
	{title: "of\nbound", metric: "efficiency", drop: 12},
	{title: "acquire\np50", metric: "acquire.p50", drop: 7, class: true, open: true},
	{title: "acquire\np99", metric: "acquire.p99", drop: 6, class: true, open: true},
	{title: "lag\np99", metric: "lag.p99", drop: 8},
	{title: "all nodes\np50", metric: "acquire_all.p50", drop: 18},
	{title: "hand-off\np50", metric: "handoff.p50", drop: 9},
	{title: "recovery\np50", metric: "recovery.p50", drop: 5},
	{title: "Jain", metric: "jain", drop: 1, class: true},
	{title: "commands\n/lock", metric: "commands/lock", drop: 15},
	{title: "round trips\n/lock", metric: "round-trips/lock", drop: 14},
	{title: "server CPU\n/lock", metric: "server-cpu/lock", drop: 16},
	{title: "client CPU\n/lock", metric: "client-cpu/lock", drop: 17},
	{title: "neighbour\np50 ×", drop: 4, about: "a request beside the load",
		text: func(c *results.Cell) string { return metric.Ratio.Format(c.Disturbance()) }},
	{title: "limited\nby", drop: 2, about: "see lockbench help marks",
		text: func(c *results.Cell) string { return string(c.Limit().By) }},
	{title: "viol.", about: "grants of a held key; –: none could have been seen",
		text: func(c *results.Cell) string {
			s := c.Safety
			if !s.Checked || s.Violations == 0 && s.Power != nil && s.Power.Watched == 0 {
				return format.None
			}
			return format.Count(s.Violations)
		}},
}
