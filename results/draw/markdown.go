package draw

import (
	"fmt"
	"io"
	"strings"

	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/report"
)

// CommentRoom is how many bytes a document takes in Markdown at most. GitHub refuses a comment of more than 65,536 characters;
// what is left is for who adds to it.
const CommentRoom = 60_000

// What parts of a comment take at most, in bytes as they are escaped.
const (
	longText  = 2_000  // a paragraph
	longName  = 200    // a cell of a table
	tableRoom = 24_000 // a table that is not folded
)

// Markdown writes a document as GitHub-flavoured Markdown in so many bytes, or 0 for as many as it takes. What there is no room for is
// counted. It fails with the error of w, to which it writes once.
func Markdown(w io.Writer, d *report.Document, room int) error {
	m := &markdown{bounded: room > 0, room: room - 1000}
	m.part("**" + sign(d) + m.escape(d.Title, longText) + "**")
	m.part(m.escape(d.When, longText))
	for i := 0; i < len(d.Blocks); {
		n := 1 // with those that belong to it
		for i+n < len(d.Blocks) && d.Blocks[i].Detail && d.Blocks[i+n].Detail && d.Blocks[i+n].Heading == "" {
			n++
		}
		if err := m.section(d.Blocks[i : i+n]); err != nil {
			return err
		}
		i += n
	}
	if m.left > 0 {
		m.out.WriteString("\n*" + format.Plural(m.left, "part") + " more in other formats*\n")
	}
	if _, err := io.WriteString(w, m.out.String()); err != nil {
		return fmt.Errorf("draw: %w", err)
	}
	return nil
}

// markdown is what is written so far, and how much room is left.
type markdown struct {
	out     strings.Builder
	bounded bool
	room    int
	left    int // parts for which there was no room
}

// part writes lines, with a blank line before them, if there is room, and reports whether there was.
func (m *markdown) part(lines ...string) bool {
	text := strings.Join(lines, "\n") + "\n"
	if text == "\n" {
		return true
	}
	if m.out.Len() > 0 {
		text = "\n" + text
	}
	if m.bounded && len(text) > m.room {
		m.left++
		return false
	}
	m.room -= len(text)
	m.out.WriteString(text)
	return true
}

// section writes blocks of which the first alone may have a heading.
func (m *markdown) section(blocks []report.Block) error {
	written := false
	for _, b := range blocks {
		if b.Text == nil && b.Table == nil {
			continue
		}
		heading := m.escape(b.Heading, longText)
		switch {
		case b.Detail && !written:
			heading = "<details><summary>" + heading + "</summary>"
		case heading != "":
			heading = "**" + heading + "**"
		}
		if !m.part(heading) {
			continue
		}
		written = true
		for _, text := range b.Text {
			m.text(text)
		}
		if b.Table != nil && len(b.Table.Rows) > 0 {
			if err := m.table(b.Table, b.Detail); err != nil {
				return err
			}
		}
	}
	if written && blocks[0].Detail {
		m.out.WriteString("\n</details>\n")
	}
	return nil
}

func (m *markdown) text(text report.Text) {
	if !text.Code {
		m.part(m.escape(text.Text, longText))
		return
	}
	fence := "```"
	for strings.Contains(text.Text, fence) {
		fence += "`"
	}
	m.part(append(append([]string{fence}, codeLines(text.Text)...), fence)...)
}

// table writes a table, one for each group of its rows, as many rows as there is room for; facts are a list.
func (m *markdown) table(t *report.Table, folded bool) error {
	if t.Columns == nil {
		m.facts(t)
		return nil
	}
	for from := 0; from < len(t.Rows); {
		to := from + 1
		for to < len(t.Rows) && t.Rows[to].Group == "" {
			to++
		}
		if title := t.Rows[from].Group; title != "" {
			m.part("*" + m.escape(title, longText) + "*")
		}
		g := gridOf(&report.Table{Columns: t.Columns, Rows: t.Rows[from:to]}, func(s string) string { return m.escape(s, longName) })
		lines, err := g.markdown()
		if err != nil {
			return err
		}
		room := m.room - longName
		if !folded {
			room = min(room, tableRoom)
		}
		for i, line := range lines {
			if room -= len(line) + 1; room < 0 && m.bounded {
				lines = append(lines[:i:i], "", "*"+format.Plural(len(lines)-i, "row")+" more in other formats*")
				break
			}
		}
		m.part(lines...)
		from = to
	}
	var lines []string
	for _, mark := range marks(t) {
		lines = append(lines, "- "+m.escape(mark.Code+": "+mark.Line, longText))
	}
	m.part(lines...)
	return nil
}

func (m *markdown) facts(t *report.Table) {
	var lines []string
	for _, r := range t.Rows {
		for _, c := range r.Cells[1:] {
			lines = append(lines, "- "+m.escape(strings.TrimLeft(r.Cells[0].Text+": ", ": ")+c.Text, longText))
		}
		for _, mark := range r.Marks {
			lines = append(lines, "- "+m.escape(code(mark)+": "+mark.Line, longText))
		}
	}
	m.part(lines...)
}

func (m *markdown) escape(text string, most int) string {
	if text = strings.ReplaceAll(text, format.Unbroken, " "); !m.bounded {
		return escapes.Replace(format.Clean(text))
	}
	return escapeWithin(text, most)
}

// escapes are of one character each, so that a text can be escaped character by character: names of files and servers must not
// become markup, or mention a user.
var escapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `\`, `\\`, "*", `\*`, "_", `\_`, "`", "\\`",
	"[", `\[`, "]", `\]`, "#", `\#`, "~", `\~`, "@", "@\u200b")

// escapeWithin returns escaped text of at most so many bytes, cut between two characters of the text: half an escape would be
// another text, or markup.
func escapeWithin(text string, most int) string {
	const more = "…"
	text = format.Clean(text[:min(len(text), 4*most+4)]) // no character takes fewer bytes when it is cleaned and escaped
	var b strings.Builder
	end := 0 // of what leaves room for more
	for _, r := range text {
		b.WriteString(escapes.Replace(string(r)))
		switch n := b.Len(); {
		case n > most:
			return b.String()[:end] + more
		case n <= most-len(more):
			end = n
		}
	}
	return b.String()
}
