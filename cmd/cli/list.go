// lockbench list: what can be measured here.

package cli

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/lockbench/lockbench/cmd/cli/catalog"
	"github.com/lockbench/lockbench/workloads/matrix"
)

func (p *program) listCommand() *cobra.Command {
	names := matrix.Names("driver")
	return p.command(&cobra.Command{
		Use:       "list [DRIVER]",
		Short:     "Print drivers, lock designs, presets and the servers that are here",
		Args:      atMostOne("driver", names),
		ValidArgs: names,
	}, listFlags, func(c *cobra.Command, o *options, args []string) error {
		if len(args) > 0 {
			names = args
		}
		out, err := listings.printer(p, o)
		if err != nil {
			return err
		}
		l := catalog.New(c.Context(), names)
		if !o.on("json") {
			return out.end(l)
		}
		enc := json.NewEncoder(p.stdout)
		enc.SetIndent("", "  ")
		return enc.Encode(l)
	})
}

// listings are what list writes.
var listings = kind[catalog.Listing]{document: catalog.Listing.Document}
