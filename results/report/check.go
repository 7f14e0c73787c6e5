package report

// What became of the thresholds of a run.

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/format"
)

// passesShown is how many thresholds that passed have a line each; more of them are counted.
const passesShown = 20

// How verdicts of a check are drawn; the others are bad.
var (
	checkTones = map[compare.Verdict]Tone{compare.Inconclusive: Warn, compare.Passed: Good}
	checkMarks = map[compare.Verdict]string{compare.Inconclusive: "?", compare.Passed: "✓"}
)

// thresholds returns a line for each threshold and cell, the worst first, and then for the objective of the workload; nil if there are
// none.
func thresholds(c *compare.Check) (lines List) {
	if c == nil {
		return nil
	}
	for _, l := range thresholds(c.Objective) {
		l.Text = "slo: " + l.Text
		lines = append(lines, l)
	}
	if len(c.Thresholds) == 0 {
		return lines
	}
	add := func(v compare.Verdict, text string) {
		lines = append(lines, Item{Mark: cmp.Or(checkMarks[v], "✗"), Tone: cmp.Or(checkTones[v], Bad), Text: text})
	}
	for _, label := range c.Missing {
		add(compare.Inconclusive, label+": "+compare.NotRun.About())
	}
	passes := 0
	for _, l := range c.Limits() {
		if l.Verdict == compare.Passed {
			if passes++; passes > passesShown {
				continue
			}
		}
		text := l.Sentence()
		if label := c.Cells[l.Cell].Label; label != "" {
			text = label + ": " + text
		}
		add(l.Verdict, text)
	}
	if more := passes - passesShown; more > 0 {
		add(compare.Passed, fmt.Sprintf("%s more passed", format.Count(more)))
	}
	slices.SortStableFunc(lines, func(a, b Item) int { return cmp.Compare(b.Tone, a.Tone) })
	return lines
}
