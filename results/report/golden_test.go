package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/results/pagetest"
)

var tones = map[Tone]string{Good: " (good)", Warn: " (warn)", Bad: " (bad)"}

// golden compares all of a document with a file of testdata. Each row has a cell for each column.
func golden(t *testing.T, name string, d *Document) {
	t.Helper()
	pagetest.Golden(t, name+".txt", dump(d))
	for _, block := range d.Blocks {
		for i := 0; block.Table != nil && block.Table.Columns != nil && i < len(block.Table.Rows); i++ {
			if cells := block.Table.Rows[i].Cells; len(cells) != len(block.Table.Columns) {
				t.Errorf("%s: %q has a row of %d cells: %v", name, block.Heading, len(cells), cells)
			}
		}
	}
}

// dump writes all of a document: no drawer has a part in it.
func dump(d *Document) string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	say("%s\n%s%s\n%s", d.Command, d.Title, tones[d.Tone], d.When)
	for _, block := range d.Blocks {
		say("\n## %s%s", block.Heading, map[bool]string{true: " [detail]"}[block.Detail])
		for _, text := range block.Text {
			say("%s%s", text.Text, tones[text.Tone])
		}
		if block.Table != nil {
			dumpTable(say, block.Table)
		}
		if block.Chart != nil {
			dumpChart(say, block.Chart)
		}
	}
	return b.String()
}

func dumpTable(say func(string, ...any), t *Table) {
	var head []string
	for _, c := range t.Columns {
		head = append(head, strings.ReplaceAll(c.Title, "\n", "⏎"))
	}
	if head != nil {
		say("%s", strings.Join(head, " | "))
	}
	for _, r := range t.Rows {
		if r.Group != "" {
			say("-- %s", r.Group)
		}
		var cells []string
		for _, c := range r.Cells {
			cells = append(cells, c.Text+tones[c.Tone])
		}
		line := map[bool]string{true: "  "}[r.Part] + strings.Join(cells, " | ") + tones[r.Tone]
		for _, m := range r.Marks {
			line += " [" + strings.TrimSpace(m.Code+" "+m.Args) + ": " + m.Line + tones[m.Tone] + "]"
		}
		say("%s", line)
	}
}

func dumpChart(say func(string, ...any), c *Chart) {
	label := func(a Axis, v float64) string {
		if a.Label == nil {
			return fmt.Sprintf("%.3g", v)
		}
		return a.Label(v)
	}
	say("chart %d %s: %s (%s, %s)", c.Kind, c.Name, c.Title, c.X.Name, c.Y.Name)
	for _, s := range c.Series {
		line := s.Name + tones[s.Tone] + ": " + s.Text
		for _, p := range s.Points {
			line += fmt.Sprintf(" %s", label(c.X, p.X))
			of := c.X
			if c.Kind == Lines {
				of, line = c.Y, line+"="+label(c.Y, p.Y)
			}
			if p.Low != 0 || p.High != 0 {
				line += fmt.Sprintf(" [%s–%s]", label(of, p.Low), label(of, p.High))
			}
		}
		say("%s", line)
	}
	for _, l := range c.Uprights {
		say("line %s at %.3g", l.Name, l.At)
	}
}
