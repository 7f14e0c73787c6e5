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
	var details []string
	for _, s := range sections(d, false) {
		if s.Detail && !t.Verbose {
			details = append(details, format.Glue(s.Heading))
		} else if err := t.section(s); err != nil {
			return err
		}
	}
	if t.hidden != nil || details != nil {
		t.apart()
	}
	if t.hidden != nil {
		const text = "hidden at %d columns: %s (COLUMNS=%d, or -format html)"
		t.para(report.Plain, "", fmt.Sprintf(text, t.Width, format.Few(t.hidden, 4), t.needs))
	}
	if details != nil {
		t.para(report.Plain, "", "more with -v: "+strings.ToLower(format.Few(details, 3)))
	}
	if _, err := io.WriteString(w, strings.Join(t.lines, "\n")+"\n"); err != nil {
		return fmt.Errorf("draw: %w", err)
	}
	return nil
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

func (t *terminal) add(tone report.Tone, lines ...string) {
	for _, line := range lines {
		t.lines = append(t.lines, t.paint(tone, line))
	}
}

// para adds a wrapped paragraph that hangs from what it begins with.
func (t *terminal) para(tone report.Tone, from, text string) {
	t.add(tone, format.Wrap(from, format.Clean(text), t.Width)...)
}

// apart adds a blank line, unless there is one.
func (t *terminal) apart() {
	if n := len(t.lines); n > 0 && t.lines[n-1] != "" {
		t.add(report.Plain, "")
	}
}

// section draws blocks. A heading and a table stand apart from what is before them.
func (t *terminal) section(s section) error {
	if s.Heading != "" {
		t.apart()
		t.para(head, "", s.Heading)
	}
	for i, b := range s.Blocks {
		if b.Table != nil && (i > 0 || s.Heading == "") {
			t.apart()
		}
		for _, text := range b.Text {
			if !text.Code {
				t.para(text.Tone, "", text.Text)
				continue
			}
			for _, line := range codeLines(text.Text) {
				t.add(text.Tone, "  "+line)
			}
		}
		switch {
		case b.Table == nil || len(b.Table.Rows) == 0:
		case b.Table.Columns == nil:
			t.facts(facts(b.Table))
		default:
			if err := t.table(b.Table); err != nil {
				return err
			}
		}
	}
	return nil
}

// facts draws labels and texts.
func (t *terminal) facts(all []fact) {
	width := 10
	for _, f := range all {
		width = max(width, min(24, format.Width(f.Label)))
	}
	for _, f := range all {
		if f.Group != "" {
			t.para(head, "", f.Group)
		}
		pad := strings.Repeat(" ", max(0, width-format.Width(f.Label)))
		t.para(f.Tone, "  "+format.Line(f.Label)+pad+"  ", f.Text)
	}
}

// table draws a table. One of signs that is too wide goes on below.
func (t *terminal) table(of *report.Table) (err error) {
	each, gap := len(of.Columns), 2
	if dense(of) {
		_, names := widest(of)
		each, gap = max(1, (t.Width-names)/3), 1
	}
	for from := 1; err == nil && (from == 1 || from < len(of.Columns)); from += each {
		if from > 1 {
			t.apart()
		}
		in := func(col int) bool { return col == 0 || col >= from && col < from+each }
		err = t.fit(keeping(of, in), strings.Repeat(" ", gap))
	}
	for _, m := range notes(of) {
		t.para(m.Tone, format.Line(code(m))+": ", m.Line)
	}
	return err
}

// widest returns the widest column of words, and its width.
func widest(of *report.Table) (col, width int) {
	for _, r := range of.Rows {
		for i, c := range r.Cells {
			for line := range strings.SplitSeq(c.Text, "\n") {
				if w := format.Width(line); of.Columns[i].Left && w > width {
					col, width = i, w
				}
			}
		}
	}
	return col, width
}

// fit draws a table that loses columns until it has room; then its marks stand below its names, and words are wrapped.
func (t *terminal) fit(of *report.Table, gap string) error {
	cell := func(c report.Cell) string { return t.paint(c.Tone, strings.Join(codeLines(c.Text), "\n")) }
	lines, err := tableLines(of, cell, func(string) string { return ruleRow },
		tablewriter.WithPadding(tw.Padding{Right: gap, Overwrite: true}),
		tablewriter.WithRendition(tw.Rendition{Borders: tw.BorderNone, Settings: tw.Settings{
			Separators: tw.SeparatorsNone, Lines: tw.LinesNone}}))
	if err != nil {
		return err
	}
	width := 0
	for i, line := range lines {
		line = strings.TrimSuffix(strings.TrimRight(line, " "), " \x1b[0m") // tablewriter ends cells with one more
		lines[i] = strings.TrimRight(line, " ")
		width = max(width, format.Width(lines[i]))
	}
	drop := func(a, b report.Column) int { return cmp.Compare(a.Drop, b.Drop) }
	worst := slices.MaxFunc(of.Columns, drop).Drop
	col, words := widest(of)
	switch over := width - t.Width; {
	case over > 0 && worst > 0:
		for _, c := range of.Columns {
			if title := format.Glue(oneLine(c.Title)); c.Drop == worst && !slices.Contains(t.hidden, title) {
				t.hidden = append(t.hidden, title)
			}
		}
		t.needs = max(t.needs, width)
		return t.fit(keeping(of, func(col int) bool { return of.Columns[col].Drop != worst }), gap)
	case over > 0 && marked(of):
		return t.fit(folded(of, 0, t.Width), gap)
	case over > 0 && words > 12:
		return t.fit(folded(of, col, words-over-2), gap)
	}
	rows := of.Rows
	for _, line := range lines {
		switch {
		case strings.Contains(line, ruleRow):
			t.rule(rows[0].Group, min(width, t.Width))
			rows = rows[1+max(0, slices.IndexFunc(rows[1:], func(r report.Row) bool { return r.Group != "" })):]
		case line != "":
			t.add(report.Plain, line)
		}
	}
	return nil
}

// ruleRow is a text that no row has, for its control characters are left out.
const ruleRow = "\x00"

// rule draws a line across a table, in which the title of a group stands.
func (t *terminal) rule(title string, width int) {
	if title == "" {
		t.add(report.Plain, strings.Repeat("─", width))
		return
	}
	width = min(max(width, 40), t.Width)
	lines := format.Wrap("── ", format.Clean(title), width)
	last := &lines[len(lines)-1]
	*last = strings.TrimRight(*last+" "+strings.Repeat("─", max(0, width-format.Width(*last)-1)), " ")
	t.add(head, lines...)
}
