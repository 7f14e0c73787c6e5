// lockbench completion: scripts with which a shell completes a command line, and the answers to what they ask.

package cli

import (
	"context"
	_ "embed"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads/hazards"
	"github.com/lockbench/lockbench/workloads/matrix"
	"github.com/lockbench/lockbench/workloads/presets"
)

// bashCompletion needs no package beside bash. Cobra's needs bash-completion, does not know that bash divides words at @,
// and evaluates what is typed.
//
//go:embed completion.bash
var bashCompletion string

var shells = []string{"bash", "zsh", "fish", "powershell"}

func (p *program) completionCommand() *cobra.Command {
	return p.command(&cobra.Command{
		Use:       "completion SHELL",
		Short:     "Print a completion script for bash, zsh, fish or powershell",
		ValidArgs: shells,
		Args:      atMostOne("shell", shells),
	}, nil, func(c *cobra.Command, _ *options, args []string) error {
		switch strings.Join(args, "") {
		case "bash":
			_, err := io.WriteString(p.stdout, bashCompletion)
			return err
		case "zsh":
			return c.Root().GenZshCompletion(p.stdout)
		case "fish":
			return c.Root().GenFishCompletion(p.stdout, true)
		case "powershell":
			return c.Root().GenPowerShellCompletionWithDesc(p.stdout)
		}
		return usageErrorf("completion: for which shell? there are %s", strings.Join(shells, ", "))
	})
}

// completes reports whether a shell asks for completions.
func completes(args []string) bool {
	return len(args) > 1 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd)
}

// complete prints how the last word of a command line could go on. Cobra knows flags with two dashes only: it is asked for
// those, and they are printed with as many dashes as were typed.
func (p *program) complete(ctx context.Context, root *cobra.Command, args []string) error {
	words, last := args[1:len(args)-1], args[len(args)-1]
	oneDash := strings.HasPrefix(last, "-") && !strings.HasPrefix(last, "--")
	if oneDash {
		last = "-" + last
	}
	if name, _, assigned := strings.Cut(last, "="); assigned {
		last = strings.Replace(last, name, normalise([]string{name})[0], 1)
	}
	var out strings.Builder
	root.SetOut(&out)
	root.SetArgs(append(args[:1:1], withCommand(append(normalise(words), last))...))
	err := root.ExecuteContext(ctx)
	text := out.String()
	if oneDash {
		text = strings.ReplaceAll("\n"+text, "\n--", "\n-")[1:]
	}
	_, wrong := io.WriteString(p.stdout, text)
	return errors.Join(err, wrong)
}

// completeFlags completes the values of the flags of all commands.
func completeFlags(root *cobra.Command) {
	for _, c := range root.Commands() {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if opt, ok := f.Value.(*option); ok {
				_ = c.RegisterFlagCompletionFunc(opt.name, completeFlag(opt.flagDef)) // the flag exists
			}
		})
	}
}

// completeFlag completes the last value in the comma list of a flag.
func completeFlag(f flagDef) cobra.CompletionFunc {
	return func(c *cobra.Command, _ []string, word string) (list []cobra.Completion, _ cobra.ShellCompDirective) {
		comma := strings.LastIndexByte(word, ',') + 1
		names, files := valuesOf(f, c, word[comma:])
		for _, name := range names {
			list = append(list, word[:comma]+name) // a shell compares whole words
		}
		if files {
			return list, cobra.ShellCompDirectiveDefault
		}
		return list, cobra.ShellCompDirectiveNoFileComp
	}
}

// formatsOf returns the names of a command's formats. Those of a run depend on what else it is asked for.
func formatsOf(command string) []string {
	switch command {
	case "compare":
		return comparisons.names()
	case "plan":
		return answers.names()
	case "prove":
		return proofs.names()
	case "history", "list":
		return histories.names()
	}
	return reports.names()
}

// valuesOf returns what a word may become as a value of a command's flag, and whether that may be any file.
func valuesOf(f flagDef, c *cobra.Command, word string) (names []string, files bool) {
	switch f.name {
	case "driver":
		names = matrix.Names(f.name)
		if driver, _, named := matrix.CutTopology(word); named && slices.Contains(names, driver) {
			names = nil
			for _, topology := range matrix.Topologies(driver) {
				names = append(names, driver+"@"+topology)
			}
		}
	case "lock":
		for name := range strings.SplitSeq(c.Flag("driver").Value.String(), ",") {
			name, _, _ = matrix.CutTopology(strings.TrimSpace(name))
			if d, err := drivers.Lookup(name); err == nil {
				for _, design := range d.Designs() {
					names = append(names, design.Name)
				}
			}
		}
	case "workload":
		mine, _ := filepath.Glob(word + "*.y*ml")
		for _, name := range presets.Names() {
			names = append(names, cobra.CompletionWithDesc(name, presets.About(name)))
		}
		return append(names, mine...), true
	case "format":
		if files = strings.Contains(word, "="); !files {
			names = formatsOf(c.Name())
		}
		return names, files
	case "addr":
		names = ownServers
	case "fail-on":
		names = metric.Names()
	case "need":
		names = claimNames()
	case "hazard":
		for _, h := range hazards.All() {
			names = append(names, string(h.Name))
		}
	}
	if names == nil {
		names = matrix.Names(f.name)
	}
	if names == nil && f.axis && f.isSwitch() {
		names = []string{spec.Off, spec.On}
	}
	return names, f.namesFile() || f.value == "DIR"
}
