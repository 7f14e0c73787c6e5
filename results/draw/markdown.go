package draw

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
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

// Markdown writes a document as GitHub-flavoured Markdown in so many bytes, or 0 for as many as it takes. Parts for
// which there is no room are counted. It fails with the error of w, to which it writes once.
func Markdown(w io.Writer, d *report.Document, room int) error {
	text, lost := "**"+literal(sign(d)+d.Title)+"**\n", 0
	if d.When != "" {
		text += "\n" + literal(d.When) + "\n"
	}
	room = cmp.Or(room, math.MaxInt) - 100 // for the count
	for _, s := range sections(d, false) {
		part, err := markdown(s, (room-len(text))/2)
		switch {
		case err != nil:
			return err
		case len(text)+len(part) > room:
			lost++
		default:
			text += part
		}
	}
	if lost > 0 {
		text += "\n" + left(lost, "part") + "\n"
	}
	if _, err := io.WriteString(w, text); err != nil {
		return fmt.Errorf("draw: %w", err)
	}
	return nil
}

func left(n int, noun string) string { return "*" + format.Plural(n, noun) + " more in other formats*" }

// markdown returns a section, with as many rows of a table as there is room for.
func markdown(s section, room int) (string, error) {
	heading := literal(s.Heading)
	if s.Detail {
		heading = "<details><summary>" + heading + "</summary>"
	} else if heading != "" {
		heading = "**" + heading + "**"
	}
	parts := []string{heading}
	for _, b := range s.Blocks {
		for _, text := range b.Text {
			part := literal(text.Text)
			if fence := "```"; text.Code {
				for strings.Contains(text.Text, fence) {
					fence += "`"
				}
				part = fence + "\n" + strings.Join(codeLines(text.Text), "\n") + "\n" + fence
			}
			parts = append(parts, part)
		}
		var list []string
		switch t := b.Table; {
		case t == nil || len(t.Rows) == 0:
		case t.Columns == nil:
			label := ""
			for _, f := range facts(t) {
				label = cmp.Or(f.Label, label)
				list = append(list, "- "+literal(strings.TrimPrefix(label+": "+f.Text, ": ")))
			}
		default:
			lines, err := tableLines(t, cell, group, tablewriter.WithRenderer(renderer.NewMarkdown()))
			if err != nil {
				return "", err
			}
			for i, line := range lines {
				if room -= len(line) + 1; room < 0 {
					lines = append(lines[:i:i], "", left(len(lines)-i, "row"))
					break
				}
			}
			parts = append(parts, strings.Join(lines, "\n"))
			for _, mark := range notes(t) {
				list = append(list, "- "+literal(meaning(mark)))
			}
		}
		parts = append(parts, strings.Join(list, "\n"))
	}
	if s.Detail {
		parts = append(parts, "</details>")
	}
	parts = slices.DeleteFunc(parts, func(part string) bool { return part == "" })
	return "\n" + strings.Join(parts, "\n\n") + "\n", nil
}

// cell returns what stands in a table, where tablewriter leaves a bar bare.
func cell(c report.Cell) string { return strings.ReplaceAll(literal(oneLine(c.Text)), "|", `\|`) }

func group(title string) string {
	return strings.TrimPrefix("**"+cell(report.Cell{Text: title})+"**", "****")
}

// literal keeps names of files and servers from becoming markup, or from mentioning a user.
func literal(text string) string { return escapes.Replace(format.Line(format.Cut(text, longest))) }

var escapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `\`, `\\`, "*", `\*`, "_", `\_`, "`", "\\`",
	"[", `\[`, "]", `\]`, "#", `\#`, "~", `\~`, "@", "@\u200b")
