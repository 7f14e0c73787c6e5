// lockbench list: what can be measured here.

package cli

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lockbench/lockbench/cmd/cli/catalog"
	"github.com/lockbench/lockbench/cmd/cli/suggest"
	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results/report"
)

func (p *program) listCommand() *cobra.Command {
	return p.command(&cobra.Command{
		Use:   "list [DRIVER]",
		Short: "Print drivers, lock designs, presets and the servers that are here",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usageErrorf("list: one driver at a time")
			}
			if len(args) == 0 {
				return nil
			}
			if drivers.IsCommand(args[0]) {
				return usageErrorf("list: it starts no adapter: lockbench conformance -driver does, and tests it")
			}
			if names := catalog.Names(); !slices.Contains(names, args[0]) {
				return usageErrorf("list: there is no driver %q%s; lockbench list has all", args[0], suggest.DidYouMean("", args[0], names))
			}
			return nil
		},
		ValidArgsFunction: oneOf(catalog.Names),
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
var listings = kind[*report.Document]{
	document: func(d *report.Document) *report.Document { return d },
	formats: []exporter[*report.Document]{
		{name: tableFormat},
		{name: markdownFormat},
		{name: htmlFormat},
	},
}
