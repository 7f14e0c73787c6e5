package text

// What became of the thresholds of a run: a line each, above what the run has to say.

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/format"
)

// passesShown is how many thresholds that passed have a line each; more of them are counted.
const passesShown = 20

// marks are how verdicts are drawn.
var marks = map[compare.Verdict]struct{ color, mark string }{
	compare.Violated: {red, "✗ "}, compare.Missed: {red, "✗ "}, compare.Inconclusive: {yellow, "? "}, compare.Passed: {green, "✓ "},
}

// Check writes a line for each threshold and cell, the worst first, and a blank line below them; nothing if no threshold was
// asked for.
func Check(w io.Writer, c *compare.Check, o Options) error {
	if len(c.Thresholds) == 0 {
		return nil
	}
	p := &page{width: o.Width, color: o.Color}
	if p.width <= 0 {
		p.width = defaultWidth
	}
	for _, l := range checkLines(c) {
		p.para(marks[l.verdict].color, marks[l.verdict].mark, l.text)
	}
	p.blank()
	return p.writeTo(w)
}

// CheckMarkdown is Check for Markdown.
func CheckMarkdown(w io.Writer, c *compare.Check) error {
	if len(c.Thresholds) == 0 {
		return nil
	}
	p := &page{}
	var items []string
	for _, l := range checkLines(c) {
		items = append(items, marks[l.verdict].mark+l.text)
	}
	p.list(items, findingsRoom)
	p.blank()
	return p.writeTo(w)
}

// checkLine is what is said of one threshold in one cell.
type checkLine struct {
	verdict compare.Verdict
	text    string
}

func checkLines(c *compare.Check) (lines []checkLine) {
	for _, label := range c.Missing {
		lines = append(lines, checkLine{compare.Inconclusive, label + ": " + compare.NotRun.About()})
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
		lines = append(lines, checkLine{l.Verdict, text})
	}
	if more := passes - passesShown; more > 0 {
		lines = append(lines, checkLine{compare.Passed, fmt.Sprintf("%s more passed", format.Count(more))})
	}
	slices.SortStableFunc(lines, func(a, b checkLine) int {
		return cmp.Compare(slices.Index(compare.CheckVerdicts, a.verdict), slices.Index(compare.CheckVerdicts, b.verdict))
	})
	return lines
}
