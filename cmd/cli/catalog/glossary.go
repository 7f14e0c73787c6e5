package catalog

import (
	"cmp"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results/report"
)

// Glossary returns the words of reports and the claims of designs in alphabetical order.
func Glossary() []report.Term {
	terms := slices.Clone(report.Glossary)
	for _, c := range Claimed {
		terms = append(terms, report.Term{Name: c.Name, Means: c.Means})
	}
	slices.SortStableFunc(terms, func(a, b report.Term) int { return cmp.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)) })
	return terms
}

// Terms explains some words of the glossary; without names all of them.
func Terms(names ...string) string {
	var rows report.Facts
	for _, t := range Glossary() {
		if len(names) == 0 || slices.Contains(names, t.Name) {
			rows = append(rows, fact(t.Name, t.Means))
		}
	}
	return Table(rows)
}
