// The small commands: list, schema, completion, version and worker. Each of the others has a file of its own.

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
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/report"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads/host"
	"github.com/lockbench/lockbench/workloads/matrix"
	"github.com/lockbench/lockbench/workloads/presets"
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

var shells = []string{"bash", "zsh", "fish", "powershell"}

func (p *program) completionCommand() *cobra.Command {
	return p.command(&cobra.Command{
		Use:       "completion SHELL",
		Short:     "Print a completion script for bash, zsh, fish or powershell",
		ValidArgs: shells,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageErrorf("completion: for which shell? there are %s", strings.Join(shells, ", "))
			}
			return nil
		},
	}, nil, func(c *cobra.Command, _ *options, args []string) error {
		root := c.Root()
		switch args[0] {
		case "bash":
			return root.GenBashCompletionV2(p.stdout, true)
		case "zsh":
			return root.GenZshCompletion(p.stdout)
		case "fish":
			return root.GenFishCompletion(p.stdout, true)
		case "powershell":
			return root.GenPowerShellCompletionWithDesc(p.stdout)
		}
		return usageErrorf("completion: unknown shell %q%s; there are %s", args[0], suggest.DidYouMean("", args[0], shells), strings.Join(shells, ", "))
	})
}

// oneOf completes a lone argument.
func oneOf(names func() []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, before []string, _ string) (list []cobra.Completion, _ cobra.ShellCompDirective) {
		if len(before) == 0 {
			list = names()
		}
		return list, cobra.ShellCompDirectiveNoFileComp
	}
}

// completion returns what completes the value of a command's flag; nil completes files.
func completion(command string, f flagDef) cobra.CompletionFunc {
	known := matrix.Names(f.name)
	switch {
	case f.name == "driver":
		return completeDriver
	case known != nil:
		return listCompletion(known)
	case f.name == "addr":
		return listCompletion(ownServers)
	case f.name == "workload": // a file will do as well
		return cobra.FixedCompletions(presets.Names(), cobra.ShellCompDirectiveDefault)
	case f.name == "format":
		return listCompletion(formatsOf(command))
	case f.name == "fail-on":
		return listCompletion(metric.Names())
	case f.name == "need":
		return listCompletion(claimNames())
	case f.axis && f.isSwitch():
		return listCompletion([]string{spec.Off, spec.On})
	case f.namesFile():
		return nil
	}
	return cobra.NoFileCompletions
}

// completeDriver completes drivers, and behind an @ the topologies that a driver knows.
func completeDriver(c *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	names := matrix.Names("driver")
	if driver, _, named := matrix.CutTopology(word[strings.LastIndexByte(word, ',')+1:]); named && slices.Contains(names, driver) {
		names = matrix.Topologies(driver)
		for i := range names {
			names[i] = driver + "@" + names[i]
		}
	}
	return listCompletion(names)(c, args, word)
}

// listCompletion completes the last name of a comma list, since a shell compares whole words.
func listCompletion[S ~string](names []S) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		before := word[:strings.LastIndexByte(word, ',')+1]
		var all []cobra.Completion
		for _, name := range names {
			all = append(all, before+string(name))
		}
		return all, cobra.ShellCompDirectiveNoFileComp
	}
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
