package html

// The tables of a comparison: every figure of every cell with its reason.

import (
	"fmt"

	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/text"
)

const (
	shownQuiet      = 10  // rows of a table in which nothing has changed
	foldedUnchanged = 200 // rows of a table that need no action
	foldedUnjudged  = 100 // rows of a figure that no threshold judges
)

// changeTable has a row a cell, the worst first.
type changeTable struct {
	Title, About string
	First        string // head of the first column
	Rows, More   []changeRow
	Summary      string // of the fold
	Left         int    // rows that are not there, of what has not changed
	Judged       bool
}

// Folded returns what is below the fold, as a table.
func (t changeTable) Folded() changeTable {
	t.Rows = t.More
	return t
}

// LeftOut returns how many rows there are not.
func (t changeTable) LeftOut() string {
	where := format.Plural(t.Left, "more row") + "%s left out here, and are in the CSV and JSON of the comparison."
	if t.Judged {
		return fmt.Sprintf(where, " without a change are")
	}
	return "Those that moved the most; " + fmt.Sprintf(where, " are")
}

type changeRow struct {
	ID, Name             string
	Base, Head           string
	Change, Interval, P  string
	Mark, Verdict, Class string
	Why                  string
}

func (t *twoSides) tables(list []judgement) (all []changeTable) {
	if t.single() && len(list) > 0 {
		one := changeTable{First: "figure", Judged: list[0].Threshold != nil}
		for _, g := range list {
			one.Rows = append(one.Rows, t.changeRow(g.results[0]))
		}
		return []changeTable{one}
	}
	for _, g := range list {
		all = append(all, t.table(g))
	}
	return all
}

// table returns that of a judgement. Of rows that say nothing new there are so many at the most.
func (t *twoSides) table(g judgement) changeTable {
	one := changeTable{Title: g.Metric.Name, About: format.Upper(g.Metric.About), First: "cell", Judged: g.Threshold != nil}
	if better := betterWhen(g.Metric); better != "" {
		one.About += "; " + better
	}
	open, room := 0, foldedUnjudged
	if g.Threshold != nil {
		one.Title, room = g.Threshold.Limit(), foldedUnchanged
	}
	for i, r := range g.results {
		quiet := r.Threshold == nil || r.Quiet()
		if quiet {
			if room--; room < 0 {
				one.Left = len(g.results) - i
				break
			}
		} else if open < shownTable {
			open++
		}
		one.Rows = append(one.Rows, t.changeRow(r))
	}
	if most := map[bool]int{true: shownQuiet, false: shownTable + 4}[open == 0]; len(one.Rows) <= most {
		return one
	}
	if g.Threshold == nil {
		open = shownQuiet
	}
	one.Rows, one.More = one.Rows[:open:open], one.Rows[open:]
	one.Summary = format.Plural(len(one.More), "row")
	if open > 0 {
		one.Summary = format.Plural(len(one.More), "more row")
	}
	if one.Left > 0 {
		one.Summary += fmt.Sprintf(" of %s", format.Count(int64(len(g.results)-open)))
	}
	return one
}

func (t *twoSides) changeRow(r judged) changeRow {
	row := changeRow{
		ID: anchor(r), Name: t.name(r), Base: text.Spread(r.Figure, r.Change.Base), Head: text.Spread(r.Figure, r.Change.Head),
		Change: format.Change(r.Change.Ratio - 1), Interval: text.ChangeInterval(r.Change), P: text.P(r.Result),
		Mark: mark(r.Verdict), Verdict: text.Verdict(r.Result), Class: class(r.Verdict), Why: format.Upper(format.Line(r.Why)),
	}
	if row.Why != "" {
		row.Why += "."
	}
	if more := compare.Needs(r.Result); more != "" {
		row.Why += " " + more
	}
	return row
}
