package html

// How verdicts are drawn.

import (
	"strings"

	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
)

// class returns how a verdict is drawn.
func class(v compare.Verdict) string {
	switch v {
	case compare.Regressed:
		return "bad"
	case compare.Inconclusive:
		return "warn"
	case compare.Improved:
		return "good"
	}
	return "same"
}

// mark returns the sign beside the word of a verdict, for those who look before they read.
func mark(v compare.Verdict) string {
	return map[compare.Verdict]string{
		compare.Regressed: "✕", compare.Inconclusive: "○", compare.Improved: "▲", compare.NotWorse: "●", compare.Unchanged: "●",
	}[v]
}

// tallies returns how many cells, or figures of a single one, have each verdict.
func (t *twoSides) tallies() (all []verdictCount) {
	counts, noun, n := map[compare.Verdict]int{}, "cells", len(t.Cells)
	for _, c := range t.Cells {
		counts[c.Verdict]++
	}
	if t.single() {
		clear(counts)
		for _, g := range t.judged {
			counts[g.Verdict]++
		}
		_, noun, _ = strings.Cut(format.Verb(len(t.judged), "figure judged", "figures judged"), " ")
		n = len(t.judged)
	}
	all = append(all, verdictCount{format.Count(n), "", noun, ""})
	for _, v := range compare.Verdicts {
		if of := counts[v]; of > 0 {
			all = append(all, verdictCount{format.Count(of), mark(v), string(v), class(v)})
		}
	}
	return all
}

func cleaned(texts []string) (all []string) {
	for _, text := range texts {
		all = append(all, format.Line(text))
	}
	return all
}

// betterWhen returns which way a figure improves.
func betterWhen(f *metric.Metric) string {
	switch f.Better {
	case metric.Higher:
		return "more is better"
	case metric.Lower:
		return "less is better"
	}
	return ""
}
