package draw

// Documents as GitHub-flavoured Markdown, for a comment.

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/report"
)

// CommentRoom is how many bytes a document takes in Markdown at the most. GitHub refuses a comment of more than 65,536 characters;
// what is left is for who adds to it.
const CommentRoom = 60_000

// What parts of a comment take at the most, in bytes as they are written: escaped, & takes five.
const (
	tableRoom    = 24_000
	findingsRoom = 14_000
	listRoom     = 8_000
	longText     = 2_000 // of a sentence
	longName     = 200   // of what a table has in one place
)

// Markdown writes a document in so many bytes, CommentRoom for a comment, or 0 for as many as it takes. What there is no room for is
// counted. It fails with the error of w, to which it writes once.
func Markdown(w io.Writer, d *report.Document, room int) error {
	m := &markdown{room: room - longText, bounded: true}
	if room <= 0 {
		m.room, m.bounded = math.MaxInt, false
	}
	if d.Title != "" {
		m.line("**" + strings.TrimLeft(d.Mark+" ", " ") + m.sentence(d.Title) + "**")
	}
	if err := m.blocks(d.Blocks); err != nil {
		return err
	}
	if m.left > 0 {
		m.out.WriteString("\n*… and " + format.Plural(m.left, "part") + " more, for which there is no room here.*\n")
	}
	if _, err := io.WriteString(w, m.out.String()); err != nil {
		return fmt.Errorf("draw: %w", err)
	}
	return nil
}

// markdown is what is written so far, and how much room is left.
type markdown struct {
	out  strings.Builder
	room int
	left int // parts for which there was no room

	bounded bool // no part takes all of it
	folded  bool // what is written now is folded away, and may take what is left
}

// line writes lines as a part, with a blank line before it, if there is room, and reports whether there was.
func (m *markdown) line(lines ...string) bool {
	text := strings.Join(lines, "\n") + "\n"
	if m.out.Len() > 0 {
		text = "\n" + text
	}
	if m.room -= len(text); m.room < 0 {
		m.left++
		return false
	}
	m.out.WriteString(text)
	return true
}

func (m *markdown) blocks(blocks []report.Block) error {
	for _, b := range report.Of(blocks, report.Comment) {
		switch b := b.(type) {
		case report.Paragraph:
			switch text := m.sentence(b.Text); {
			case b.Note:
				m.line("<sub>" + text + "</sub>")
			case b.Strong:
				m.line("**" + text + "**")
			default:
				m.line(text)
			}
		case report.Command:
			m.line("`" + strings.ReplaceAll(format.Line(string(b)), "`", "'") + "`")
		case report.Code:
			fence := "```"
			for strings.Contains(string(b), fence) {
				fence += "`"
			}
			m.line(slices.Concat([]string{fence}, codeLines(b), []string{fence})...)
		case report.Findings:
			var items []string
			for _, f := range b {
				lead := ""
				if f.Lead != "" {
					lead = "**" + m.sentence(f.Lead) + "** "
				}
				items = append(items, lead+m.sentence(f.Text))
			}
			m.list(items, findingsRoom)
		case report.Facts:
			var items []string
			for _, f := range b.Of(report.Comment) {
				for _, line := range f.Lines {
					items = append(items, m.sentence(f.Label+": "+line))
				}
			}
			m.list(items, listRoom)
		case report.List:
			var items []string
			for _, item := range b {
				items = append(items, m.sentence(strings.TrimSpace(item.Mark+" "+item.Text)))
			}
			m.list(items, listRoom)
		case report.Table:
			if err := m.table(b); err != nil {
				return err
			}
		case report.Section:
			title := "**" + m.sentence(b.Title) + "**"
			if b.About != "" {
				title += " " + m.sentence(b.About)
			}
			if b.Folded {
				title = "<details><summary>" + m.sentence(strings.TrimSpace(b.Title+" "+b.Mark+" "+b.Status)) + "</summary>"
			}
			if !m.line(title) {
				continue
			}
			outer := m.folded
			m.folded = outer || b.Folded
			err := m.blocks(b.Blocks)
			if m.folded = outer; err != nil {
				return err
			}
			if b.Folded {
				m.out.WriteString("\n</details>\n") // for which longText has room
			}
		}
	}
	return nil
}

// list writes items of Markdown, as many as there is room for.
func (m *markdown) list(items []string, most int) {
	if len(items) == 0 {
		return
	}
	var lines []string
	room := m.room
	if m.bounded {
		room = min(room, most)
	}
	for i, item := range items {
		line := "- " + item
		if room -= len(line) + 1; room < 0 {
			lines = append(lines, "- and "+format.Count(int64(len(items)-i))+" more")
			break
		}
		lines = append(lines, line)
	}
	m.line(lines...)
}

// table writes a table, or one for each group of its rows, as many rows as there is room for.
func (m *markdown) table(t report.Table) error {
	t = columnsOf(t, report.Comment, !t.Matrix)
	if t.Matrix {
		for i := range t.Columns[1:] {
			t.Columns[i+1].Title = t.Columns[i+1].Short
		}
	}
	for from := 0; from < len(t.Rows) || from == 0; {
		to := from + 1
		for to < len(t.Rows) && t.Rows[to].Group == "" {
			to++
		}
		of := t
		if of.Rows = t.Rows[from:min(to, len(t.Rows))]; len(of.Rows) > 0 && of.Rows[0].Group != "" {
			m.line("**" + m.sentence(of.Rows[0].Group) + "**")
		}
		if err := m.group(of); err != nil {
			return err
		}
		from = to
	}
	return nil
}

func (m *markdown) group(t report.Table) error {
	g := gridOf(t, func(text string) string {
		return m.escape(text, longName)
	})
	for i, r := range t.Rows {
		for j, v := range r.Cells {
			if v.Strong {
				g.Rows[i][j] = "**" + g.Rows[i][j] + "**"
			}
		}
	}
	lines, err := g.Markdown()
	if err != nil {
		return err
	}
	room := m.room - 300 // with what is said of those that have none
	if m.bounded && !m.folded {
		room = min(room, tableRoom)
	}
	for i, line := range lines {
		if room -= len(line) + 1; room < 0 {
			lines = append(lines[:i:i], "", "*… and "+format.Plural(len(lines)-i, "row")+" more, for which there is no room here: other formats have all of them.*")
			break
		}
	}
	m.line(lines...)
	return nil
}

// sentence returns text for Markdown, cut if it is very long and there is not room for all.
func (m *markdown) sentence(text string) string { return m.escape(text, longText) }

func (m *markdown) escape(text string, most int) string {
	if text = strings.ReplaceAll(text, format.Unbroken, " "); !m.bounded {
		return Escape(text)
	}
	return EscapeWithin(text, most)
}

// escapes are of one character each, so that a text can be escaped character by character.
var escapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `\`, `\\`, "*", `\*`, "_", `\_`, "`", "\\`",
	"[", `\[`, "]", `\]`, "#", `\#`, "~", `\~`, "@", "@\u200b")

// Escape returns text that Markdown takes as it is: names of files and servers must not become markup, or mention a user.
func Escape(text string) string { return escapes.Replace(format.Clean(text)) }

// EscapeWithin returns escaped text of at most so many bytes, cut between two characters of the text: half an escape would
// be another text, or markup.
func EscapeWithin(text string, most int) string {
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
