package draw

// Tables as text: a thin layer over tablewriter.

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"

	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/report"
)

// grid is a table as texts.
type grid struct {
	Head  []string // one cell a column; a line break splits it
	Right []bool   // columns that are aligned right
	Rows  [][]string
}

const gap = 2 // blanks between two columns of a terminal

// gridOf returns a table as texts, which clean makes harmless. Marks are a column of their own.
func gridOf(of *report.Table, clean func(string) string) (g grid) {
	marked := slices.ContainsFunc(of.Rows, func(r report.Row) bool { return r.Marks != nil })
	for _, c := range of.Columns {
		g.Head, g.Right = append(g.Head, c.Title), append(g.Right, !c.Left)
	}
	if marked {
		g.Head, g.Right = append(g.Head, ""), append(g.Right, false)
	}
	for _, r := range of.Rows {
		row := make([]string, len(of.Columns), len(g.Head))
		for i := range row {
			if i < len(r.Cells) {
				row[i] = clean(r.Cells[i].Text)
			}
		}
		if r.Part {
			row[0] = "  " + row[0]
		}
		if marked {
			var words []string
			for _, m := range r.Marks {
				words = append(words, clean(code(m)))
			}
			row = append(row, strings.Join(words, ", "))
		}
		g.Rows = append(g.Rows, row)
	}
	return g
}

// width returns how many columns of a terminal the longest line takes.
func (g grid) width() int {
	total := -gap
	for col := range g.Head {
		total += g.widest(col) + gap
	}
	return total
}

// widest returns how many columns of a terminal a column takes.
func (g grid) widest(col int) (widest int) {
	for line := range strings.SplitSeq(g.Head[col], "\n") {
		widest = max(widest, format.Width(line))
	}
	for _, row := range g.Rows {
		widest = max(widest, format.Width(row[col]))
	}
	return widest
}

// keeping returns the grid with those of its columns for which keep holds.
func (g grid) keeping(keep func(col int) bool) (kept grid) {
	kept.Rows = make([][]string, len(g.Rows))
	for col := range g.Head {
		if !keep(col) {
			continue
		}
		kept.Head, kept.Right = append(kept.Head, g.Head[col]), append(kept.Right, g.Right[col])
		for i, row := range g.Rows {
			kept.Rows[i] = append(kept.Rows[i], row[col])
		}
	}
	return kept
}

// cut takes what is wider than the room out of the middle of the widest columns of words: names often differ at their ends.
func (g grid) cut(room int) {
	const shortest = 14
	for over := g.width() - room; over > 0; over = g.width() - room {
		at := -1
		for col := range g.Head {
			if !g.Right[col] && g.widest(col) > shortest && (at < 0 || g.widest(col) > g.widest(at)) {
				at = col
			}
		}
		if at < 0 {
			return
		}
		width := max(shortest, g.widest(at)-over)
		g.Head[at] = middleCut(g.Head[at], width)
		for _, row := range g.Rows {
			row[at] = middleCut(row[at], width)
		}
	}
}

// middleCut cuts what does not fit into the room out of the middle of a text.
func middleCut(text string, room int) string {
	whole := []rune(text)
	for n := len(whole); format.Width(text) > room && n > 0; n-- {
		text = string(whole[:n/2]) + "…" + string(whole[len(whole)-(n-1)/2:])
	}
	return text
}

// oneLine returns a title that was split over two lines.
func oneLine(title string) string {
	return strings.TrimSpace(strings.NewReplacer("\n/", "/", "-\n", "-", "\n", " ").Replace(title))
}

// text lays the grid out for a terminal: the lines of the head, then a rule, then a line a row.
func (g grid) text() ([]string, error) {
	// The rule and the padding go on behind the last column, which would cost the gap: both are cut off below.
	lines, err := g.render(
		tablewriter.WithPadding(tw.Padding{Right: strings.Repeat(" ", gap), Overwrite: true}),
		tablewriter.WithRendition(tw.Rendition{
			Borders: tw.BorderNone,
			Symbols: tw.NewSymbols(tw.StyleLight),
			Settings: tw.Settings{
				Separators: tw.Separators{BetweenColumns: tw.Off, BetweenRows: tw.Off},
				Lines:      tw.Lines{ShowHeaderLine: tw.On, ShowTop: tw.Off, ShowBottom: tw.Off},
			},
		}))
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
		if strings.Trim(line, "─") == "" {
			lines[i] = strings.TrimSuffix(line, strings.Repeat("─", gap))
		}
	}
	return lines, err
}

// markdown lays the grid out as a Markdown table.
func (g grid) markdown() ([]string, error) {
	for i, head := range g.Head {
		g.Head[i] = strings.ReplaceAll(oneLine(head), "|", `\|`)
	}
	for _, row := range g.Rows {
		for i := range row {
			row[i] = strings.ReplaceAll(row[i], "|", `\|`) // tablewriter leaves it bare
		}
	}
	return g.render(tablewriter.WithRenderer(renderer.NewMarkdown()))
}

// render feeds the grid to tablewriter as it is: no upper case, no wrapping, no widths that depend on the locale.
func (g grid) render(opts ...tablewriter.Option) ([]string, error) {
	aligns := make([]tw.Align, len(g.Head))
	for i := range aligns {
		aligns[i] = tw.AlignLeft
		if g.Right[i] {
			aligns[i] = tw.AlignRight
		}
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
	}, opts...)...)
	table.Header(g.Head)
	for _, row := range g.Rows {
		if err := table.Append(row); err != nil {
			return nil, fmt.Errorf("draw: table: %w", err)
		}
	}
	if err := table.Render(); err != nil {
		return nil, fmt.Errorf("draw: table: %w", err)
	}
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n"), nil
}
