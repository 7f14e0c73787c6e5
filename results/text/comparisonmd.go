package text

// A comparison as Markdown, for the comment on a pull request or the summary of a step: what came out first, then the
// judged figures, and all that explains them folded away.

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/draw"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/stats"
)

// maxOpenRows is the number of rows of a comment above which those that need no action are folded away.
const maxOpenRows = 12

// The parts of it that have no length of their own, in bytes as they are written: escaped, & takes five. What is left
// after them is for the table of all figures; the three sentences at the top and all of these leave something.
const (
	tableRoom    = 24_000
	findingsRoom = 14_000
	notesRoom    = 8_000
	longText     = 2_000 // of a sentence
	longName     = 200   // of a cell's name
)

// ComparisonMarkdown writes c as GitHub-flavoured Markdown, short enough for a comment. Of a comparison with many
// figures the table that is open at once has those that regressed, are inconclusive or are worse within their limit,
// the worst of them if they are too many; the others, and those that no threshold judges, are below a fold, as many as
// there is room for.
func ComparisonMarkdown(w io.Writer, c *compare.Comparison) error {
	judged, all := newComparison(c, false), newComparison(c, true)
	judged.rows = slices.DeleteFunc(judged.rows, func(r figureRow) bool { return r.Threshold == nil })
	p := &page{}
	p.add("", "**"+sentenceOf(judged.Headline())+"**", "", sentenceOf(judged.title()), "")
	if text := judged.measured(); text != "" {
		p.add("", sentenceOf(text), "")
	}
	open := *judged
	if len(open.rows) > maxOpenRows {
		open.rows = slices.DeleteFunc(slices.Clone(open.rows), func(r figureRow) bool {
			return r.Quiet() || r.Verdict == compare.Improved
		})
	}
	shown := open
	shown.shorten(fullRows)
	if len(shown.rows) > 0 {
		if err := p.markdownTable(&shown, tableRoom); err != nil {
			return err
		}
	}
	whole := *judged
	whole.shorten(fullRows)
	if text := whole.left("in full as CSV or JSON"); text != "" {
		p.add("", text, "")
	}
	var findings []string
	for _, f := range c.Findings() {
		findings = append(findings, f.Lead+" "+f.Text)
	}
	p.list(findings, findingsRoom)
	if notes := judged.notes(fullNotes); len(notes) > 0 {
		p.add("", "", "<details><summary>"+format.Plural(len(notes), "note")+"</summary>", "")
		p.list(notes, notesRoom)
		p.add("", "", "</details>")
	}
	method := "<sub>" + draw.Escape(judged.method()) + "</sub>"
	if room := draw.CommentRoom - p.size() - len(method); len(all.rows) > len(shown.rows) {
		p.add("", "", "<details><summary>All "+format.Plural(len(all.rows), "figure")+"</summary>", "")
		if err := p.markdownTable(all, room-300); err != nil { // with what stands around it
			return err
		}
		p.add("", "</details>")
	}
	p.add("", "", method)
	return p.writeTo(w)
}

// sentenceOf returns text for Markdown, cut if it is very long.
func sentenceOf(text string) string {
	return draw.EscapeWithin(strings.ReplaceAll(text, format.Unbroken, " "), longText)
}

// size returns how many bytes the page has so far.
func (p *page) size() (n int) {
	for _, line := range p.lines {
		n += len(line) + 1
	}
	return n
}

// list adds texts as the items of a list, as many as there is room for.
func (p *page) list(texts []string, room int) {
	for i, text := range texts {
		line := "- " + sentenceOf(text)
		if room -= len(line) + 1; room < 0 {
			p.add("", "- and "+format.Count(int64(len(texts)-i))+" more")
			return
		}
		p.add("", line)
	}
}

// markdownTable writes the rows with the cell of each in a column of its own, if there are several: as many rows as there
// is room for, in bytes.
func (p *page) markdownTable(all *comparison, room int) error {
	const least = 40 // bytes of a row
	t := *all
	t.rows = t.rows[:min(len(t.rows), max(room, 0)/least)]
	g := t.grid(withInterval | withSpread)
	if len(t.Cells) > 1 {
		g.Head, g.Right = append([]string{"cell"}, g.Head...), append([]bool{false}, g.Right...)
		for i, r := range t.rows {
			g.Rows[i] = append([]string{t.Cells[r.cell].Label}, g.Rows[i]...)
		}
	}
	g.Head[len(g.Head)-1] = "verdict"
	for i, r := range t.rows {
		for j := range g.Rows[i] {
			g.Rows[i][j] = draw.EscapeWithin(g.Rows[i][j], longName)
		}
		if r.Verdict == compare.Regressed {
			last := len(g.Rows[i]) - 1
			g.Rows[i][last] = "**" + g.Rows[i][last] + "**"
		}
	}
	lines, err := g.Markdown()
	if err != nil {
		return err
	}
	shown := -2 // the head and the line below it
	for _, line := range lines {
		if room -= len(line) + 1; room < 0 {
			break
		}
		p.add("", line)
		shown++
	}
	if more := len(all.rows) - max(0, shown); more > 0 {
		p.add("", "", "*… and "+format.Plural(more, "row")+" more, for which there is no room here: CSV and JSON have all of them.*")
	}
	p.blank()
	return nil
}

// tags are where HTML begins in Markdown.
var tags = regexp.MustCompile(`<([A-Za-z/!?])`)

// inert returns text of a table in Markdown that has markup of its own: what a record holds must not become HTML, a picture or a link.
func inert(text string) string {
	return strings.ReplaceAll(tags.ReplaceAllString(text, "&lt;$1"), "](", `]\(`)
}

// inertRows makes all cells of g inert.
func inertRows(g grid) grid {
	for _, row := range g.Rows {
		for i := range row {
			row[i] = inert(strings.ReplaceAll(format.Clean(row[i]), format.Unbroken, " "))
		}
	}
	return g
}

// method returns how the verdicts came about.
func (t *comparison) method() string {
	if t.Tests == 0 {
		return fmt.Sprintf("Medians over trials; ± is a 95 %% interval, which takes %d of them.", stats.MinTrials)
	}
	return fmt.Sprintf("Medians over trials; ± is a 95 %% interval, which takes %d of them. %s", stats.MinTrials, t.tested())
}
