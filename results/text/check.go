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

// colors are how verdicts are drawn.
var colors = map[compare.Verdict]string{compare.Violated: red, compare.Missed: red, compare.Inconclusive: yellow, compare.Passed: green}

// Check writes a line for each threshold and cell, the worst first, and a blank line below them; nothing if no threshold was
// asked for.
func Check(w io.Writer, c *compare.Check, o Options) error {
	lines := CheckLines(c)
	if len(lines) == 0 {
		return nil
	}
	p := &page{width: o.Width, color: o.Color}
	if p.width <= 0 {
		p.width = defaultWidth
	}
	for _, l := range lines {
		p.para(colors[l.Verdict], l.Mark+" ", l.Text)
	}
	p.blank()
	return p.writeTo(w)
}

// CheckMarkdown is Check for Markdown.
func CheckMarkdown(w io.Writer, c *compare.Check) error {
	var items []string
	for _, l := range CheckLines(c) {
		items = append(items, l.Mark+" "+l.Text)
	}
	if len(items) == 0 {
		return nil
	}
	p := &page{}
	p.list(items, findingsRoom)
	p.blank()
	return p.writeTo(w)
}

// CheckLine is what is said of one threshold in one cell.
type CheckLine struct {
	Verdict compare.Verdict
	Mark    string // ✓, ✗ or ?
	Text    string
}

// CheckLines returns a line for each threshold and cell, the worst first; none if no threshold was asked for. Of those that
// passed, the last line counts all beyond the first few.
func CheckLines(c *compare.Check) (lines []CheckLine) {
	if len(c.Thresholds) == 0 {
		return nil
	}
	add := func(v compare.Verdict, text string) {
		mark := map[compare.Verdict]string{compare.Inconclusive: "?", compare.Passed: "✓"}[v]
		lines = append(lines, CheckLine{v, cmp.Or(mark, "✗"), text})
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
	slices.SortStableFunc(lines, func(a, b CheckLine) int {
		return cmp.Compare(slices.Index(compare.CheckVerdicts, a.Verdict), slices.Index(compare.CheckVerdicts, b.Verdict))
	})
	return lines
}
