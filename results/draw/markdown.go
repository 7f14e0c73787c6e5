package draw

import (
	"io"
	"slices"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"

	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/report"
)

// commentRoom is how many bytes a document takes in Markdown at most. GitHub refuses a comment of more than 65,536
// characters; what is left is for who adds to it.
const commentRoom = 60_000

// Markdown writes a document as GitHub-flavoured Markdown that fits into a comment: the end of a longer one is left
// out. It fails with the error of w, to which it writes once.
func Markdown(w io.Writer, d *report.Document) error {
	parts := []string{"**" + literal(sign(d)+d.Title) + "**", literal(d.When)}
	for _, s := range sections(d, false) {
		heading := literal(s.Heading)
		if s.Detail {
			parts = append(parts, "<details><summary>"+heading+"</summary>")
		} else if heading != "" {
			parts = append(parts, "**"+heading+"**")
		}
		for _, b := range s.Blocks {
			for _, text := range b.Text {
				part := literal(text.Text)
				if text.Code {
					part = codeLines("    ", text.Text)
				}
				parts = append(parts, part)
			}
			if b.Table != nil {
				parts = append(parts, markdownTable(b.Table)...)
			}
		}
		if s.Detail {
			parts = append(parts, "</details>")
		}
	}
	parts = slices.DeleteFunc(parts, func(part string) bool { return part == "" })
	text := strings.Join(parts, "\n\n") + "\n"
	if len(text) > commentRoom {
		text = text[:1+strings.LastIndex(text[:commentRoom-100], "\n")]
		if strings.Count(text, "<details>") > strings.Count(text, "</details>") {
			text += "\n</details>\n"
		}
		text += "\n*more in other formats*\n"
	}
	_, err := io.WriteString(w, text)
	return err
}

// markdownTable returns a table and what its marks mean, or a list of facts.
func markdownTable(t *report.Table) []string {
	var list []string
	if t.Columns == nil {
		for _, r := range t.Rows {
			list = append(list, "- "+literal(r.Cells[0].Text+": "+r.Cells[1].Text))
		}
		return []string{strings.Join(list, "\n")}
	}
	// Tablewriter leaves a bar in a cell bare.
	cell := func(c report.Cell) string { return strings.ReplaceAll(literal(oneLine(c.Text)), "|", `\|`) }
	lines := lay(columnsOf(t), cell, tablewriter.WithRenderer(renderer.NewMarkdown()))
	table := lines[:2:2] // the titles and a rule
	for i, line := range lines[2:] {
		if title := cell(report.Cell{Text: t.Rows[i].Group}); title != "" {
			table = append(table, "| **"+title+"** |"+strings.Repeat(" |", len(t.Columns)-1))
		}
		table = append(table, line)
	}
	for _, m := range notes(t) {
		list = append(list, "- "+literal(code(m)+": "+m.Line))
	}
	return []string{strings.Join(table, "\n"), strings.Join(list, "\n")}
}

// literal keeps names of files and servers from becoming markup, or from mentioning a user.
func literal(text string) string { return escapes.Replace(format.Line(text)) }

var escapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `\`, `\\`, "*", `\*`, "_", `\_`, "`", "\\`",
	"[", `\[`, "]", `\]`, "#", `\#`, "~", `\~`, "@", "@\u200b")
