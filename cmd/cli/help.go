// lockbench help: a front page, all flags, a page for each command and one for each topic.

package cli

import (
	"cmp"
	"embed"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/template"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lockbench/lockbench/cmd/cli/catalog"
	"github.com/lockbench/lockbench/cmd/cli/suggest"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/workloads"
)

// help writes the help of a command; nil, the root and run mean the front page.
func (p *program) help(c *cobra.Command) error {
	var b strings.Builder
	if c == nil || !c.HasParent() || c.Name() == "run" {
		b.WriteString(page(frontPage))
	} else {
		fmt.Fprintf(&b, "%s\nUsage:\n  lockbench %s\n", cmp.Or(commandPage(c.Name()), c.Short+".\n"), c.Use)
		b.WriteString(flagText(c))
	}
	_, err := io.WriteString(p.stdout, b.String())
	return err
}

// commandPage returns what the help says of a command besides its flags; empty if its short text says it all.
func commandPage(name string) string {
	name = "commands/" + name
	if _, err := helpFiles.Open("help/" + name + ".txt"); err != nil {
		return ""
	}
	return page(name)
}

// flagText returns the help on a command's flags.
func flagText(c *cobra.Command) string {
	var defs []flagDef
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if opt, ok := f.Value.(*option); ok { // of this command: another's of that name may mean something else
			defs = append(defs, opt.flagDef)
		}
	})
	return catalog.Lines(func(b *strings.Builder) { writeGroups(b, defs) })
}

// topic prints a page of the help.
func (p *program) topic(name string) error {
	_, err := io.WriteString(p.stdout, page(name))
	return err
}

// helpCommand makes lockbench help [COMMAND|TOPIC|WORD].
func (p *program) helpCommand(root *cobra.Command) *cobra.Command {
	return p.command(&cobra.Command{
		Use:               "help [COMMAND|TOPIC|WORD]",
		Short:             "Print the help of lockbench, of a command or about a topic or a word",
		Hidden:            true,
		ValidArgsFunction: oneOf(func() []string { return slices.Concat([]string{allFlagsPage}, topics, commandNames(root)) }),
	}, nil, func(_ *cobra.Command, _ *options, args []string) error {
		if found, rest, err := root.Find(args); err == nil && len(rest) == 0 {
			return p.help(found)
		}
		word := strings.Join(args, " ")
		if word == allFlagsPage {
			return p.topic(word)
		}
		found := topicsAbout(word)
		switch {
		case len(found) == 1:
			return p.topic(found[0])
		case found == nil:
			commands := commandNames(root)
			return usageErrorf("help: nothing is called %q%s; topics: %s, %s; commands: %s", word,
				suggest.DidYouMean("", word, slices.Concat(topics, commands)), allFlagsPage, strings.Join(topics, ", "), strings.Join(commands, ", "))
		}
		text := fmt.Sprintf("These topics speak of %s (lockbench help TOPIC):\n", word)
		for _, topic := range found {
			text += "  " + topicLine(topic) + "\n"
		}
		_, err := io.WriteString(p.stdout, text)
		return err
	})
}

// topicsAbout returns the topic of that name; else those with the word in their first line; else those with it anywhere.
func topicsAbout(word string) (found []string) {
	word = strings.ToLower(word)
	if slices.Contains(topics, word) {
		return []string{word}
	}
	for _, text := range []func(topic string) string{topicLine, page} {
		for _, topic := range topics {
			if word != "" && strings.Contains(strings.ToLower(text(topic)), word) {
				found = append(found, topic)
			}
		}
		if found != nil {
			break
		}
	}
	return found
}

// usageColumn is where the flags' descriptions begin.
const usageColumn = 26

// writeGroups writes flags under their headings.
func writeGroups(b *strings.Builder, defs []flagDef) {
	for len(defs) > 0 {
		n := slices.IndexFunc(defs, func(f flagDef) bool { return f.group != defs[0].group })
		if n < 0 {
			n = len(defs)
		}
		fmt.Fprintf(b, "\n%s:\n", defs[0].group)
		for _, f := range defs[:n] {
			f.writeHelp(b)
		}
		defs = defs[n:]
	}
}

