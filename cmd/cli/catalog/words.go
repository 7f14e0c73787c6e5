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
	"github.com/lockbench/lockbench/workloads/hazards"
	"github.com/lockbench/lockbench/workloads/matrix"
	"github.com/lockbench/lockbench/workloads/presets"
	"github.com/lockbench/lockbench/workloads/target"
)

// Width is how many columns a page has.
const Width = 98

// Row returns a head and a text beside it, which is wrapped.
func Row(head, text string) string { return strings.Join(format.Wrap(head, text, Width), "\n") + "\n" }

// Table returns a row for each label with its text.
func Table(rows [][2]string) (table string) {
	width := 0
	for _, r := range rows {
		width = max(width, utf8.RuneCountInString(r[0]))
	}
	for _, r := range rows {
		table += Row(fmt.Sprintf("  %-*s  ", width, r[0]), r[1])
	}
	return table
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

// DesignList returns all lock designs of all drivers, and what they imitate.
func DesignList() string {
	var rows [][2]string
	for _, name := range drivers.Names() {
		d, _ := drivers.Lookup(name)
		for _, design := range d.Designs() {
			about := "-driver " + name + ": " + design.Models
			if i := slices.IndexFunc(rows, func(r [2]string) bool { return r[0] == design.Name && strings.HasSuffix(r[1], ": "+design.Models) }); i >= 0 {
				rows[i][1] = strings.Replace(rows[i][1], ": ", ","+name+": ", 1)
			} else {
				rows = append(rows, fact(design.Name, about))
			}
		}
	}
	return Table(rows)
}

// HazardList returns all hazards.
func HazardList() string {
	var rows [][2]string
	for _, h := range hazards.All() {
		rows = append(rows, fact(string(h.Name), cmp.Or(h.About, "lockbench prove -hazard "+string(h.Name)+" makes it happen")))
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
	text := ""
	add := func(name, amount, about string) {
		text += Row(fmt.Sprintf("  %-*s  %-5s  ", names, name, amount), about)
	}
	for _, g := range groupTitles {
		text += g.title + ":\n"
		for _, m := range metric.Of(g.group) {
			if !strings.Contains(m.Name, ".") {
				add(m.Name, m.Unit.Example, m.About)
			}
		}
		if g.group == metric.Speed {
			text += fmt.Sprintf("\nLatencies, each with %s, as in acquire.p99:\n", strings.Join(quantileNames(), " "))
			for _, d := range metric.Distributions {
				add(string(d.Metric), metric.Duration.Example, d.About)
			}
		}
		text += "\n"
	}
	return text
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
