// lockbench list: what can be measured here, at a glance or one thing at length.

package cli

import (
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lockbench/lockbench/cmd/cli/catalog"
	"github.com/lockbench/lockbench/cmd/cli/suggest"
	"github.com/lockbench/lockbench/results/report"
)

func (p *program) listCommand() *cobra.Command {
	return p.command(&cobra.Command{
		Use:   "list [NAME]",
		Short: "Print drivers, lock designs, presets and the servers that are here",
		Long: "Prints the drivers, where their servers are, their lock designs and the presets.\n\n" +
			"With the name of a driver it tells all about that one: its server and address, what each design\n" +
			"claims, what it imitates, what is wrong with it and what it loses to, how its clients can wait, and\n" +
			"its options. NAME may also be a lock design, a service, a preset, a hazard, one of\n" +
			strings.Join(catalog.Sections, ", ") + ", or what you call it.\n\n" + strings.TrimSuffix(listings.about(), "\n"),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usageErrorf("list: one name at a time")
			}
			if len(args) == 0 {
				return nil
			}
			if _, ok := lookUp(args[0], listOrder); !ok {
				return usageErrorf("list: there is no driver, lock, service, preset or hazard %q%s; lockbench list has all names",
					args[0], suggest.DidYouMean("", args[0], catalog.Names()))
			}
			return nil
		},
		ValidArgsFunction: func(_ *cobra.Command, before []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(before) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return catalog.Names(), cobra.ShellCompDirectiveNoFileComp
		},
	}, listFlags, func(c *cobra.Command, o *options, args []string) error {
		if o.on("json") && len(args) > 0 {
			return usageErrorf("list: -json prints everything: leave %s out", args[0])
		}
		out, err := listings.printer(p, o)
		if err != nil {
			return err
		}
		if len(args) > 0 {
			found, _ := lookUp(args[0], listOrder)
			return out.end(found.document(c.Context()))
		}
		l := catalog.New(c.Context())
		if o.on("json") {
			enc := json.NewEncoder(p.stdout)
			enc.SetIndent("", "  ")
			return enc.Encode(l)
		}
		return out.end(l.Document(""))
	})
}

// listings are what list writes.
var listings = kind[*report.Document]{
	document: func(d *report.Document) *report.Document { return d },
	formats: []exporter[*report.Document]{
		{name: tableFormat, about: "for a terminal"},
		{name: markdownFormat, about: "the same for a page"},
		{name: htmlFormat, about: "the same as a page, which needs no other file"},
	},
}
