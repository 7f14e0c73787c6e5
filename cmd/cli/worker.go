// lockbench worker: a lock client in a process of its own, which another lockbench starts, kills and stops.

package cli

import (
	"github.com/spf13/cobra"

	"github.com/lockbench/lockbench/drivers/exec"
)

func (p *program) workerCommand() *cobra.Command {
	return p.command(&cobra.Command{
		Use:    exec.Argument,
		Short:  "Serve one lock client to another lockbench",
		Hidden: true,
		Long: "Serves one lock client to the process that has started it, by lines of JSON on the standard input and\n" +
			"output. lockbench starts it by itself, to kill and to stop a lock's holder for real. The protocol is\n" +
			"described in package drivers/exec.",
		Args: noArgs,
	}, nil, func(c *cobra.Command, _ *options, _ []string) error {
		return exec.Serve(c.Context(), p.stdin, p.stdout)
	})
}
