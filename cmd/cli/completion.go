// lockbench completion: scripts that let a shell complete commands, flags and the names that flags take.

package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lockbench/lockbench/cmd/cli/suggest"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads/matrix"
	"github.com/lockbench/lockbench/workloads/presets"
)

var shells = []string{"bash", "zsh", "fish", "powershell"}

func (p *program) completionCommand() *cobra.Command {
	c, _ := p.command(&cobra.Command{
		Use:   "completion SHELL",
		Short: "Print a completion script for bash, zsh, fish or powershell",
		Long: "Prints a script that makes a shell complete lockbench's commands and flags. For bash:\n\n" +
			"  source <(lockbench completion bash)\n\n" +
			"Shells are bash, zsh, fish and powershell. Flags are completed in their spelling with two dashes.",
		ValidArgs: shells,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageErrorf("completion: for which shell? there are %s", strings.Join(shells, ", "))
			}
			return nil
		},
	}, nil)
	c.RunE = func(c *cobra.Command, args []string) error {
		switch args[0] {
		case "bash":
			return c.Root().GenBashCompletionV2(p.stdout, true)
		case "zsh":
			return c.Root().GenZshCompletion(p.stdout)
		case "fish":
			return c.Root().GenFishCompletion(p.stdout, true)
		case "powershell":
			return c.Root().GenPowerShellCompletionWithDesc(p.stdout)
		}
		return usageErrorf("completion: unknown shell %q%s; there are %s", args[0], suggest.DidYouMean("", args[0], shells), strings.Join(shells, ", "))
	}
	return c
}

// completeFlags offers the names that flags take.
func (p *program) completeFlags(c *cobra.Command) {
	complete := func(flag string, names []string) {
		// It fails only for a flag that does not exist, which the tests would see.
		_ = c.RegisterFlagCompletionFunc(flag, listCompletion(names))
	}
	for _, s := range spec.Settings {
		switch known := matrix.Names(s.Name); {
		case s.Name == "driver":
			_ = c.RegisterFlagCompletionFunc(s.Name, completeDriver)
		case known != nil:
			complete(s.Name, known)
		case s.Axis && s.Value == "":
			complete(s.Name, []string{spec.Off, spec.On})
		}
	}
	complete("server", serverChoices)
	// A file will do as well.
	_ = c.RegisterFlagCompletionFunc("workload", cobra.FixedCompletions(presets.Names(), cobra.ShellCompDirectiveDefault))
}

// completeDriver completes drivers, and behind an @ the topologies that a driver knows.
func completeDriver(c *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	names := matrix.Names("driver")
	if driver, _, named := matrix.CutTopology(word[strings.LastIndexByte(word, ',')+1:]); named && slices.Contains(names, driver) {
		names = matrix.Topologies(driver)
		for i := range names {
			names[i] = driver + "@" + names[i]
		}
	}
	return listCompletion(names)(c, args, word)
}

// formatNames returns what -format completes.
func formatNames[T any](formats []exporter[T]) (names []string) {
	for _, f := range formats {
		names = append(names, f.name)
	}
	return names
}

// listCompletion completes the last name of a comma list, since a shell compares whole words.
func listCompletion(names []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		before := word[:strings.LastIndexByte(word, ',')+1]
		var all []cobra.Completion
		for _, name := range names {
			all = append(all, before+name)
		}
		return all, cobra.ShellCompDirectiveNoFileComp
	}
}
