package export

// Judged results, of a comparison or of a run by itself, as JUnit and GitHub draw them.

import (
	"fmt"
	"math"

	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/stats"
)

// outcome is what a CI server makes of a judged result.
type outcome int

const (
	passed outcome = iota
	improved
	skipped // nothing can be told
	failed
)

// judged is a threshold of a cell and what became of it.
type judged struct {
	cell, name string // the label of the cell, empty if there is only one; the threshold as it was written
	outcome    outcome
	verdict    string
	reason     compare.Reason
	message    string   // a sentence
	skip       string   // why nothing can be told
	p          string   // that of a test, or nothing
	details    []string // lines below it
	worst      int      // its place among all, the worst first
	counts     bool     // it has a part in the verdict of the whole
}

// judgedOf returns what is judged in a comparison, cell by cell.
func judgedOf(c *compare.Comparison) (list []judged) {
	place := map[*compare.Result]int{}
	for i, r := range c.Judged() {
		place[r.Result] = i
	}
	outcomes := map[compare.Verdict]outcome{compare.Regressed: failed, compare.Inconclusive: skipped, compare.Improved: improved}
	for _, cell := range c.Cells {
		for i := range cell.Figures {
			r := &cell.Figures[i]
			if r.Threshold == nil {
				continue
			}
			one := judged{
				cell: cell.Label, name: r.Threshold.Text, outcome: outcomes[r.Verdict], verdict: string(r.Verdict), reason: r.Reason,
				message: sentence(r), skip: fmt.Sprintf("inconclusive (%s): %s", r.Reason, r.Why), details: details(r, cell.Notes), worst: place[r], counts: true,
			}
			if r.Threshold.Relative && !math.IsNaN(r.P) {
				one.p = format.P(r.P)
			}
			list = append(list, one)
		}
	}
	return list
}

// details returns the lines that stand below a result.
func details(r *compare.Result, notes []string) []string {
	side := func(name string, e stats.Estimate) string {
		text := name + r.Figure.Unit.Format(e.Median)
		if e.Known() {
			text += fmt.Sprintf(" (%s to %s)", r.Figure.Unit.Format(e.Low), r.Figure.Unit.Format(e.High))
		}
		return text + ", " + format.Plural(e.N, "trial")
	}
	lines := []string{side("base    ", r.Change.Base), side("head    ", r.Change.Head)}
	if c := r.Change; !math.IsNaN(c.Ratio) {
		change := "change  " + format.Change(c.Ratio-1)
		if !math.IsNaN(c.Low) && !math.IsNaN(c.High) {
			change += fmt.Sprintf(" (%s to %s)", format.Change(c.Low-1), format.Change(c.High-1))
		}
		lines = append(lines, change)
	}
	if !math.IsNaN(r.P) {
		lines = append(lines, "p       "+format.P(r.P))
	}
	lines = append(lines, "verdict "+string(r.Verdict), sentence(r))
	return append(lines, plains(notes)...)
}

// judgedIn returns what is judged in a run by itself, cell by cell: mutual exclusion, and each threshold.
func judgedIn(c *compare.Check) (list []judged) {
	place := map[*compare.Limit]int{}
	for i, l := range c.Limits() {
		place[l.Limit] = i
	}
	outcomes := map[compare.Verdict]outcome{compare.Violated: failed, compare.Missed: failed, compare.Inconclusive: skipped}
	for _, cell := range c.Cells {
		for i := range cell.Limits {
			l := &cell.Limits[i]
			text := plain(l.Sentence())
			list = append(list, judged{
				cell: cell.Label, name: l.Name(), outcome: outcomes[l.Verdict], verdict: string(l.Verdict), reason: l.Reason,
				message: text, skip: fmt.Sprintf("inconclusive (%s): %s", l.Reason, text), worst: place[l], counts: l.Counts(),
				details: []string{text, "verdict " + string(l.Verdict), format.Plural(len(cell.Trials), "trial"), plain(cell.Plan().Command)},
			})
		}
	}
	for _, label := range c.Missing {
		list = append(list, judged{
			cell: label, name: "all", outcome: skipped, verdict: string(compare.Inconclusive), reason: compare.NotRun,
			skip: compare.NotRun.About(), message: compare.NotRun.About(), worst: len(list), counts: len(c.Thresholds) > 0,
		})
	}
	return list
}

// words returns reasons as programs read them.
func words(reasons []compare.Reason) []string {
	list := []string{}
	for _, r := range reasons {
		list = append(list, string(r))
	}
	return list
}
