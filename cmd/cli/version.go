// lockbench version, and lockbench worker.

package cli

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lockbench/lockbench/drivers/exec"
	"github.com/lockbench/lockbench/workloads/host"
)

func (p *program) versionCommand() *cobra.Command {
	return p.command(&cobra.Command{
		Use:   "version",
		Short: "Print the version of lockbench and of its client libraries",
		Args:  noArgs,
	}, nil, func(*cobra.Command, *options, []string) error {
		env := host.Env()
		text := fmt.Sprintf("lockbench %s\n%s %s/%s\n", env.Lockbench, env.Go, env.OS, env.Arch)
		for _, module := range slices.Sorted(maps.Keys(env.Libraries)) {
			text += fmt.Sprintf("%s %s\n", module, env.Libraries[module])
		}
		_, err := io.WriteString(p.stdout, text)
		return err
	})
}

func (p *program) workerCommand() *cobra.Command {
	return p.command(&cobra.Command{
		Use:    exec.Argument + " [DRIVER]",
		Short:  "Serve lock clients to another lockbench",
		Hidden: true,
		Args:   func(c *cobra.Command, args []string) error { return noArgs(c, args[min(1, len(args)):]) },
	}, nil, func(c *cobra.Command, _ *options, args []string) error {
		return exec.Process(c.Context(), p.stdin, p.stdout.W, strings.Join(args, " "))
	})
}
