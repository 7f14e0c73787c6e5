package draw

// Tables as text, for a terminal and in Markdown: a thin layer over tablewriter.

import (
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/tw"

	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/report"
)

// head is the tone of a title.
const head report.Tone = -1

// column is a column of a table as text: its title, and a cell of each row.
type column struct {
	report.Column
	cells []report.Cell
	marks bool // they are those of the rows
}

// columnsOf returns the columns of a table, without control characters. Marks have one of their own, the last.
func columnsOf(t *report.Table) (all []column) {
	for i, c := range t.Columns {
		all = append(all, column{Column: c, cells: []report.Cell{{Text: codeLines("", c.Title), Tone: head}}})
		for _, r := range t.Rows {
			cell := report.Cell{Text: codeLines("", r.Cells[i].Text), Tone: max(r.Tone, r.Cells[i].Tone)}
			if i == 0 && r.Part {
				cell.Text = "└ " + cell.Text
			}
			all[i].cells = append(all[i].cells, cell)
		}
	}
	marks := column{report.Column{Left: true}, make([]report.Cell, 1), true}
	for _, r := range t.Rows {
		marks.cells = append(marks.cells, markCell(r))
	}
	if marks.width() > 0 {
		all = append(all, marks)
	}
	return all
}

// markCell returns the marks of a row as they stand beside it.
func markCell(r report.Row) (c report.Cell) {
	var codes []string
	for _, m := range r.Marks {
		codes, c.Tone = append(codes, code(m)), max(c.Tone, m.Tone)
	}
	c.Text = strings.Join(codes, ", ")
	return c
}

// width returns how many columns of a terminal it takes.
func (c column) width() (width int) {
	for _, cell := range c.cells {
		for line := range strings.SplitSeq(cell.Text, "\n") {
			width = max(width, format.Width(line))
		}
	}
	return width
}

// wrap wraps the texts of a column.
func (c column) wrap(room int) {
	for i, cell := range c.cells {
		var lines []string
		for line := range strings.SplitSeq(cell.Text, "\n") {
			lines = append(lines, format.Wrap("", line, room-2)...)
		}
		c.cells[i].Text = strings.Join(lines, "\n  ")
	}
}

// lay lays columns out, with cells as cell writes them. Tablewriter changes no text.
func lay(columns []column, cell func(report.Cell) string, options ...tablewriter.Option) []string {
	rows, aligns := make([][]string, len(columns[0].cells)), tw.CellAlignment{}
	for _, c := range columns {
		align := map[bool]tw.Align{true: tw.AlignLeft, false: tw.AlignRight}[c.Left]
		aligns.PerColumn = append(aligns.PerColumn, align)
		for row := range rows {
			rows[row] = append(rows[row], cell(c.cells[row]))
		}
	}
	var out strings.Builder
	table := tablewriter.NewTable(&out, append([]tablewriter.Option{
		tablewriter.WithEastAsian(tw.Off), tablewriter.WithTrimSpace(tw.Off), tablewriter.WithTrimLine(tw.Off),
		tablewriter.WithHeaderAutoFormat(tw.Off), tablewriter.WithHeaderAutoWrap(tw.WrapNone),
		tablewriter.WithHeaderAlignmentConfig(aligns),
		tablewriter.WithRowAutoWrap(tw.WrapNone), tablewriter.WithRowAlignmentConfig(aligns),
	}, options...)...)
	table.Header(rows[0])
	_, _ = table.Bulk(rows[1:]), table.Render() // texts that go to memory: there is nothing that could fail
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
}
