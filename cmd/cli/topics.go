// The pages of the help that are about a topic. Their prose is in files; what the program knows itself (flags, figures, formats,
// drivers) is filled in.

package cli

import (
	"cmp"
	"embed"
	"fmt"
	"slices"
	"strings"
	"text/template"
	"unicode/utf8"

	"github.com/lockbench/lockbench/cmd/cli/deploy"
	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/wait"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/view"
	"github.com/lockbench/lockbench/workloads/matrix"
)

// helpFiles has a template for each page. The first line of a topic's says in a few words what it is about.
//
//go:embed help/*.txt
var helpFiles embed.FS

// Pages that are no topics.
const (
	frontPage    = "front"
	allFlagsPage = "all"
)

// topics are those of the help in the order in which they are listed.
var topics = []string{
	"drivers", "waiting", "topologies", "durability", "leases", "loads", "workloads", "trials",
	"servers", "figures", "marks", "safety", "comparing", "gate", "formats", "own", "environment",
}

// helpWidth is how many columns a page has.
const helpWidth = 98

// page returns a page of the help.
func page(name string) string {
	var b strings.Builder
	t, err := template.New(name).Funcs(helpParts).Parse(helpText(name))
	if err == nil {
		err = t.Execute(&b, nil)
	}
	if err != nil {
		panic("lockbench: help " + err.Error()) // it is part of the program, and the tests have printed it
	}
	text := b.String()
	if slices.Contains(topics, name) {
		text = name + ": " + text
	}
	return strings.TrimRight(text, "\n") + "\n"
}

func helpText(name string) string {
	text, err := helpFiles.ReadFile("help/" + name + ".txt")
	if err != nil {
		panic("lockbench: " + err.Error())
	}
	return string(text)
}

// helpParts is what the templates may ask for. Each returns whole lines.
var helpParts = template.FuncMap{
	"all":       func() string { return lines(func(b *strings.Builder) { writeGroups(b, runFlags) }) },
	"flags":     topicFlags,
	"brief":     briefFlags,
	"topics":    topicList,
	"exits":     func() string { return exitCodes },
	"addresses": addressForms,
	"drivers":   driverList,
	"claims":    claimList,
	"waits":     waitList,
	"presets":   presetList,
	"metrics":   metricList,
	"marks":     markList,
	"limits":    limitList,
	"formats":   formatList,
	"variables": variableList,
}

// exitCodes are those of all commands.
const exitCodes = `Exit codes: 0 success · 1 error · 2 mistake in flags or a file · 3 a threshold was missed · 4 mutual
exclusion was violated by a design that claims it · 5 inconclusive · 130 interrupted, results kept.
`

func lines(write func(b *strings.Builder)) string {
	var b strings.Builder
	write(&b)
	return b.String()
}

// topicFlags returns the flags of a run under some headings.
func topicFlags(groups ...string) string {
	return lines(func(b *strings.Builder) {
		b.WriteString("Flags (lockbench help all says how to write them; * takes a list):\n")
		for _, f := range runFlags {
			if slices.Contains(groups, f.group) {
				f.writeHelp(b)
			}
		}
	})
}

// briefFlags returns a line for each of some flags.
func briefFlags(names ...string) string {
	return lines(func(b *strings.Builder) {
		for _, name := range names {
			f, _ := findFlag(name)
			f.writeBrief(b)
		}
	})
}

// topicList returns all topics, two on a line.
func topicList() string {
	return lines(func(b *strings.Builder) {
		half := (len(topics) + 1) / 2
		for i := range half {
			line := topicLine(topics[i])
			if i+half < len(topics) {
				line = fmt.Sprintf("%-51s%s", line, topicLine(topics[i+half]))
			}
			fmt.Fprintf(b, "  %s\n", line)
		}
	})
}

func topicLine(name string) string {
	about, _, _ := strings.Cut(helpText(name), "\n")
	return fmt.Sprintf("%-13s%s", name, about)
}

