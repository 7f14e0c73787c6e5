// The small commands: list, schema, version and worker. Each of the others has a file of its own.

package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lockbench/lockbench/cmd/cli/catalog"
	"github.com/lockbench/lockbench/cmd/cli/suggest"
	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/exec"
	"github.com/lockbench/lockbench/results/export"
	"github.com/lockbench/lockbench/results/report"
	"github.com/lockbench/lockbench/workloads/host"
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
		{name: tableFormat, about: "for a terminal"},
		{name: markdownFormat, about: "the same for a page"},
		{name: htmlFormat, about: "the same as a page, which needs no other file"},
	},
}

// schemas are what has one, the default first.
var schemas = []string{"workload", "record"}

var schemaOf = map[string]func() ([]byte, error){"workload": workloadSchema, "record": export.RecordSchema}

func (p *program) schemaCommand() *cobra.Command {
	return p.command(&cobra.Command{
		Use:       "schema [workload|record]",
		Short:     "Print the JSON schema of workload files or records",
		ValidArgs: schemas,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usageErrorf("schema: one at a time: %s", strings.Join(schemas, ", "))
			}
			if len(args) == 1 && !slices.Contains(schemas, args[0]) {
				return usageErrorf("schema: no schema is called %q%s; there are %s",
					args[0], suggest.DidYouMean("", args[0], schemas), strings.Join(schemas, ", "))
			}
			return nil
		},
	}, nil, func(_ *cobra.Command, _ *options, args []string) error {
		text, err := schemaOf[append(args, schemas[0])[0]]()
		if err != nil {
			return err
		}
		_, err = p.stdout.Write(text)
		return err
	})
}

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
