package render

// A comparison as Markdown, for the comment on a pull request or the summary of a step: what came out first, then the
// judged figures, and all that explains them folded away.

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/stats"
)

// maxOpenRows is how many rows a comment may have before those that nobody has to look at are folded away.
const maxOpenRows = 12

// ComparisonMarkdown writes c as GitHub-flavoured Markdown. Of a comparison with many figures the table that is open at
// once has those that regressed or are inconclusive; the others, and those that no threshold judges, are below a fold.
func ComparisonMarkdown(w io.Writer, c *compare.Comparison) error {
	judged, all := newComparison(c, false), newComparison(c, true)
	judged.rows = slices.DeleteFunc(judged.rows, func(r figureRow) bool { return r.Threshold == nil })
	p := &page{}
	p.add("", "**"+escaped(judged.summary())+"**", "", escaped(strings.ReplaceAll(judged.title(), unbroken, " ")), "")
	if text := judged.measured(); text != "" {
		p.add("", escaped(strings.ReplaceAll(text, unbroken, " ")), "")
	}
	open := *judged
	if len(open.rows) > maxOpenRows {
		open.rows = slices.DeleteFunc(slices.Clone(open.rows), func(r figureRow) bool {
			return r.Verdict == compare.Unchanged || r.Verdict == compare.Improved
		})
	}
	if len(open.rows) > 0 {
		if err := p.markdownTable(&open); err != nil {
			return err
		}
	}
	for _, text := range open.reasons() {
		p.add("", "- "+escaped(text))
	}
	if notes := judged.notes(); len(notes) > 0 {
		p.add("", "", "<details><summary>"+Many(int64(len(notes)), "note")+"</summary>", "")
		for _, text := range notes {
			p.add("", "- "+escaped(text))
		}
		p.add("", "", "</details>")
	}
	if len(all.rows) > len(open.rows) {
		p.add("", "", "<details><summary>All "+Many(int64(len(all.rows)), "figure")+"</summary>", "")
		if err := p.markdownTable(all); err != nil {
			return err
		}
		p.add("", "</details>")
	}
	p.add("", "", "<sub>"+escaped(judged.method())+"</sub>")
	return p.writeTo(w)
}

// markdownTable writes the rows with the cell of each in a column of its own, if there are several.
func (p *page) markdownTable(t *comparison) error {
	g := t.grid(withInterval | withSpread)
	if len(t.Cells) > 1 {
		g.head, g.right = append([]string{"cell"}, g.head...), append([]bool{false}, g.right...)
		for i, r := range t.rows {
			g.rows[i] = append([]string{t.Cells[r.cell].Label}, g.rows[i]...)
		}
	}
	g.head[len(g.head)-1] = "verdict"
	for i, r := range t.rows {
		for j := range g.rows[i] {
			g.rows[i][j] = escaped(g.rows[i][j])
		}
		if r.Verdict == compare.Regressed {
			last := len(g.rows[i]) - 1
			g.rows[i][last] = "**" + g.rows[i][last] + "**"
		}
	}
	lines, err := g.markdown()
	p.add("", lines...)
	p.blank()
	return err
}

// escaped is text that Markdown takes as it is: names of files and servers must not become markup, nor mention anybody.
func escaped(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `\`, `\\`, "*", `\*`, "_", `\_`, "`", "\\`", "[", `\[`, "]", `\]`, "#", `\#`, "~", `\~`,
		"@", "@\u200b").Replace(clean(text))
}

// tags are where HTML begins in Markdown.
var tags = regexp.MustCompile(`<([A-Za-z/!?])`)

// inert is text of a table in Markdown that has markup of its own: what a record holds must not become HTML, a picture or a link.
func inert(text string) string {
	return strings.ReplaceAll(tags.ReplaceAllString(text, "&lt;$1"), "](", `]\(`)
}

// inertRows makes all cells of g inert.
func inertRows(g grid) grid {
	for _, row := range g.rows {
		for i := range row {
			row[i] = inert(strings.ReplaceAll(clean(row[i]), unbroken, " "))
		}
	}
	return g
}

// method says how the verdicts came about.
func (t *comparison) method() string {
	if t.Tests == 0 {
		return fmt.Sprintf("Medians over trials; ± is a 95 %% interval, which takes %d of them.", stats.MinTrials)
	}
	return fmt.Sprintf("Medians over trials; ± is a 95 %% interval, which takes %d of them. %s", stats.MinTrials, t.tested())
}
