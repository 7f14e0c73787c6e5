package catalog

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/exec"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/wait"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/workloads/matrix"
	"github.com/lockbench/lockbench/workloads/presets"
	"github.com/lockbench/lockbench/workloads/target"
)

// Width is how many columns a page has.
const Width = 98

// Lines returns what write writes.
func Lines(write func(b *strings.Builder)) string {
	var b strings.Builder
	write(&b)
	return b.String()
}

// Table returns a row for each label with its text, which is wrapped.
func Table(rows [][2]string) string {
	width := 0
	for _, r := range rows {
		width = max(width, utf8.RuneCountInString(r[0]))
	}
	return Lines(func(b *strings.Builder) {
		for _, r := range rows {
			head := fmt.Sprintf("  %-*s  ", width, r[0])
			b.WriteString(strings.Join(format.Wrap(head, r[1], Width), "\n") + "\n")
		}
	})
}

// Addresses returns the forms of the addresses of all services.
func Addresses() string {
	var rows [][2]string
	for _, s := range servers.Services() {
		forms := slices.Clone(s.Forms)
		if len(forms) == 0 {
			forms = []string{s.Example()}
		}
		if s.Variable != "" {
			forms = append(forms, "or the variable "+s.Variable)
		}
		name := s.Name
		for _, form := range forms {
			rows = append(rows, fact(name, form))
			name = "" // in the first row alone
		}
	}
	return Table(rows)
}

// DriverList returns all drivers and their client libraries.
func DriverList() string {
	var rows [][2]string
	for _, name := range drivers.Names() {
		about := "in this process: no server"
		if s := target.Service(name); s != nil {
			about = cmp.Or(matrix.Library(name).Module, "for "+s.Name)
		}
		rows = append(rows, fact(name, about))
	}
	return Table(rows)
}

// AdapterList returns the adapters that are shipped.
func AdapterList() string {
	var rows [][2]string
	for _, a := range exec.Shipped {
		rows = append(rows, fact(a.Name, adapterAbout(a.Language, a.Library, a.Service)))
	}
	return Table(rows)
}

// adapterAbout says what an adapter is.
func adapterAbout(language, library, service string) string {
	if library == "" {
		return "a lock that excludes nobody, in " + language
	}
	return library + " of " + language + ", for " + service
}

// Waits returns all ways of waiting.
func Waits() string {
	rows := [][2]string{fact(matrix.Auto, "native if the design has a way of its own, else backoff: the default")}
	for _, k := range wait.Kinds() {
		rows = append(rows, fact(k.Name, k.Text))
	}
	return Table(rows)
}

// Presets returns all presets.
func Presets() string {
	var rows [][2]string
	for _, name := range presets.Names() {
		rows = append(rows, fact(name, presets.About(name)))
	}
	return Table(rows)
}

// groupTitles are the questions that the groups of metrics answer.
var groupTitles = []struct {
	group metric.Group
	title string
}{
	{metric.Speed, "How fast"}, {metric.Fairness, "How fair"}, {metric.Safety, "How safe"},
	{metric.Outcomes, "What became of the requests"}, {metric.Cost, "What a lock costs"}, {metric.Machine, "What lockbench itself used"},
}

// Metrics returns all metrics by their groups, each with an amount as a threshold writes it and what it is.
func Metrics() string {
	names := 0
	for _, name := range metric.Names() {
		if !strings.Contains(name, ".") {
			names = max(names, len(name))
		}
	}
	row := func(b *strings.Builder, name, amount, about string) {
		head := fmt.Sprintf("  %-*s  %-5s  ", names, name, amount)
		b.WriteString(strings.Join(format.Wrap(head, about, Width), "\n") + "\n")
	}
	return Lines(func(b *strings.Builder) {
		for _, g := range groupTitles {
			fmt.Fprintf(b, "%s:\n", g.title)
			for _, m := range metric.Of(g.group) {
				if !strings.Contains(m.Name, ".") {
					row(b, m.Name, m.Unit.Example, m.About)
				}
			}
			if g.group == metric.Speed {
				fmt.Fprintf(b, "\nLatencies, each with %s, as in acquire.p99:\n", strings.Join(quantileNames(), " "))
				for _, d := range metric.Distributions {
					row(b, string(d.Metric), metric.Duration.Example, d.About)
				}
			}
			b.WriteByte('\n')
		}
	})
}

// quantileNames returns what the names of latencies end with.
func quantileNames() (names []string) {
	for _, name := range metric.Names() {
		if _, quantile, ok := strings.Cut(name, "."); ok && !slices.Contains(names, "."+quantile) {
			names = append(names, "."+quantile)
		}
	}
	return names
}
