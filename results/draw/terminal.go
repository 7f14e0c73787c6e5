// Package draw draws a report.Document: on a terminal, in Markdown, as a page of HTML. It knows nothing of locks.
package draw

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/report"
)

// Options say what a terminal is like. The zero value is a plain file 100 columns wide.
type Options struct {
	Width   int  // columns; 0 means 100
	Color   bool // whether ANSI escape sequences are welcome
	Verbose bool // of the depths of a document the verbose one, not the short one
}

const (
	defaultWidth = 100
	labelWidth   = 15 // of facts
	markWidth    = 3  // of a column of a matrix, which holds a mark or a number
)

// The few colours in use, as ANSI escape codes.
const (
	bold   = "\x1b[1m"
	normal = "\x1b[0m"
)

var colors = map[report.Tone]string{report.Good: "\x1b[32m", report.Warn: "\x1b[33m", report.Bad: "\x1b[31m", report.Alarm: "\x1b[31m"}

// Terminal writes a document for a terminal. A matrix of which not all columns have room goes on below. It fails with the error of w,
// to which it writes once.
func Terminal(w io.Writer, d *report.Document, o Options) error {
	t := terminal{Options: o, depth: report.Short}
	if o.Verbose {
		t.depth = report.Verbose
	}
	if t.Width <= 0 {
		t.Width = defaultWidth
	}
	if d.Title != "" {
		t.para(colors[d.Tone], strings.TrimLeft(d.Mark+" ", " "), d.Title)
	}
	if err := t.blocks("", d.Blocks); err != nil {
		return err
	}
	if _, err := io.WriteString(w, strings.Join(t.lines, "\n")+"\n"); err != nil {
		return fmt.Errorf("draw: %w", err)
	}
	return nil
}

// terminal collects lines.
type terminal struct {
	Options
	depth report.Depth
	lines []string
}

func (t *terminal) add(color string, lines ...string) {
	for _, line := range lines {
		if t.Color && color != "" && line != "" {
			line = color + line + normal
		}
		t.lines = append(t.lines, line)
	}
}

// color returns that of a tone, or what stands out without one.
func (t *terminal) color(tone report.Tone, strong bool) string {
	if strong && tone == report.Plain {
		return bold
	}
	return colors[tone]
}

// para adds a wrapped paragraph that hangs from head.
func (t *terminal) para(color, head, text string) {
	t.add(color, format.Wrap(head, format.Clean(text), t.Width)...)
}

// apart adds a blank line, unless there is one.
func (t *terminal) apart() {
	if n := len(t.lines); n > 0 && t.lines[n-1] != "" {
		t.add("", "")
	}
}

// blocks draws blocks, with an indent. What is long stands apart from what is before and after it.
func (t *terminal) blocks(indent string, blocks []report.Block) error {
	list := report.Of(blocks, t.depth)
	for i, b := range list {
		if i > 0 && indent == "" && apart(list[i-1], b) {
			t.apart()
		}
		switch b := b.(type) {
		case report.Paragraph:
			t.para(t.color(b.Tone, b.Strong), indent, b.Text)
		case report.Command:
			t.para("", indent+"$ ", string(b))
		case report.Code:
			for _, line := range codeLines(b) {
				t.add("", indent+line)
			}
		case report.Facts:
			b = b.Of(t.depth)
			width := labelWidth - 2
			for _, f := range b {
				if w := format.Width(f.Label); w >= labelWidth-2 {
					width = max(width, w+2)
				}
			}
			for _, f := range b {
				for i, line := range f.Lines {
					label := format.Clean(f.Label)
					if i > 0 {
						label = ""
					} else if f.Course != nil {
						line = strings.TrimSpace(skyline(f.Course, t.Width-labelWidth-26) + " " + line)
					}
					t.para(t.color(f.Tone, f.Strong), indent+fmt.Sprintf("  %-*s", width, label), line)
				}
			}
		case report.Findings:
			for _, f := range b {
				t.para(colors[f.Tone], indent+"  ", strings.TrimSpace(f.Lead+" "+f.Text))
			}
			t.apart()
		case report.List:
			t.list(indent, b)
		case report.Lanes:
			for _, l := range b.Lanes {
				t.para("", indent, l.Name+" "+spans(l))
			}
		case report.Table:
			if b.Matrix {
				t.matrix(b)
			} else if err := t.table(indent, b); err != nil {
				return err
			}
		case report.Section:
			if err := t.section(indent, b); err != nil {
				return err
			}
		}
	}
	return nil
}

