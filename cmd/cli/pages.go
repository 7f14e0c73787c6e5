// The pages of the help: their prose is in files, and what the program knows itself is filled in.

package cli

import (
	"embed"
	"fmt"
	"slices"
	"strings"
	"text/template"

	"github.com/lockbench/lockbench/cmd/cli/catalog"
	"github.com/lockbench/lockbench/results/format"
)

// helpFiles has a template for each page. The first line of a topic says in a few words what it is about; a second one
// that begins with "words:" is not printed, and has words that lead to the topic though its text has others for them.
//
//go:embed help
var helpFiles embed.FS

// Pages that are no topics.
const (
	frontPage    = "front"
	allFlagsPage = "all"
)

// topics are the topics of the help in the order in which they are listed.
var topics = []string{
	"choose", "drivers", "waiting", "topologies", "durability", "leases", "loads", "processes", "workloads", "trials",
	"servers", "figures", "marks", "safety", "hazards", "capacity", "comparing", "ci", "recipes", "formats", "own",
	"adapters", "protocol", "environment", "glossary",
}

// page returns a page of the help.
func page(name string) string {
	about, text := helpText(name)
	if slices.Contains(topics, name) {
		about = name + ": " + about
	}
	var b strings.Builder
	if err := template.Must(template.New(name).Funcs(helpParts).Parse(about+"\n"+text)).Execute(&b, nil); err != nil {
		panic("lockbench: help " + err.Error()) // it is part of the program, and the tests have printed it
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// helpText returns the first line of a page, and the rest without the words that lead to it.
func helpText(name string) (about, text string) {
	about, text, _ = strings.Cut(helpFile(name), "\n")
	if strings.HasPrefix(text, "words: ") {
		_, text, _ = strings.Cut(text, "\n")
	}
	return about, text
}

func helpFile(name string) string {
	text, err := helpFiles.ReadFile("help/" + name + ".txt")
	if err != nil {
		panic("lockbench: " + err.Error())
	}
	return string(text)
}

// helpParts is what the templates may ask for. Each returns whole lines.
var helpParts = template.FuncMap{
	"all":     func() string { return flagHelp(runFlags) },
	"flags":   topicFlags,
	"brief":   briefFlags,
	"topics":  topicList,
	"exits":   func() string { return exitCodes },
	"claims":  catalog.ClaimsMean,
	"waits":   catalog.Waits,
	"presets": catalog.Presets,
	"metrics": catalog.Metrics,
	"formats": func(command string) string { return helpFile("formats/" + command) },
}

// exitCodes are the exit codes of all commands.
const exitCodes = `Exit codes: 0 success · 1 error, a lost file · 2 mistake in flags or a file · 3 a threshold missed
· 4 mutual exclusion violated by a design that claims it · 5 inconclusive · 130 interrupted
`

// flagHelp returns flags under the headings of their groups.
func flagHelp(defs []flagDef) (text string) {
	for i, f := range defs {
		if i == 0 || f.group != defs[i-1].group {
			text += "\n" + f.group + ":\n"
		}
		text += f.help()
	}
	return text
}

// topicFlags returns the flags of a run under some headings.
func topicFlags(groups ...string) string {
	text := "Flags (lockbench help all says how to write them; * takes a list):\n"
	for _, f := range runFlags {
		if slices.Contains(groups, f.group) {
			text += f.help()
		}
	}
	return text
}

// briefFlags returns a line for each of some flags.
func briefFlags(names ...string) (text string) {
	for _, name := range names {
		f, _ := findFlag(name)
		first, _, _ := strings.Cut(f.usage, "\n")
		f.usage = strings.TrimRight(first, " ,;:")
		text += f.help()
	}
	return text
}

// help returns all that there is to say of a flag. A star marks one that takes a list.
func (f flagDef) help() string {
	left, text := "  -", f.usage
	if f.axis {
		left = " *-"
	}
	if f.short != "" {
		left += f.short + ", -"
	}
	if f.def != "" && !f.isSwitch() && !strings.Contains(text, "(default") {
		text += " (default " + f.def + ")"
	}
	text = strings.ReplaceAll(text, "\n", " ")
	text = strings.ReplaceAll(text, " -", format.Unbroken+"-") // a line that begins with a dash is a flag
	return catalog.Row(fmt.Sprintf("%-26s", left+f.name+" "+f.value), text)
}

// topicList returns all topics, two on a line.
func topicList() (text string) {
	var lines []string
	for _, name := range topics {
		about, _ := helpText(name)
		lines = append(lines, fmt.Sprintf("%-13s%s", name, about))
	}
	half := (len(lines) + 1) / 2
	for i, right := range append(lines[half:], "")[:half] {
		text += strings.TrimRight(fmt.Sprintf("  %-51s%s", lines[i], right), " ") + "\n"
	}
	return text
}
