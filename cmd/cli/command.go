// How a command is made of its flags, and how a command line names it.

package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lockbench/lockbench/cmd/cli/suggest"
	"github.com/lockbench/lockbench/drivers/exec"
	"github.com/lockbench/lockbench/workloads/matrix"
)

// command is what a command is called, what it takes, and what it does.
type command struct {
	use, short string
	args       cobra.PositionalArgs
	names      []string // that an argument may be, if there are some
	flags      []flagDef
	run        func(ctx context.Context, o *options, args []string) error
}

// commands are those of the program but for help.
func (p *program) commands() []command {
	all, schemas := matrix.Names("driver"), []string{"workload", "record"}
	return []command{
		{"run", "Measure one lock, or a matrix of them (implied by any flag)", noArgs, nil, runFlags, p.run},
		{"plan FLAGS", "Find the locks that carry a load under an objective", noArgs, nil, planFlags, p.plan},
		{"prove [FLAGS]", "Make each lock fail on purpose, and show how it does", noArgs, nil, proveFlags, p.prove},
		{"report FILE…", "Print the table of records that -o has written, or another format",
			needFiles, nil, reportFlags, p.report},
		{"compare BASE HEAD", "Compare the records of two files, or the two sides of a run with -vs",
			cobra.ArbitraryArgs, nil, compareCommandFlags, p.compare},
		{"gate -base-cmd CMD -head-cmd CMD", "Measure two command lines by turns, and fail if the second is worse",
			noArgs, nil, gateFlags, p.gate},
		{"history FILE…", "Show each cell's figures over revisions", needFiles, nil, historyFlags, p.history},
		{"clean -addr URL FILE…", "Delete what a run that was killed has left on your server",
			needFiles, nil, cleanFlags, p.clean},
		{"conformance -driver NAME", "Test that a driver, or an adapter of yours, does what it claims",
			noArgs, nil, conformanceFlags, p.conform},
		{"list [DRIVER]", "Print drivers, lock designs, presets and the servers that are here",
			atMostOne("driver", all), all, listFlags, p.list},
		{"schema [workload|record]", "Print the JSON schema of workload files or records",
			atMostOne("schema", schemas), schemas, nil, p.schema},
		{"version", "Print the version of lockbench and of its client libraries", noArgs, nil, nil, p.version},
		{"completion SHELL", "Print a completion script for bash, zsh or fish",
			atMostOne("shell", shells), shells, nil, p.completion},
		{exec.Argument + " [DRIVER]", "Serve lock clients to another lockbench",
			atMostOne("driver", nil), nil, nil, p.worker},
	}
}

// command makes a command that runs with the values of its flags, and with the arguments that no flag has taken.
func (p *program) command(what command) *cobra.Command {
	name, _, _ := strings.Cut(what.use, " ")
	c := &cobra.Command{Use: what.use, Short: what.short, Args: what.args, ValidArgs: what.names,
		DisableFlagsInUseLine: true, Hidden: name == "help" || name == exec.Argument}
	o := newOptions(c.Flags(), what.flags)
	for _, opt := range o.list {
		opt.again = p.completing
	}
	if c.ValidArgs == nil && !strings.Contains(c.Use, "FILE") && !strings.Contains(c.Use, "BASE") {
		c.ValidArgsFunction = cobra.NoFileCompletions
	}
	c.Flags().BoolP("help", "", false, helpFlag.usage)
	c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return flagError(err, what.flags) })
	c.RunE = func(c *cobra.Command, args []string) error {
		o.typed = p.typed()
		if err := o.fill(p.env); err != nil {
			return err
		}
		return what.run(c.Context(), o, args)
	}
	return c
}

// needFiles wants at least one file of records.
func needFiles(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usageErrorf("%s: which file? give the names of record files, or - for standard input", c.Name())
	}
	return nil
}

// noArgs refuses arguments that no flag has taken.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return usageErrorf("unexpected argument %q: lockbench %s takes flags only; a value with spaces needs quotes, "+
		"and that of a switch an equals sign (-renew=on)", args[0], c.Name())
}

// atMostOne takes one of some names, or any if there are none, or nothing.
func atMostOne(what string, names []string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) > 1 {
			return usageErrorf("%s: one %s at a time", c.Name(), what)
		}
		if len(args) == 1 && names != nil && !slices.Contains(names, args[0]) {
			return usageErrorf("%s: there is no %s %q%s; there are %s", c.Name(), what, args[0],
				suggest.DidYouMean("", args[0], names), strings.Join(names, ", "))
		}
		return nil
	}
}

// withCommand puts the implied run before flags that no command precedes.
func withCommand(args []string) []string {
	if len(args) == 0 || !strings.HasPrefix(args[0], "-") {
		return args
	}
	if args[0] == "--version" {
		return append([]string{"version"}, args[1:]...)
	}
	return append([]string{"run"}, args...)
}
