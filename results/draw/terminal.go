// Package draw draws a report.Document: on a terminal, in Markdown, as a page of HTML. It knows nothing of locks.
package draw

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/report"
)

// Options say what a terminal is like. The zero value is a plain file 100 columns wide.
type Options struct {
	Width   int  // columns; 0 means 100
	Color   bool // whether ANSI escape sequences are welcome
	Verbose bool // whether blocks of detail are drawn
}

const bold = "\x1b[1m"

var colors = map[report.Tone]string{report.Good: "\x1b[32m", report.Warn: "\x1b[33m", report.Bad: "\x1b[31m"}

// Terminal writes a document for a terminal, without its charts. Columns of a table that do not fit are left out and named. It fails
// with the error of w, to which it writes once.
func Terminal(w io.Writer, d *report.Document, o Options) error {
	if o.Width <= 0 {
		o.Width = 100
	}
	t := terminal{Options: o}
	t.para(colors[d.Tone], sign(d), d.Title)
	if d.When != "" {
		t.para("", "", d.When)
	}
	var details []string
	for _, b := range d.Blocks {
		switch {
		case b.Text == nil && b.Table == nil:
		case !b.Detail || t.Verbose:
			if err := t.block(b); err != nil {
				return err
			}
		case b.Heading != "":
			details = append(details, lowerFirst(b.Heading))
		}
	}
	if details != nil {
		t.apart()
		t.para("", "", "-v: "+format.Few(details, 8))
	}
	if _, err := io.WriteString(w, strings.Join(t.lines, "\n")+"\n"); err != nil {
		return fmt.Errorf("draw: %w", err)
	}
	return nil
}

// terminal collects lines.
type terminal struct {
	Options
	lines []string
}

func (t *terminal) add(color string, lines ...string) {
	for _, line := range lines {
		if t.Color && color != "" && line != "" {
			line = color + line + "\x1b[0m"
		}
		t.lines = append(t.lines, line)
	}
}

// para adds a wrapped paragraph that hangs from head.
func (t *terminal) para(color, head, text string) {
	t.add(color, format.Wrap(format.Clean(head), format.Clean(text), t.Width)...)
}

// apart adds a blank line, unless there is one.
func (t *terminal) apart() {
	if n := len(t.lines); n > 0 && t.lines[n-1] != "" {
		t.add("", "")
	}
}

// block draws a block. A heading and a table stand apart from what is before them.
func (t *terminal) block(b report.Block) error {
	if b.Heading != "" || b.Table != nil {
		t.apart()
	}
	if b.Heading != "" {
		t.para(bold, "", b.Heading)
	}
	for _, text := range b.Text {
		if !text.Code {
			t.para(colors[text.Tone], "", text.Text)
			continue
		}
		for _, line := range codeLines(text.Text) {
			t.add(colors[text.Tone], "  "+line)
		}
	}
	switch {
	case b.Table == nil || len(b.Table.Rows) == 0:
		return nil
	case b.Table.Columns == nil:
		t.facts(b.Table)
		return nil
	}
	return t.table(b.Table)
}

// codeLines returns lines as they are, without control characters.
func codeLines(text string) (lines []string) {
	for line := range strings.Lines(text) {
		lines = append(lines, strings.TrimRight(format.Line(line), " "))
	}
	return lines
}

// facts draws labels and texts. A label stands once for all texts below it.
func (t *terminal) facts(of *report.Table) {
	const longest = 24
	width := 10
	for _, r := range of.Rows {
		if w := format.Width(r.Cells[0].Text); w <= longest {
			width = max(width, w)
		}
	}
	before := ""
	for _, r := range of.Rows {
		if r.Group != "" {
			t.para(bold, "", r.Group)
		}
		label := format.Line(r.Cells[0].Text)
		if label == before {
			label = ""
		} else {
			before = label
		}
		if format.Width(label) > longest {
			t.para("", "  ", label)
			label = ""
		}
		for _, c := range r.Cells[1:] {
			tone := max(r.Tone, c.Tone)
			t.para(colors[tone], "  "+pad(label, width)+"  ", c.Text)
			label = ""
		}
		for _, m := range r.Marks {
			t.para(colors[m.Tone], "  "+pad(label, width)+"  ", code(m)+": "+m.Line)
			label = ""
		}
	}
}

