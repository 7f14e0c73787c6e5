package draw

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"

	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/report"
)

// CommentRoom is how many bytes a document takes in Markdown at most. GitHub refuses a comment of more than 65,536
// characters; what is left is for who adds to it.
const CommentRoom = 60_000

// longest is how many characters a text has at most, and a cell of a table.
const longest = 2000

// Markdown writes a document as GitHub-flavoured Markdown in so many bytes, or 0 for as many as it takes. What there is
// no room for is counted. It fails with the error of w, to which it writes once.
func Markdown(w io.Writer, d *report.Document, room int) error {
	m := &markdown{room: cmp.Or(room, math.MaxInt) - 1000}
	m.part("**" + literal(sign(d)+d.Title) + "**")
	m.part(literal(d.When))
	for _, s := range sections(d, false) {
		if err := m.section(s); err != nil {
			return err
		}
	}
	if m.lost > 0 {
		m.out.WriteString("\n" + left(m.lost, "part") + "\n")
	}
	if _, err := io.WriteString(w, m.out.String()); err != nil {
		return fmt.Errorf("draw: %w", err)
	}
	return nil
}

func left(n int, noun string) string { return "*" + format.Plural(n, noun) + " more in other formats*" }

// markdown is what is written so far, and how much room is left.
type markdown struct {
	out  strings.Builder
	room int
	lost int // parts for which there was no room
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
	if len(text) > m.room {
		m.lost++
		return false
	}
	m.room -= len(text)
	m.out.WriteString(text)
	return true
}

func (m *markdown) section(s section) error {
	heading := literal(s.Heading)
	switch {
	case s.Detail:
		heading = "<details><summary>" + heading + "</summary>"
	case heading != "":
		heading = "**" + heading + "**"
	}
	if !m.part(heading) {
		return nil
	}
	for _, b := range s.Blocks {
		for _, text := range b.Text {
			m.text(text)
		}
		switch {
		case b.Table == nil || len(b.Table.Rows) == 0:
		case b.Table.Columns == nil:
			m.facts(b.Table)
		default:
			if err := m.table(b.Table); err != nil {
				return err
			}
		}
	}
	if s.Detail {
		m.out.WriteString("\n</details>\n")
	}
	return nil
}

func (m *markdown) text(text report.Text) {
	if !text.Code {
		m.part(literal(text.Text))
		return
	}
	fence := "```"
	for strings.Contains(text.Text, fence) {
		fence += "`"
	}
	m.part(append(append([]string{fence}, codeLines(text.Text)...), fence)...)
}

// facts writes a list.
func (m *markdown) facts(t *report.Table) {
	var lines []string
	label := ""
	for _, f := range facts(t) {
		label = cmp.Or(f.Label, label)
		lines = append(lines, "- "+literal(strings.TrimPrefix(label+": "+f.Text, ": ")))
	}
	m.part(lines...)
}

// table writes a table, and as many of its rows as half the room has place for.
func (m *markdown) table(t *report.Table) error {
	lines, err := layout{
		title: func(title string) string { return cell(oneLine(title)) },
		cell:  func(c report.Cell) string { return cell(c.Text) },
		group: func(title string) string { return strings.TrimPrefix("**"+cell(title)+"**", "****") },
	}.lines(t, tablewriter.WithRenderer(renderer.NewMarkdown()))
	if err != nil {
		return err
	}
	room := m.room / 2
	for i, line := range lines {
		if room -= len(line) + 1; room < 0 {
			lines = append(lines[:i:i], "", left(len(lines)-i, "row"))
			break
		}
	}
	m.part(lines...)
	lines = nil
	for _, mark := range notes(t) {
		lines = append(lines, "- "+literal(meaning(mark)))
	}
	m.part(lines...)
	return nil
}

// cell escapes a text for a cell, where tablewriter leaves a bar bare.
func cell(text string) string { return strings.ReplaceAll(literal(text), "|", `\|`) }

func literal(text string) string { return escapes.Replace(format.Line(format.Cut(text, longest))) }

// escapes keep names of files and servers from becoming markup, or from mentioning a user.
var escapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `\`, `\\`, "*", `\*`, "_", `\_`, "`", "\\`",
	"[", `\[`, "]", `\]`, "#", `\#`, "~", `\~`, "@", "@\u200b")
