package catalog

import (
	"cmp"
	"fmt"
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

// Width is how many columns a page has.
const Width = 98

// Row returns a head and a text beside it, which is wrapped.
func Row(head, text string) string { return strings.Join(format.Wrap(head, text, Width), "\n") + "\n" }

// Table returns a row for each label with its text.
func Table(rows ...[2]string) (table string) {
	width := 0
	for _, r := range rows {
		width = max(width, utf8.RuneCountInString(r[0]))
	}
	for _, r := range rows {
		table += Row(fmt.Sprintf("  %-*s  ", width, r[0]), r[1])
	}
	return table
}

func rowsOf[T any](list []T, row func(T) [2]string) (rows [][2]string) {
	for _, v := range list {
		rows = append(rows, row(v))
	}
	return rows
}

// DesignList returns all lock designs, the drivers that have them, and what they imitate.
func DesignList() string {
	var rows [][2]string
	of := map[[2]string]string{} // the drivers with a design
	for _, name := range drivers.Names() {
		d, _ := drivers.Lookup(name)
		for _, design := range d.Designs() {
			row := fact(design.Name, design.Models)
			if of[row] == "" {
				rows = append(rows, row)
			}
			of[row] += "," + name
		}
	}
	return Table(rowsOf(rows, func(row [2]string) [2]string { return fact(row[0], "-driver "+of[row][1:]+": "+row[1]) })...)
}

// HazardList returns all hazards.
func HazardList() string {
	return Table(rowsOf(hazards.All(), func(h hazards.Hazard) [2]string {
		return fact(string(h.Name), cmp.Or(h.About, "lockbench prove -hazard "+string(h.Name)+" makes it happen"))
	})...)
}

// adapterAbout says what an adapter is.
func adapterAbout(language, library, service string) string {
	if library == "" {
		return "a lock that excludes nobody, in " + language
	}
	return library + " of " + language + ", for " + service
}

// ClaimList returns all claims.
func ClaimList() string {
	return Table(rowsOf(Claimed, func(c Claim) [2]string { return fact(c.Name, c.Means) })...)
}

// Waits returns all ways of waiting.
func Waits() string {
	auto := fact(matrix.Auto, "native if the design has a way of its own, else backoff: the default")
	kinds := rowsOf(wait.Kinds(), func(k wait.Kind) [2]string { return fact(k.Name, k.Text) })
	return Table(append([][2]string{auto}, kinds...)...)
}

// Presets returns all presets.
func Presets() string {
	return Table(rowsOf(presets.Names(), func(name string) [2]string { return fact(name, presets.About(name)) })...)
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