// table returns rows of a name and a text, which is wrapped.
func table(rows [][2]string) string {
	width := 0
	for _, r := range rows {
		width = max(width, utf8.RuneCountInString(r[0]))
	}
	return lines(func(b *strings.Builder) {
		for _, r := range rows {
			head := fmt.Sprintf("  %-*s  ", width, r[0])
			b.WriteString(strings.Join(format.Wrap(head, r[1], helpWidth), "\n") + "\n")
		}
	})
}

func addressForms() string {
	var rows [][2]string
	for _, s := range servers.Services() {
		forms := strings.Join(s.Forms, "\n")
		if forms == "" {
			forms = s.Example()
		}
		for i, form := range strings.Split(forms, "\n") {
			name := s.Name
			if i > 0 {
				name = ""
			}
			rows = append(rows, [2]string{name, form})
		}
		if s.Variable != "" {
			rows = append(rows, [2]string{"", "or the variable " + s.Variable})
		}
	}
	return table(rows)
}

func driverList() string {
	var rows [][2]string
	for _, name := range drivers.Names() {
		about := "in this process: no server"
		if s := deploy.Service(name); s != nil {
			about = cmp.Or(matrix.Library(name).Module, "for "+s.Name)
		}
		rows = append(rows, [2]string{name, about})
	}
	return table(rows)
}

func waitList() string {
	rows := [][2]string{{matrix.Auto, autoWait}}
	for _, k := range wait.Kinds() {
		rows = append(rows, [2]string{k.Name, k.Text})
	}
	return table(rows)
}

func presetList() string {
	var rows [][2]string
	for _, p := range listedPresets() {
		rows = append(rows, [2]string{p.Preset, p.About})
	}
	return table(rows)
}

// groupTitles are the questions that the groups of metrics answer.
var groupTitles = []struct {
	group metric.Group
	title string
}{
	{metric.Speed, "How fast"}, {metric.Fairness, "How fair"}, {metric.Safety, "How safe"},
	{metric.Outcomes, "What became of the requests"}, {metric.Cost, "What a lock costs"}, {metric.Machine, "What lockbench itself used"},
}

// metricList returns all metrics by their groups, each with an amount as a threshold writes it and what it is.
func metricList() string {
	names := 0
	for _, name := range metric.Names() {
		if !strings.Contains(name, ".") {
			names = max(names, len(name))
		}
	}
	row := func(b *strings.Builder, name, amount, about string) {
		head := fmt.Sprintf("  %-*s  %-5s  ", names, name, amount)
		b.WriteString(strings.Join(format.Wrap(head, about, helpWidth), "\n") + "\n")
	}
	return lines(func(b *strings.Builder) {
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

func markList() string {
	var rows [][2]string
	for _, f := range view.AllFlags() {
		name := f.Name
		if f.Doubt {
			name += " !"
		}
		rows = append(rows, [2]string{name, f.Means})
	}
	return table(rows)
}

func limitList() string {
	var rows [][2]string
	for _, l := range view.Limits {
		rows = append(rows, [2]string{string(l.By), l.Means})
	}
	return table(rows)
}

func formatList() string {
	return "Of a run and of report:\n" + aboutFormats(reportFormats) +
		"\nOf compare, and of a run with -vs or -baseline:\n" + aboutFormats(compareFormats) +
		"\nOf history:\n" + aboutFormats(historyFormats)
}

func variableList() string {
	rows := [][2]string{
		{"LOCKBENCH_…", "the default of any flag"},
		{passwordVariable, "the password at -addr; no flag takes it, because every user can read arguments"},
	}
	for _, s := range servers.Services() {
		if s.Variable != "" {
			rows = append(rows, [2]string{s.Variable, "the address of your " + s.Name + ", unless -addr or -server says otherwise"})
		}
		if s.PasswordVariable != "" {
			rows = append(rows, [2]string{s.PasswordVariable, "the password at your " + s.Name})
		}
		if s.Home != "" {
			rows = append(rows, [2]string{s.Home, "the unpacked archive of " + s.Name + " whose server lockbench starts"})
		}
	}
	return table(append(rows, [2]string{"NO_COLOR", "if set, no colours"}))
}