// left returns the flag as the help writes it, with a star if it takes a list.
func (f flagDef) left() string {
	left := "  -" + f.name
	if f.axis {
		left = " *-" + f.name
	}
	if f.short != "" {
		left = "  -" + f.short + ", -" + f.name
	}
	if f.value != "" {
		left += " " + f.value
	}
	return left
}

// writeHelp writes all that there is to say of a flag.
func (f flagDef) writeHelp(b *strings.Builder) {
	text := f.usage
	if f.def != "" && !f.isSwitch() && !strings.Contains(text, "(default") {
		text += " (default " + f.def + ")"
	}
	text = strings.ReplaceAll(text, "\n", " ")
	text = strings.ReplaceAll(text, " -", format.Unbroken+"-") // a line that begins with a dash is a flag
	b.WriteString(strings.Join(format.Wrap(fmt.Sprintf("%-*s", usageColumn, f.left()), text, catalog.Width), "\n") + "\n")
}

// writeBrief writes a line.
func (f flagDef) writeBrief(b *strings.Builder) {
	text, _, _ := strings.Cut(f.usage, "\n")
	text = strings.TrimRight(text, " ,;:")
	if f.def != "" && !strings.Contains(text, "(default") {
		text += " (default " + f.def + ")"
	}
	fmt.Fprintf(b, "%-*s%s\n", usageColumn, f.left(), text)
}

// The pages of the help. Their prose is in files; what the program knows itself (flags, figures, formats,
// drivers) is filled in.

// helpFiles has a template for each page. The first line of a topic's says in a few words what it is about.
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
	"servers", "figures", "marks", "safety", "hazards", "capacity", "comparing", "gate", "recipes", "formats", "own", "adapters",
	"protocol", "environment", "glossary",
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

// helpParts is what the templates may ask for. Each returns whole lines, but for logs and memory.
var helpParts = template.FuncMap{
	"all":       func() string { return catalog.Lines(func(b *strings.Builder) { writeGroups(b, runFlags) }) },
	"flags":     topicFlags,
	"brief":     briefFlags,
	"topics":    topicList,
	"exits":     func() string { return exitCodes },
	"addresses": catalog.Addresses,
	"drivers":   catalog.DriverList,
	"adapters":  catalog.AdapterList,
	"claims":    catalog.ClaimList,
	"waits":     catalog.Waits,
	"presets":   catalog.Presets,
	"metrics":   catalog.Metrics,
	"formats":   formatList,
	"logs":      func() string { return fmt.Sprintf("%d MiB", workloads.MaxLogs>>20) },
	"memory":    func() string { return fmt.Sprintf("%d GiB", rankMemory>>30) },
	"variables": variableList,
}

// exitCodes are the exit codes of all commands.
const exitCodes = `Exit codes: 0 success · 1 error, a lost file · 2 mistake in flags or a file · 3 a threshold missed
· 4 mutual exclusion violated by a design that claims it · 5 inconclusive · 130 interrupted
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
	var rows [][2]string
	add := func(variable, means string) {
		if variable != "" {
			rows = append(rows, [2]string{variable, means})
		}
	}
	add("LOCKBENCH_…", "the default of any flag")
	add(passwordVariable, "the password at -addr; no flag takes it, because every user can read arguments")
	for _, s := range servers.Services() {
		add(s.Variable, "the address of your "+s.Name+", unless -addr says otherwise")
		add(s.PasswordVariable, "the password at your "+s.Name)
		add(s.OtherVariables, "what else -addr leaves open of your "+s.Name)
		add(s.Home, "the unpacked archive of "+s.Name+" whose server lockbench starts")
	}
	add("COLUMNS", "the width of tables, where it is not the terminal's")
	add("NO_COLOR", "if set, no colours")
	return catalog.Table(rows)
}
