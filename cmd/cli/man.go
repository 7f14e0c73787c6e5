// lockbench man: the help as man pages, for packages.

package cli

import (
	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/lockbench/lockbench/workloads/host"
)

func (p *program) manCommand(root *cobra.Command) *cobra.Command {
	return p.command(&cobra.Command{
		Use:    "man DIRECTORY",
		Short:  "Write the man pages into a directory",
		Hidden: true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageErrorf("man: into which directory? lockbench man .")
			}
			return nil
		},
	}, nil, func(_ *cobra.Command, _ *options, args []string) error {
		root.Short, root.Long, root.DisableAutoGenTag = "measure distributed locks", asWritten(page(frontPage)), true
		for _, c := range root.Commands() {
			c.Long = asWritten(commandPage(c.Name()))
		}
		return doc.GenManTree(root, &doc.GenManHeader{Source: "lockbench " + host.Env().Lockbench}, args[0])
	})
}

// asWritten returns a text that Markdown leaves as it is.
func asWritten(text string) string {
	if text == "" {
		return ""
	}
	return "```\n" + text + "```"
}