func pad(s string, width int) string { return s + strings.Repeat(" ", max(0, width-format.Width(s))) }

// code returns a mark as it stands beside a row.
func code(m report.Mark) string { return strings.TrimSpace(m.Code + " " + m.Args) }

// table draws a table. What is too wide loses columns, and then the middle of its longest names.
func (t *terminal) table(of *report.Table) error {
	if narrow(of) {
		t.matrix(of)
		return nil
	}
	g := gridOf(of, format.Line)
	drop := make([]int, len(of.Columns), len(g.Head))
	for i, c := range of.Columns {
		drop[i] = c.Drop
	}
	if len(g.Head) > len(drop) {
		drop = append(drop, 0) // the marks stay
	}
	var left []string
	for g.width() > t.Width && slices.Max(drop) > 0 {
		worst := slices.Max(drop)
		keep := func(col int) bool { return drop[col] != worst }
		for col, title := range g.Head {
			if !keep(col) {
				left = append(left, oneLine(title))
			}
		}
		g = g.keeping(keep)
		drop = slices.DeleteFunc(drop, func(d int) bool { return d == worst })
	}
	g.cut(t.Width)
	lines, err := g.text()
	if err != nil {
		return err
	}
	head := 1 // lines, with the rule
	for _, title := range g.Head {
		head = max(head, strings.Count(title, "\n")+2)
	}
	t.add(bold, slices.DeleteFunc(slices.Clone(lines[:head-1]), func(line string) bool { return line == "" })...)
	if of.Rows[0].Group == "" { // or its title is the rule
		t.add("", lines[head-1])
	}
	for i, line := range lines[head:] {
		if r := of.Rows[i]; r.Group != "" {
			t.add(bold, rule(r.Group, min(max(g.width(), 40), t.Width))...)
		}
		t.add(colors[of.Rows[i].Tone], line)
	}
	if left != nil {
		t.para("", "", "wider: "+format.Few(left, 4))
	}
	for _, m := range marks(of) {
		t.para(colors[m.Tone], m.Code+": ", m.Line)
	}
	return nil
}

// marks returns the marks of a table with what they mean, each once.
func marks(of *report.Table) (all []report.Mark) {
	for _, r := range of.Rows {
		for _, m := range r.Marks {
			if m.Line != "" && !slices.ContainsFunc(all, func(a report.Mark) bool { return a.Code == m.Code && a.Line == m.Line }) {
				all = append(all, m)
			}
		}
	}
	return all
}

// rule returns a title with a line drawn through its rest.
func rule(title string, width int) []string {
	lines := format.Wrap("── ", format.Clean(title), width)
	last := &lines[len(lines)-1]
	if rest := width - format.Width(*last) - 1; rest > 0 {
		*last += " " + strings.Repeat("─", rest)
	}
	return lines
}

// narrow reports whether all columns but the first hold a mark each.
func narrow(of *report.Table) bool {
	for _, r := range of.Rows {
		for _, c := range r.Cells[1:] {
			if format.Width(c.Text) > 2 {
				return false
			}
		}
	}
	return len(of.Columns) > 4
}

// matrix draws a table of marks, with a number over each column. Columns for which there is no room go on below.
func (t *terminal) matrix(of *report.Table) {
	const wide = 3
	names := 0
	for _, r := range of.Rows {
		names = max(names, format.Width(format.Line(r.Cells[0].Text)))
	}
	each := max(1, (t.Width-names)/wide)
	for from := 1; from < len(of.Columns); from += each {
		if from > 1 {
			t.apart()
		}
		to := min(from+each, len(of.Columns))
		head := strings.Repeat(" ", names)
		for _, c := range of.Columns[from:to] {
			head += fmt.Sprintf("%*s", wide, c.Title)
		}
		t.add(bold, head)
		for _, r := range of.Rows {
			line := pad(format.Line(r.Cells[0].Text), names)
			for _, c := range r.Cells[from:to] {
				line += fmt.Sprintf("%*s", wide, c.Text)
			}
			t.add(colors[r.Tone], strings.TrimRight(line, " "))
		}
	}
}

// lowerFirst returns a heading as it stands in a sentence: p99 stays, and so does CPU.
func lowerFirst(s string) string {
	if len(s) > 1 && s[1] >= 'a' && s[1] <= 'z' {
		return strings.ToLower(s[:1]) + s[1:]
	}
	return s
}