// codeLines returns lines as they are, without control characters.
func codeLines(c report.Code) (lines []string) {
	for line := range strings.Lines(string(c)) {
		lines = append(lines, format.Line(strings.TrimRight(line, "\n")))
	}
	return lines
}

// apart reports whether a blank line stands between two blocks.
func apart(before, after report.Block) bool {
	facts, is := after.(report.Facts)
	if is && len(facts) > 0 && facts[0].Label == "" { // which go on with what is before them
		return false
	}
	_, section := before.(report.Section)
	_, alike := before.(report.Facts)
	note, says := after.(report.Paragraph)
	return section || long(before) || long(after) || alike && (is || says && note.Note)
}

// long reports whether a block stands apart from its neighbours.
func long(b report.Block) bool {
	switch b.(type) {
	case report.List, report.Table, report.Code:
		return true
	}
	return false
}

// list writes items beside their marks. A mark that is too long for that has a line of its own.
func (t *terminal) list(indent string, list report.List) {
	longest, column := min(30, t.Width/3), 2
	for _, item := range list {
		if w := format.Width(item.Mark); w <= longest {
			column = max(column, w+1)
		}
	}
	for _, item := range list {
		mark := format.Line(cmp.Or(item.Mark, "-"))
		if format.Width(mark) > longest {
			t.para(colors[item.Tone], indent, mark)
			mark = ""
		}
		t.para(colors[item.Tone], indent+mark+strings.Repeat(" ", column-format.Width(mark)), item.Text)
	}
}

func (t *terminal) section(indent string, s report.Section) error {
	t.apart()
	head, title, within := indent, s.Title, indent
	if s.Number > 0 {
		head = fmt.Sprintf("%s%2d  ", indent, s.Number)
		within += "    "
	}
	if s.About != "" {
		title += ": " + s.About
	}
	if s.Mark+s.Status != "" {
		title += ": " + strings.TrimSpace(s.Mark+" "+s.Status)
	}
	t.para(bold, head, title)
	return t.blocks(within, s.Blocks)
}

// spans writes times in a row.
func spans(l report.Lane) string {
	var parts []string
	for _, s := range l.Spans {
		parts = append(parts, format.Duration(s.From)+" to "+format.Duration(s.To))
	}
	return strings.Join(parts, ", ")
}

// matrix writes a line for each row. Columns for which there is no room make another matrix below.
func (t *terminal) matrix(b report.Table) {
	names := 0
	for _, row := range b.Rows {
		names = max(names, format.Width(format.Line(row.Cells[0].Text)))
	}
	each := max(1, (t.Width-names)/markWidth)
	for from := 1; from < len(b.Columns); from += each {
		if from > 1 {
			t.apart()
		}
		to := min(from+each, len(b.Columns))
		head := strings.Repeat(" ", names)
		for _, c := range b.Columns[from:to] {
			head += fmt.Sprintf("%*s", markWidth, c.Short)
		}
		t.add(bold, head)
		t.add("", strings.Repeat(Ruled, format.Width(head)))
		for _, row := range b.Rows {
			name := format.Line(row.Cells[0].Text)
			line := name + strings.Repeat(" ", names-format.Width(name))
			for _, v := range row.Cells[from:to] {
				line += fmt.Sprintf("%*s", markWidth, v.Text)
			}
			t.add("", strings.TrimRight(line, " "))
		}
	}
}
