package draw

// Tables as text: a thin layer over tablewriter.

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"

	"github.com/lockbench/lockbench/results/format"
)

// Grid is a table as texts.
type Grid struct {
	Head  []string // one cell a column; a line break splits it
	Right []bool   // columns that are aligned right
	Rows  [][]string
}

const (
	gap   = 2   // blanks between two columns on the terminal
	Ruled = "─" // what a rule is made of
)

// Width returns how many columns of the terminal the longest line takes.
func (g Grid) Width() int {
	total := -gap
	for col := range g.Head {
		total += g.Widest(col) + gap
	}
	return total
}

// Widest returns how many columns of the terminal a column takes.
func (g Grid) Widest(col int) (widest int) {
	for line := range strings.SplitSeq(g.Head[col], "\n") {
		widest = max(widest, format.Width(line))
	}
	for _, row := range g.Rows {
		widest = max(widest, format.Width(row[col]))
	}
	return widest
}

// Keeping returns the grid with those of its columns for which keep holds.
func (g Grid) Keeping(keep func(col int) bool) (kept Grid) {
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

// Text lays the grid out for a terminal: the lines of the head, then a rule, then a line a row.
func (g Grid) Text() ([]string, error) {
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
		if strings.Trim(line, Ruled) == "" {
			lines[i] = strings.TrimSuffix(line, strings.Repeat(Ruled, gap))
		}
	}
	return lines, err
}

// OneLine returns a head that was split over two lines.
func OneLine(head string) string {
	return strings.TrimSpace(strings.NewReplacer("\n/", "/", "-\n", "-", "\n", " ").Replace(head))
}

// Markdown lays the grid out as a Markdown table.
func (g Grid) Markdown() ([]string, error) {
	for i, head := range g.Head {
		g.Head[i] = strings.ReplaceAll(OneLine(head), "|", `\|`)
	}
	for _, row := range g.Rows {
		for i := range row {
			row[i] = strings.ReplaceAll(row[i], "|", `\|`) // tablewriter leaves it bare
		}
	}
	return g.render(tablewriter.WithRenderer(renderer.NewMarkdown()))
}

// render feeds the grid to tablewriter as it is: no upper case, no wrapping, no widths that depend on the locale.
func (g Grid) render(opts ...tablewriter.Option) ([]string, error) {
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
