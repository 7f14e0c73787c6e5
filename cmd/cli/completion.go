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

	"github.com/lockbench/lockbench/cmd/cli/suggest"
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
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageErrorf("completion: for which shell? there are %s", strings.Join(shells, ", "))
			}
			return nil
		},
	}, nil, func(c *cobra.Command, _ *options, args []string) error {
		switch args[0] {
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
		return usageErrorf("completion: unknown shell %q%s; there are %s", args[0],
			suggest.DidYouMean("", args[0], shells), strings.Join(shells, ", "))
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
	if i := slices.Index(words, "--"); i >= 0 && words[0] == "fleet" { // what follows are the flags of a run
		words = append([]string{"run"}, words[i+1:]...)
	}
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

// oneOf completes a lone argument.
func oneOf(names func() []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, before []string, _ string) (list []cobra.Completion, _ cobra.ShellCompDirective) {
		if len(before) == 0 {
			list = names()
		}
		return list, cobra.ShellCompDirectiveNoFileComp
	}
}

// completion returns what completes the value of a command's flag; nil completes files.
func completion(command string, f flagDef) cobra.CompletionFunc {
	switch f.name {
	case "driver":
		return completeDriver
	case "lock":
		return completeLock
	case "workload":
		return completeWorkload
	case "addr":
		return listOf(ownServers)
	case "format":
		return completeFormat(formatsOf(command))
	case "fail-on":
		return listOf(metric.Names())
	case "need":
		return listOf(claimNames())
	case "hazard":
		return listOf(hazardNames())
	}
	switch known := matrix.Names(f.name); {
	case known != nil:
		return listOf(known)
	case f.axis && f.isSwitch():
		return listOf([]string{spec.Off, spec.On})
	case f.namesFile() || f.value == "DIR":
		return nil
	}
	return cobra.NoFileCompletions
}

// listOf completes the last name of a comma list.
func listOf[S ~string](names []S) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		before := word[:strings.LastIndexByte(word, ',')+1] // a shell compares whole words
		var all []cobra.Completion
		for _, name := range names {
			all = append(all, before+string(name))
		}
		return all, cobra.ShellCompDirectiveNoFileComp
	}
}

func hazardNames() (names []drivers.Hazard) {
	for _, h := range hazards.All() {
		names = append(names, h.Name)
	}
	return names
}

// completeDriver completes drivers, and behind an @ the topologies of one.
func completeDriver(c *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	names := matrix.Names("driver")
	driver, _, named := matrix.CutTopology(word[strings.LastIndexByte(word, ',')+1:])
	if named && slices.Contains(names, driver) {
		names = matrix.Topologies(driver)
		for i := range names {
			names[i] = driver + "@" + names[i]
		}
	}
	return listOf(names)(c, args, word)
}

// completeLock completes the locks of the drivers that were typed, or all.
func completeLock(c *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var locks []string
	for name := range strings.SplitSeq(c.Flag("driver").Value.String(), ",") {
		name, _, _ = matrix.CutTopology(strings.TrimSpace(name))
		if d, err := drivers.Lookup(name); err == nil {
			for _, design := range d.Designs() {
				locks = append(locks, design.Name)
			}
		}
	}
	if locks == nil {
		locks = matrix.Names("lock")
	}
	return listOf(locks)(c, args, word)
}

// completeWorkload completes presets, and files of YAML. A shell offers other files if no name fits.
func completeWorkload(_ *cobra.Command, _ []string, word string) (list []cobra.Completion, _ cobra.ShellCompDirective) {
	for _, name := range presets.Names() {
		list = append(list, cobra.CompletionWithDesc(name, presets.About(name)))
	}
	files, _ := filepath.Glob(word + "*.y*ml")
	return append(list, files...), cobra.ShellCompDirectiveDefault
}

// completeFormat completes formats, and behind an = files.
func completeFormat(names []string) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if strings.Contains(word[strings.LastIndexByte(word, ',')+1:], "=") {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return listOf(names)(c, args, word)
	}
}
