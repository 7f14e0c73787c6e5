package render

// Labels: what a cell is called where it has no row with columns.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
)

// plainAxes are those whose values say what they are of.
var plainAxes = []string{"driver", "lock", "wait", "topology", "workload", "load", "kind", "durability", "server"}

// Labels are names for cells that stand side by side: the axes in which they differ, as the table of a run has them. One
// cell alone has none (""). No two are alike: what also differs, and is too long for a name, is said if nothing else
// tells two cells apart, and in the end they are numbered.
func Labels(cells []*results.Cell) []string {
	labels := make([]string, len(cells))
	if len(cells) < 2 {
		return labels
	}
	add := func(in func(a axis) bool, to func(i int) bool) {
		for _, a := range axes {
			if _, differs := a.compare(cells); !differs || !in(a) {
				continue
			}
			for i, c := range cells {
				if v := format.Clean(a.value(c)); to(i) {
					labels[i] = joined(labels[i], a, v)
				}
			}
		}
	}
	short := func(a axis) bool { return !a.wide && a.title != "trials" && a.title != "claims" }
	add(short, func(int) bool { return true })
	had, cellsOf := slices.Clone(labels), counts(labels)
	add(func(a axis) bool { return !short(a) }, func(i int) bool { return cellsOf[had[i]] > 1 })
	cellsOf = counts(labels)
	numbered := map[string]int{}
	for i, label := range labels {
		if cellsOf[label] > 1 {
			numbered[label]++
			labels[i] = strings.TrimSpace(fmt.Sprintf("%s #%d", label, numbered[label]))
		}
	}
	return labels
}

// joined is the label with the value of one more axis.
func joined(label string, a axis, v string) string {
	switch {
	case v == "" && a.absent == "":
		return label
	case v == "":
		v = a.absent
	}
	if !slices.Contains(plainAxes, a.title) {
		v = a.title + " " + v
	}
	if label == "" {
		return v
	}
	return label + " · " + v
}

// counts tells how often each text is in a list.
func counts(list []string) map[string]int {
	n := make(map[string]int, len(list))
	for _, s := range list {
		n[s]++
	}
	return n
}
