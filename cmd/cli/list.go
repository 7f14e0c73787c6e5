// lockbench list: what can be measured here.

package cli

import (
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lockbench/lockbench/cmd/cli/catalog"
	"github.com/lockbench/lockbench/results/report"
)

func (p *program) listCommand() *cobra.Command {
	return p.command(&cobra.Command{
		Use:       "list [DRIVER]",
		Short:     "Print drivers, lock designs, presets and the servers that are here",
		Args:      atMostOne("driver", catalog.Names()),
		ValidArgs: catalog.Names(),
	}, listFlags, func(c *cobra.Command, o *options, args []string) error {
		if o.on("json") && len(args) > 0 {
			return usageErrorf("list: -json prints everything: leave %s out", args[0])
		}
		out, err := listings.printer(p, o)
		if err != nil {
			return err
		}
		l := catalog.New(c.Context())
		if !o.on("json") {
			return out.end(l.Document(strings.Join(args, "")))
		}
		enc := json.NewEncoder(p.stdout)
		enc.SetIndent("", "  ")
		return enc.Encode(l)
	})
}

// listings are what list writes.
var listings = kind[*report.Document]{document: func(d *report.Document) *report.Document { return d }}
