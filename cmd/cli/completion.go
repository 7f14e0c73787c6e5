// lockbench completion: scripts with which a shell completes a command line, and the answers to what they ask.

package cli

import (
	"context"
	_ "embed"
	"errors"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/workloads/hazards"
	"github.com/lockbench/lockbench/workloads/matrix"
	"github.com/lockbench/lockbench/workloads/presets"
)

// bashCompletion needs no package beside bash. Cobra's needs bash-completion, does not know that bash divides words at
// @, and evaluates what is typed.
//
//go:embed completion.bash
var bashCompletion string

var shells = []string{"bash", "zsh", "fish"}

func (p *program) completion(_ context.Context, _ *options, args []string) error {
	switch strings.Join(args, "") {
	case "bash":
		_, err := io.WriteString(p.stdout, bashCompletion)
		return err
	case "zsh":
		return p.root().GenZshCompletion(p.stdout)
	case "fish":
		return p.root().GenFishCompletion(p.stdout, true)
	}
	return usageErrorf("completion: for which shell? there are %s", strings.Join(shells, ", "))
}

// completes reports whether a shell asks for completions.
func completes(args []string) bool {
	return len(args) > 1 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd)
}

// complete prints how the last word of a command line could go on. Cobra knows flags with two dashes only: it is asked
// for those, and they are printed with as many dashes as were typed.
func (p *program) complete(ctx context.Context, root *cobra.Command, args []string) error {
	words, last, typed := args[1:len(args)-1], args[len(args)-1], "\n--"
	if strings.HasPrefix(last, "-") && !strings.HasPrefix(last, "--") {
		last, typed = "-"+last, "\n-"
	}
	var out strings.Builder
	root.SetOut(&out)
	root.SetArgs(append(args[:1:1], withCommand(append(normalise(words), last))...))
	err := root.ExecuteContext(ctx)
	_, wrong := io.WriteString(p.stdout, strings.ReplaceAll("\n"+out.String(), "\n--", typed)[1:])
	return errors.Join(err, wrong)
}

// completeFlags completes the values of the flags of all commands.
func completeFlags(root *cobra.Command) {
	for _, c := range root.Commands() {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if opt, ok := f.Value.(*option); ok {
				_ = c.RegisterFlagCompletionFunc(opt.name, opt.complete) // the flag exists
			}
		})
	}
}

// complete completes the last value in the comma list of a flag.
func (f flagDef) complete(c *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	comma := strings.LastIndexByte(word, ',') + 1
	var list []cobra.Completion
	for _, value := range f.values(c, word[comma:]) {
		list = append(list, word[:comma]+value) // a shell compares whole words
	}
	if f.namesFile() || f.value == "DIR" || strings.Contains(word, "=") { // as in html=FILE
		return list, cobra.ShellCompDirectiveDefault
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}

// values returns what a word may become as a value of a command's flag.
func (f flagDef) values(c *cobra.Command, word string) (names []string) {
	switch f.name {
	case "addr":
		return ownServers
	case "driver":
		if driver, _, named := matrix.CutTopology(word); named {
			for _, topology := range matrix.Topologies(driver) {
				names = append(names, driver+"@"+topology)
			}
		}
	case "fail-on":
		return metric.Names()
	case "format":
		return formatsOf[c.Name()]()
	case "hazard":
		for _, h := range hazards.All() {
			names = append(names, string(h.Name))
		}
	case "lock":
		for driver := range strings.SplitSeq(c.Flag("driver").Value.String(), ",") {
			driver, _, _ = matrix.CutTopology(driver)
			if d, err := drivers.Lookup(driver); err == nil {
				names = append(names, drivers.DesignNames(d)...)
			}
		}
	case "need":
		return claimNames()
	case "workload":
		names, _ = filepath.Glob(word + "*.y*ml")
		for _, name := range presets.Names() {
			names = append(names, cobra.CompletionWithDesc(name, presets.About(name)))
		}
	}
	if names == nil {
		return matrix.Names(f.name)
	}
	return names
}

// formatsOf are the names of the formats of commands. Those of a run depend on what else it is asked for.
var formatsOf = map[string]func() []string{
	"run": reports.names, "report": reports.names, "compare": comparisons.names, "plan": answers.names,
	"prove": proofs.names, "history": histories.names, "list": listings.names,
}
