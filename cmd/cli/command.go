// How a command is made of its flags, and how a command line names it.

package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lockbench/lockbench/cmd/cli/suggest"
)

type runFunc = func(c *cobra.Command, o *options, args []string) error

// command completes a command whose flags are defs. It runs with their values, and with the arguments that no flag has
// taken.
func (p *program) command(c *cobra.Command, defs []flagDef, run runFunc) *cobra.Command {
	o := newOptions(c.Flags(), defs)
	for _, opt := range o.list {
		opt.again = p.completing
	}
	if c.ValidArgs == nil && !strings.Contains(c.Use, "FILE") && !strings.Contains(c.Use, "BASE") {
		c.ValidArgsFunction = cobra.NoFileCompletions
	}
	c.Flags().BoolP("help", "", false, helpFlag.usage)
	c.DisableFlagsInUseLine = true
	c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return flagError(err, defs) })
	c.RunE = func(c *cobra.Command, args []string) error {
		o.typed = p.typed()
		if err := o.fill(p.env); err != nil {
			return err
		}
		return run(c, o, args)
	}
	return c
}

// noArgs refuses arguments that no flag has taken.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return usageErrorf("unexpected argument %q: lockbench %s takes flags only; a value with spaces needs quotes, "+
		"and that of a switch an equals sign (-renew=on)", args[0], c.Name())
}

// atMostOne takes one of some names, or nothing.
func atMostOne(what string, names []string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) > 1 {
			return usageErrorf("%s: one %s at a time", c.Name(), what)
		}
		if len(args) == 1 && !slices.Contains(names, args[0]) {
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
