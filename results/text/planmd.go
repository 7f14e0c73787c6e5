package text

import (
	"io"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results/capacity"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/view"
)

// PlanSheet returns the ranked table with every column of which anything is known: the names of the candidates first.
func PlanSheet(a *capacity.Answer) Sheet {
	columns := append([]planColumn{
		{"verdict", 0, func(c *capacity.CandidateAnswer) string { return view.PlanMark(c.Verdict) + " " + string(c.Verdict) }},
		{"guarantees", 0, view.PlanClaims},
	}, planColumns...)
	columns = append(columns, planColumn{"first full", 0, func(c *capacity.CandidateAnswer) string {
		if first := view.PlanFirst(c); first != "" {
			return first
		}
		return format.None
	}})
	g := planTable(a, columns, func(c *capacity.CandidateAnswer) string { return c.Name })
	g.Head[0] = "candidate"
	g = g.Keeping(func(col int) bool {
		return slices.ContainsFunc(g.Rows, func(row []string) bool { return row[col] != format.None })
	})
	s := Sheet{Right: g.Right}
	for _, head := range g.Head {
		s.Head = append(s.Head, strings.NewReplacer("-\n", "-", "\n/s", "/s", "\n/", " / ", "\n", " ").Replace(head))
	}
	for i, row := range g.Rows {
		for j := range row {
			row[j] = format.Line(row[j])
		}
		s.Rows, s.Cells = append(s.Rows, row), append(s.Cells, i)
	}
	for i, head := range s.Head {
		s.Right[i] = s.Right[i] && head != "verdict" && head != "guarantees" && head != "first full"
	}
	return s
}

// PlanMarkdown writes an answer as GitHub-flavoured Markdown, short enough for a comment: the ranked table with every column.
func PlanMarkdown(w io.Writer, a *capacity.Answer) error {
	a = a.Known()
	p := &page{}
	p.add("", "**"+view.PlanMark(a.Verdict)+" "+sentenceOf(view.PlanHeadline(a))+"**", "")
	if a.Advice != "" {
		p.add("", sentenceOf(a.Advice), "")
	}
	var items []string
	for _, an := range a.Analysis {
		items = append(items, "On paper: "+view.PlanAnalysis(an, a.Rate))
	}
	if effort := view.PlanEffort(a); effort != "" {
		items = append(items, "Measured: "+effort)
	}
	p.list(items, notesRoom)
	if s := PlanSheet(a); len(s.Rows) > 0 {
		g := grid{Head: s.Head, Right: s.Right, Rows: s.Rows}
		for _, row := range g.Rows {
			for i := range row {
				row[i] = escapedWithin(row[i], longName)
			}
		}
		lines, err := g.Markdown()
		if err != nil {
			return err
		}
		p.blank()
		p.rows(lines, tableRoom)
		p.blank()
	}
	items = nil
	for i := range a.Candidates {
		if c := &a.Candidates[i]; c.Verdict != capacity.Sustains {
			items = append(items, c.Name+" – "+view.PlanWhy(c))
		}
	}
	for _, fact := range [][2]string{{"Breaks", a.Breaks}, {"Strictest", view.PlanBinding(a)}, {"At 2 and 10 ×", view.PlanScale(a)}, {"Unseen", a.Unseen}} {
		if fact[1] != "" {
			items = append(items, fact[0]+": "+fact[1])
		}
	}
	for _, s := range a.Scaling {
		items = append(items, "Scaling: "+view.PlanScaling(s))
	}
	for _, text := range a.Warnings {
		items = append(items, "Warning: "+text)
	}
	for _, text := range planSkipped(a, false) {
		items = append(items, "Skipped: "+text)
	}
	p.list(items, findingsRoom)
	if risks := planRisks(a, false); len(risks) > 0 {
		p.add("", "", risks[0].text, "")
		items = nil
		for _, n := range risks[1:] {
			items = append(items, n.mark+" "+n.text)
		}
		p.list(items, notesRoom)
	}
	return p.writeTo(w)
}

// rows adds lines of a Markdown table, as many as there is room for in bytes.
func (p *page) rows(lines []string, room int) {
	for i, line := range lines {
		if room -= len(line) + 1; room < 0 {
			p.add("", "", "*… and "+format.Plural(len(lines)-i, "row")+" more, for which there is no room here: JSON has all of them.*")
			return
		}
		p.add("", line)
	}
}
