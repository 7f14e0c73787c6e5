// lockbench help: a front page, all flags, a page for each command and one for each topic.

package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lockbench/lockbench/cmd/cli/catalog"
	"github.com/lockbench/lockbench/cmd/cli/suggest"
	"github.com/lockbench/lockbench/results/draw"
	"github.com/lockbench/lockbench/results/format"
)

// help writes the help of a command; nil, the root and run mean the front page.
func (p *program) help(c *cobra.Command) error {
	var b strings.Builder
	if c == nil || !c.HasParent() || c.Name() == "run" {
		b.WriteString(page(frontPage))
	} else {
		text := c.Long
		if text == "" {
			text = c.Short + "."
		}
		fmt.Fprintf(&b, "%s\n\nUsage:\n  lockbench %s\n", text, c.Use)
		var defs []flagDef
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if opt, ok := f.Value.(*option); ok { // of this command: another's of that name may mean something else
				defs = append(defs, opt.flagDef)
			}
		})
		writeGroups(&b, defs)
	}
	_, err := io.WriteString(p.stdout, b.String())
	return err
}

// topic prints a page of the help.
func (p *program) topic(name string) error {
	_, err := io.WriteString(p.stdout, page(name))
	return err
}

// helpCommand makes lockbench help [COMMAND|TOPIC|WORD].
func (p *program) helpCommand(root *cobra.Command) *cobra.Command {
	return p.command(&cobra.Command{
		Use:    "help [COMMAND|TOPIC|WORD]",
		Short:  "Print the help of lockbench, of a command or about a topic or a word",
		Hidden: true,
		ValidArgsFunction: func(_ *cobra.Command, before []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(before) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return slices.Concat([]string{allFlagsPage}, topics, commandNames(root)), cobra.ShellCompDirectiveNoFileComp
		},
	}, nil, func(c *cobra.Command, _ *options, args []string) error {
		switch {
		case len(args) == 0:
			return p.help(nil)
		case len(args) == 1 && (slices.Contains(topics, args[0]) || args[0] == allFlagsPage):
			return p.topic(args[0])
		}
		if found, rest, err := root.Find(args); err == nil && found != root && len(rest) == 0 {
			return p.help(found)
		}
		if found, ok := lookUp(strings.Join(args, " "), helpOrder); ok {
			return draw.Terminal(p.stdout, found.document(c.Context()), draw.Options{Width: catalog.Width})
		}
		if len(args) > 1 {
			return usageErrorf("help: one at a time: lockbench help %s", args[0])
		}
		commands := commandNames(root)
		return usageErrorf("help: nothing is called %q%s; topics: %s, %s; commands: %s", args[0],
			suggest.DidYouMean("", args[0], slices.Concat(topics, commands)), allFlagsPage, strings.Join(topics, ", "), strings.Join(commands, ", "))
	})
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
