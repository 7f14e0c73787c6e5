// lockbench version: what this program is made of.

package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"
)

func (p *program) versionCommand() *cobra.Command {
	c, _ := p.command(&cobra.Command{
		Use:   "version",
		Short: "Print the version of lockbench and of its client libraries",
		Args:  noArgs,
	}, nil)
	c.RunE = func(*cobra.Command, []string) error {
		env := readEnv()
		fmt.Fprintf(p.stdout, "lockbench %s\n%s %s/%s\n", env.Lockbench, env.Go, env.OS, env.Arch)
		for _, module := range slices.Sorted(maps.Keys(env.Libraries)) {
			fmt.Fprintf(p.stdout, "%s %s\n", module, env.Libraries[module])
		}
		return nil
	}
	return c
}
