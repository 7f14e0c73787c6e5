package catalog

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/wait"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/workloads/hazards"
	"github.com/lockbench/lockbench/workloads/matrix"
	"github.com/lockbench/lockbench/workloads/presets"
)

// Row returns a head and a text beside it, which is wrapped.
func Row(head, text string) string { return strings.Join(format.Wrap(head, text, 98), "\n") + "\n" }

// table returns pairs of a label and a text, the texts beside the labels.
func table(pairs []string) (text string) {
	width := 0
	for pair := range slices.Chunk(pairs, 2) {
		width = max(width, utf8.RuneCountInString(pair[0]))
	}
	for pair := range slices.Chunk(pairs, 2) {
		text += Row(fmt.Sprintf("  %-*s  ", width, pair[0]), pair[1])
	}
	return text
}

func pairs[T any](list []T, pair func(T) (label, text string)) (all []string) {
	for _, v := range list {
		label, text := pair(v)
		all = append(all, label, text)
	}
	return all
}

// Designs returns all lock designs, the drivers that have them, and what they imitate.
func Designs() string {
	var all []drivers.Design
	of := map[string]string{} // the drivers with a design, by what it imitates
	for _, name := range drivers.Names() {
		d, _ := drivers.Lookup(name)
		for _, design := range d.Designs() {
			if of[design.Models] == "" {
				all = append(all, design)
			}
			of[design.Models] += "," + name
		}
	}
	return table(pairs(all, func(d drivers.Design) (string, string) {
		return d.Name, "-driver " + of[d.Models][1:] + ": " + d.Models
	}))
}

// Hazards returns all hazards.
func Hazards() string {
	return table(pairs(hazards.All(), func(h hazards.Hazard) (string, string) {
		return string(h.Name), cmp.Or(h.About, "lockbench prove -hazard "+string(h.Name)+" makes it happen")
	}))
}

// ClaimsMean returns all claims, and what they mean.
func ClaimsMean() string {
	return table(pairs(Claimed, func(c Claim) (string, string) { return c.Name, c.Means }))
}

// Waits returns all ways of waiting.
func Waits() string {
	auto := wait.Kind{Name: matrix.Auto, Text: "native if the design has a way of its own, else backoff: the default"}
	kinds := append([]wait.Kind{auto}, wait.Kinds()...)
	return table(pairs(kinds, func(k wait.Kind) (string, string) { return k.Name, k.Text }))
}

// Presets returns all presets.
func Presets() string {
	return table(pairs(presets.Names(), func(name string) (string, string) { return name, presets.About(name) }))
}

// groupTitles are the questions that the groups of metrics answer.
var groupTitles = []string{
	metric.Speed: "How fast", metric.Fairness: "How fair", metric.Safety: "How safe",
	metric.Outcomes: "What became of the requests", metric.Cost: "What a lock costs",
	metric.Machine: "What lockbench itself used",
}

// Metrics returns all metrics by their groups, each with an amount as a threshold writes it and what it is.
func Metrics() (text string) {
	add := func(name, amount, about string) { text += Row(fmt.Sprintf("  %-19s  %-5s  ", name, amount), about) }
	for group, title := range groupTitles {
		text += title + ":\n"
		for _, m := range metric.Of(metric.Group(group)) {
			if !strings.Contains(m.Name, ".") {
				add(m.Name, m.Unit.Example, m.About)
			}
		}
		if metric.Group(group) == metric.Speed {
			text += "\nLatencies, each with .p50 .p90 .p99 .p999 .mean .max, as in acquire.p99:\n"
			for _, d := range metric.Distributions {
				add(string(d.Metric), metric.Duration.Example, d.About)
			}
		}
		text += "\n"
	}
	return text
}
