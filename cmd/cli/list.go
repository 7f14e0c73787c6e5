// lockbench list: what can be measured here.

package cli

import (
	"github.com/spf13/cobra"

	"github.com/lockbench/lockbench/cmd/cli/catalog"
	"github.com/lockbench/lockbench/results/export"
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
		return out.end(catalog.New(c.Context(), names))
	})
}

// listings are what list writes.
var listings = kind[catalog.Listing]{
	document: catalog.Listing.Document,
	formats:  []output[catalog.Listing]{{name: "json", write: export.JSON[catalog.Listing]}},
}
