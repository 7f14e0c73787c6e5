// The pages of the help that are about a topic. Their prose is in files; what the program knows itself (flags, figures, formats,
// drivers) is filled in.

package cli

import (
	"embed"
	"fmt"
	"slices"
	"strings"
	"text/template"

	"github.com/lockbench/lockbench/cmd/cli/catalog"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/results/report"
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

// topics are the topics of the help in the order in which they are listed.
var topics = []string{
	"choose", "drivers", "waiting", "topologies", "durability", "leases", "loads", "workloads", "trials",
	"servers", "figures", "marks", "safety", "hazards", "capacity", "comparing", "gate", "recipes", "formats", "own", "environment",
	"glossary",
}

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

// helpParts is what the templates may ask for. Each returns whole lines, but for means.
var helpParts = template.FuncMap{
	"all":       func() string { return catalog.Lines(func(b *strings.Builder) { writeGroups(b, runFlags) }) },
	"flags":     topicFlags,
	"brief":     briefFlags,
	"topics":    topicList,
	"exits":     func() string { return exitCodes },
	"addresses": catalog.Addresses,
	"drivers":   catalog.DriverList,
	"claims":    catalog.ClaimList,
	"waits":     catalog.Waits,
	"terms":     catalog.Terms,
	"means":     report.Meaning,
	"presets":   catalog.Presets,
	"metrics":   catalog.Metrics,
	"marks":     catalog.Marks,
	"limits":    catalog.Limits,
	"formats":   formatList,
	"variables": variableList,
}

// exitCodes are the exit codes of all commands.
const exitCodes = `Exit codes: 0 success · 1 error · 2 mistake in flags or a file · 3 a threshold was missed · 4 mutual
exclusion was violated by a design that claims it · 5 inconclusive · 130 interrupted, results kept.
`

// topicFlags returns the flags of a run under some headings.
func topicFlags(groups ...string) string {
	return catalog.Lines(func(b *strings.Builder) {
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
	return catalog.Lines(func(b *strings.Builder) {
		for _, name := range names {
			f, _ := findFlag(name)
			f.writeBrief(b)
		}
	})
}

// topicList returns all topics, two on a line.
func topicList() string {
	return catalog.Lines(func(b *strings.Builder) {
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

func variableList() string {
	var rows report.Facts
	add := func(variable, means string) {
		if variable != "" {
			rows = append(rows, report.Fact{Label: variable, Lines: []string{means}})
		}
	}
	add("LOCKBENCH_…", "the default of any flag")
	add(passwordVariable, "the password at -addr; no flag takes it, because every user can read arguments")
	for _, s := range servers.Services() {
		add(s.Variable, "the address of your "+s.Name+", unless -addr or -server says otherwise")
		add(s.PasswordVariable, "the password at your "+s.Name)
		add(s.OtherVariables, "what else -addr leaves open of your "+s.Name)
		add(s.Home, "the unpacked archive of "+s.Name+" whose server lockbench starts")
	}
	add("NO_COLOR", "if set, no colours")
	return catalog.Table(rows)
}
