package text

// Tables as text: a thin layer over tablewriter.

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"

	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/view"
)

// grid is a table before it takes a format.
type grid struct {
	head  []string // one cell a column; a line break splits it
	right []bool   // columns that are aligned right
	rows  [][]string
}

const (
	gap   = 2   // blanks between two columns on the terminal
	ruled = "─" // what a rule is made of
)

// wide is a short name, for it stands in many places.
func wide(s string) int { return format.Width(s) }

// width returns how many columns of the terminal the longest line takes.
func (g grid) width() int {
	total := -gap
	for col := range g.head {
		total += g.widest(col) + gap
	}
	return total
}

// widest returns how many columns of the terminal a column takes.
func (g grid) widest(col int) (widest int) {
	for line := range strings.SplitSeq(g.head[col], "\n") {
		widest = max(widest, wide(line))
	}
	for _, row := range g.rows {
		widest = max(widest, wide(row[col]))
	}
	return widest
}

// keeping returns the grid with those of its columns for which keep holds.
func (g grid) keeping(keep func(col int) bool) (kept grid) {
	kept.rows = make([][]string, len(g.rows))
	for col := range g.head {
		if !keep(col) {
			continue
		}
		kept.head, kept.right = append(kept.head, g.head[col]), append(kept.right, g.right[col])
		for i, row := range g.rows {
			kept.rows[i] = append(kept.rows[i], row[col])
		}
	}
	return kept
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
		if strings.Trim(line, ruled) == "" {
			lines[i] = strings.TrimSuffix(line, strings.Repeat(ruled, gap))
		}
	}
	return lines, err
}

// oneLine returns a head that was split over two lines.
func oneLine(head string) string {
	return strings.TrimSpace(strings.ReplaceAll(strings.ReplaceAll(head, "\n/", "/"), "\n", " "))
}

// markdown lays the grid out as a Markdown table.
func (g grid) markdown() ([]string, error) {
	for i, head := range g.head {
		g.head[i] = strings.ReplaceAll(oneLine(head), "|", `\|`)
	}
	for _, row := range g.rows {
		for i := range row {
			row[i] = strings.ReplaceAll(row[i], "|", `\|`) // tablewriter leaves it bare
		}
	}
	return g.render(tablewriter.WithRenderer(renderer.NewMarkdown()))
}

// render feeds the grid to tablewriter as it is: no upper case, no wrapping, no widths that depend on the locale.
func (g grid) render(opts ...tablewriter.Option) ([]string, error) {
	aligns := make([]tw.Align, len(g.head))
	for i := range aligns {
		aligns[i] = tw.AlignLeft
		if g.right[i] {
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
	table.Header(g.head)
	for _, row := range g.rows {
		if err := table.Append(row); err != nil {
			return nil, fmt.Errorf("text: table: %w", err)
		}
	}
	if err := table.Render(); err != nil {
		return nil, fmt.Errorf("text: table: %w", err)
	}
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n"), nil
}

// The few colours in use, as ANSI escape codes.
const (
	bold   = "\x1b[1m"
	red    = "\x1b[31m"
	yellow = "\x1b[33m"
	green  = "\x1b[32m"
	normal = "\x1b[0m"
)

// page collects lines and writes them at once.
type page struct {
	width   int
	color   bool
	verbose bool // see Options
	lines   []string
	items   *[]view.Item // nil, or: takes what has a label in place of lines; see Facts
}

func (p *page) add(color string, lines ...string) {
	for _, line := range lines {
		if p.color && color != "" && line != "" {
			line = color + line + normal
		}
		p.lines = append(p.lines, line)
	}
}

func (p *page) blank() { p.lines = append(p.lines, "") }

// para adds a wrapped paragraph that hangs from head.
func (p *page) para(color, head, text string) {
	p.add(color, format.Wrap(head, format.Clean(text), p.width)...)
}

func (p *page) writeTo(w io.Writer) error {
	_, err := io.WriteString(w, strings.Join(p.lines, "\n")+"\n")
	if err != nil {
		return fmt.Errorf("text: %w", err)
	}
	return nil
}
