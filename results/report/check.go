package report

// The document of a check: what became of the thresholds of a run.

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/format"
)

// passesShown is how many thresholds that passed have a line each; more of them are counted.
const passesShown = 20

// Check returns a line for each threshold and cell, the worst first; nil if no threshold was asked for.
func Check(c *compare.Check) *Document {
	if c == nil || len(c.Thresholds) == 0 {
		return nil
	}
	tones := map[compare.Verdict]Tone{compare.Inconclusive: Warn, compare.Passed: Good}
	marks := map[compare.Verdict]string{compare.Inconclusive: "?", compare.Passed: "✓"}
	var lines []Item
	add := func(v compare.Verdict, text string) {
		lines = append(lines, Item{Mark: cmp.Or(marks[v], "✗"), Tone: cmp.Or(tones[v], Bad), Text: text})
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
	return &Document{Kind: "lockbench report", Blocks: []Block{List(lines)}}
}
