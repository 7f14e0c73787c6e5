// lockbench completion: scripts that let a shell complete commands, flags and the names that flags take.

package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lockbench/lockbench/cmd/cli/suggest"
	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads/matrix"
	"github.com/lockbench/lockbench/workloads/presets"
)

var shells = []string{"bash", "zsh", "fish", "powershell"}

func (p *program) completionCommand() *cobra.Command {
	return p.command(&cobra.Command{
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
	}, nil, func(c *cobra.Command, _ *options, args []string) error {
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
	})
}

// completion returns what completes the value of a command's flag; nil completes files.
func completion(command string, f flagDef) cobra.CompletionFunc {
	known := matrix.Names(f.name)
	switch {
	case f.name == "driver":
		return completeDriver
	case f.name == "topology" && command == "clean":
		return listCompletion(asOne)
	case known != nil:
		return listCompletion(known)
	case f.name == "server":
		return listCompletion(serverChoices)
	case f.name == "workload": // a file will do as well
		return cobra.FixedCompletions(presets.Names(), cobra.ShellCompDirectiveDefault)
	case f.name == "format":
		return listCompletion(formatsOf(command))
	case f.name == "figures", f.name == "fail-on":
		return listCompletion(metric.Names())
	case f.name == "need":
		return listCompletion(claimNames())
	case f.name == "ignore":
		return listCompletion(compare.Ignorable())
	case f.axis && f.isSwitch():
		return listCompletion([]string{spec.Off, spec.On})
	case f.namesFile():
		return nil
	}
	return cobra.NoFileCompletions
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

// listCompletion completes the last name of a comma list, since a shell compares whole words.
func listCompletion[S ~string](names []S) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		before := word[:strings.LastIndexByte(word, ',')+1]
		var all []cobra.Completion
		for _, name := range names {
			all = append(all, before+string(name))
		}
		return all, cobra.ShellCompDirectiveNoFileComp
	}
}
