// lockbench version: what this program is made of.

package cli

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/lockbench/lockbench/cmd/cli/machine"
)

func (p *program) versionCommand() *cobra.Command {
	return p.command(&cobra.Command{
		Use:   "version",
		Short: "Print the version of lockbench and of its client libraries",
		Args:  noArgs,
	}, nil, func(*cobra.Command, *options, []string) error {
		env := machine.Env()
		text := fmt.Sprintf("lockbench %s\n%s %s/%s\n", env.Lockbench, env.Go, env.OS, env.Arch)
		for _, module := range slices.Sorted(maps.Keys(env.Libraries)) {
			text += fmt.Sprintf("%s %s\n", module, env.Libraries[module])
		}
		_, err := io.WriteString(p.stdout, text)
		return err
	})
}
