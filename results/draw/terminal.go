package draw

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/tw"

	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/report"
)

// Options say what a terminal is like. The zero value is a plain file 100 columns wide.
type Options struct {
	Width   int  // columns; 0 means 100
	Color   bool // whether ANSI escape sequences are welcome
	Verbose bool // whether blocks of detail are drawn
}

var colors = map[report.Tone]string{
	head: "\x1b[1m", report.Good: "\x1b[32m", report.Warn: "\x1b[33m", report.Bad: "\x1b[31m",
}

// Terminal writes a document for a terminal, without its charts. Columns of a table that do not fit are left out, and
// named at the end. It fails with the error of w, to which it writes once.
func Terminal(w io.Writer, d *report.Document, o Options) error {
	o.Width = cmp.Or(o.Width, 100)
	t := terminal{Options: o}
	t.para(d.Tone, sign(d), d.Title)
	if d.When != "" {
		t.para(report.Plain, "", d.When)
	}
	more := ""
	for _, s := range sections(d, false) {
		switch hidden := s.Detail && !t.Verbose; {
		case hidden && strings.Contains(s.Heading, " more "): // rows of a table that is shown
			more = "more with -v: " + s.Heading
		case hidden:
			more = cmp.Or(more, "more with -v")
		default:
			t.section(s)
		}
	}
	t.lines = append(t.lines, "")
	if t.hidden != nil && more == "" {
		const text = "hidden at %d columns: %s (COLUMNS=%d, or -format html)"
		t.para(report.Plain, "", fmt.Sprintf(text, t.Width, format.Few(t.hidden, 4), t.needs))
	}
	if more != "" {
		t.para(report.Plain, "", more)
	}
	lines := slices.CompactFunc(t.lines, func(a, b string) bool { return a == "" && b == "" })
	_, err := io.WriteString(w, strings.TrimRight(strings.Join(lines, "\n"), "\n")+"\n")
	return err
}

// terminal collects lines.
type terminal struct {
	Options
	lines  []string
	hidden []string // columns of tables for which there was no room
	needs  int      // columns of a terminal that has room for all
}

// paint colours each line of a text.
func (t *terminal) paint(tone report.Tone, text string) string {
	color := colors[tone]
	if !t.Color || color == "" || text == "" {
		return text
	}
	return color + strings.ReplaceAll(text, "\n", "\x1b[0m\n"+color) + "\x1b[0m"
}

// para adds a wrapped paragraph that hangs from what it begins with.
func (t *terminal) para(tone report.Tone, from, text string) {
	for _, line := range format.Wrap(from, text, t.Width) {
		t.lines = append(t.lines, t.paint(tone, line))
	}
}

// section draws blocks. A heading and a table stand apart from what is before them.
func (t *terminal) section(s section) {
	if s.Heading != "" {
		t.lines = append(t.lines, "")
		t.para(head, "", s.Heading)
	}
	for i, b := range s.Blocks {
		if b.Table != nil && (i > 0 || s.Heading == "") {
			t.lines = append(t.lines, "")
		}
		for _, text := range b.Text {
			if text.Code {
				t.lines = append(t.lines, t.paint(text.Tone, codeLines("  ", text.Text)))
			} else {
				t.para(text.Tone, "", text.Text)
			}
		}
		if b.Table != nil && b.Table.Columns == nil {
			t.facts(b.Table.Rows)
		} else if b.Table != nil {
			t.table(b.Table)
		}
	}
}

// facts draws labels and texts.
func (t *terminal) facts(rows []report.Row) {
	width := 10
	for _, r := range rows {
		width = max(width, min(24, format.Width(r.Cells[0].Text)))
	}
	for _, r := range rows {
		label := fmt.Sprintf("  %-*s  ", width, format.Line(r.Cells[0].Text))
		t.para(r.Cells[1].Tone, label, r.Cells[1].Text)
	}
}

// table draws a table, and below it what its marks mean.
func (t *terminal) table(of *report.Table) {
	columns, gap := columnsOf(of), 2
	if dense(of) {
		gap = 0
		for i, c := range columns[1:] { // tens above ones, and a blank before every fifth column
			title := []rune(fmt.Sprintf("%2s", c.Title))
			c.cells[0].Text = strings.Repeat(" ", max(0, 1-i%5)) + string(title[0]) + "\n" + string(title[1])
		}
	}
	columns, width := t.fit(columns, gap)
	lines := lay(columns, func(c report.Cell) string { return t.paint(c.Tone, c.Text) },
		tablewriter.WithPadding(tw.Padding{Right: strings.Repeat(" ", gap), Overwrite: true}),
		tablewriter.WithRendition(tw.Rendition{Borders: tw.BorderNone, Settings: tw.Settings{
			Separators: tw.SeparatorsNone, Lines: tw.LinesNone}}))
	for i, row := range append([]report.Row{{}}, of.Rows...) { // below the titles
		if i == 1 || row.Group != "" {
			t.rule(row.Group, width)
		}
		height := 1
		for _, c := range columns {
			height = max(height, 1+strings.Count(c.cells[i].Text, "\n"))
		}
		for _, line := range lines[:height] { // tablewriter ends cells with one more reset
			line = strings.TrimSuffix(strings.TrimRight(line, " "), " \x1b[0m")
			t.lines = append(t.lines, strings.TrimRight(line, " "))
		}
		lines = lines[height:]
		if row.Marks != nil && !columns[len(columns)-1].marks {
			t.para(markCell(row).Tone, "  ", markCell(row).Text)
		}
	}
	for _, m := range notes(of) {
		t.para(m.Tone, code(m)+": ", m.Line)
	}
}

// narrow is how wide a column can be without being wrapped.
const narrow = 14

// fit returns the columns for which there is room, and their width. Those with a Drop go first, then marks stand below
// their rows, then columns are wrapped, and at last those in the middle go.
func (t *terminal) fit(all []column, gap int) (fitting []column, width int) {
	for whole := 0; ; whole = max(whole, width) {
		last, drop, widest := len(all)-1, 0, all[0]
		width = -gap
		for _, c := range all {
			width, drop = width+gap+c.width(), max(drop, c.Drop)
			if c.width() > widest.width() {
				widest = c
			}
		}
		switch over := width - t.Width; {
		case over <= 0 || last == 0:
			return all, width
		case drop > 0:
			t.needs = max(t.needs, whole, width)
			all = slices.DeleteFunc(all, func(c column) bool {
				title := format.Glue(oneLine(c.Title))
				if c.Drop == drop && !slices.Contains(t.hidden, title) {
					t.hidden = append(t.hidden, title)
				}
				return c.Drop == drop
			})
		case all[last].marks:
			all = all[:last]
		case widest.width() > narrow:
			widest.wrap(max(narrow, widest.width()-over))
		case gap == 0:
			all[last].Drop = 1
		default:
			all[len(all)/2].Drop = 1
		}
	}
}

// rule draws a line across a table, in which the title of a group stands.
func (t *terminal) rule(title string, width int) {
	from := ""
	if title != "" {
		from, title = "── ", title+" "
	}
	t.para(head, from, title+strings.Repeat("─", max(2, min(width, t.Width)-format.Width(from+title))))
}
