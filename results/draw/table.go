package draw

// Tables as text: a thin layer over tablewriter.

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/tw"

	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/report"
)

// keeping returns a table with those of its columns for which keep holds, and a cell for each of them in all rows.
func keeping(t *report.Table, keep func(col int) bool) *report.Table {
	kept := &report.Table{}
	for _, r := range t.Rows {
		cells := append(slices.Clone(r.Cells), make([]report.Cell, len(t.Columns))...)
		r.Cells = nil
		for col := range t.Columns {
			if keep(col) {
				r.Cells = append(r.Cells, cells[col])
			}
		}
		kept.Rows = append(kept.Rows, r)
	}
	for col, c := range t.Columns {
		if keep(col) {
			kept.Columns = append(kept.Columns, c)
		}
	}
	return kept
}

// folded returns a table with a column wrapped, and with the marks below it.
func folded(t *report.Table, col, room int) *report.Table {
	folded := keeping(t, func(int) bool { return true })
	for i, r := range folded.Rows {
		var lines []string
		for text := range strings.SplitSeq(strings.TrimSpace(r.Cells[col].Text+"\n"+marks(r).Text), "\n") {
			lines = append(lines, format.Wrap("", format.Clean(text), room)...)
		}
		r.Cells[col] = report.Cell{Text: strings.Join(lines, "\n  "), Tone: max(r.Cells[col].Tone, marks(r).Tone)}
		folded.Rows[i].Marks = nil
	}
	return folded
}

// head is the tone of a title.
const head report.Tone = -1

// tableLines lays a table out, with its marks in a column of their own. Cells are as cell writes them; before the first
// row and before each group stands what group returns for its title. Tablewriter changes no text.
func tableLines(t *report.Table, cell func(report.Cell) string, group func(string) string,
	options ...tablewriter.Option) ([]string, error) {
	columns := slices.Clone(t.Columns)
	if marked(t) {
		columns = append(columns, report.Column{Left: true})
	}
	titles, aligns := make([]string, len(columns)), make([]tw.Align, len(columns))
	for i, c := range columns {
		titles[i], aligns[i] = cell(report.Cell{Text: c.Title, Tone: head}), tw.AlignRight
		if c.Left {
			aligns[i] = tw.AlignLeft
		}
	}
	var rows [][]string
	for i, r := range t.Rows {
		if title := group(r.Group); title != "" && (i == 0 || r.Group != "") {
			rows = append(rows, append([]string{title}, make([]string, len(columns)-1)...))
		}
		row := make([]string, len(columns))
		for col, c := range r.Cells {
			row[col] = cell(report.Cell{Text: c.Text, Tone: max(r.Tone, c.Tone)})
		}
		if r.Part {
			row[0] = "  " + row[0]
		}
		if marked(t) {
			row[len(row)-1] = cell(marks(r))
		}
		rows = append(rows, row)
	}
	var out bytes.Buffer
	table := tablewriter.NewTable(&out, append([]tablewriter.Option{
		tablewriter.WithEastAsian(tw.Off),
		tablewriter.WithHeaderAutoFormat(tw.Off),
		tablewriter.WithHeaderAutoWrap(tw.WrapNone),
		tablewriter.WithRowAutoWrap(tw.WrapNone),
		tablewriter.WithTrimSpace(tw.Off),
		tablewriter.WithHeaderAlignmentConfig(tw.CellAlignment{PerColumn: aligns}),
		tablewriter.WithRowAlignmentConfig(tw.CellAlignment{PerColumn: aligns}),
	}, options...)...)
	table.Header(titles)
	err := table.Bulk(rows)
	if err == nil {
		err = table.Render()
	}
	if err != nil {
		return nil, fmt.Errorf("draw: table: %w", err)
	}
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n"), nil
}

func marked(t *report.Table) bool {
	return slices.ContainsFunc(t.Rows, func(r report.Row) bool { return r.Marks != nil })
}

// marks returns the marks of a row as a cell.
func marks(r report.Row) (c report.Cell) {
	var words []string
	for _, m := range r.Marks {
		words, c.Tone = append(words, code(m)), max(c.Tone, m.Tone)
	}
	c.Text = strings.Join(words, ", ")
	return c
}
