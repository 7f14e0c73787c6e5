// lockbench schema: the JSON schemas of records, and of workload files, made of the flags that may stand in one.

package cli

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/spf13/cobra"

	"github.com/lockbench/lockbench/cmd/cli/suggest"
	"github.com/lockbench/lockbench/results/export"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads/file"
	"github.com/lockbench/lockbench/workloads/matrix"
)

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

// valueSchema returns the schema of one value of a flag. Patterns bind texts only, and bounds only numbers. They catch slips;
// the program itself tells what is wrong within a value.
func valueSchema(f flagDef) *jsonschema.Schema {
	s := &jsonschema.Schema{Types: []string{"string"}, Description: strings.ReplaceAll(f.usage, "\n", " "), Minimum: jsonschema.Ptr(0.0)}
	of := func(number, pattern string) { s.Types, s.Pattern = append(s.Types, number), "^"+pattern+"$" }
	const period = `([0-9.]+(ns|us|µs|μs|ms|s|m|h))+`
	setting, _ := spec.Find(f.name)
	choices := setting.Choices
	switch {
	case f.isSwitch() && f.axis:
		choices = []string{spec.Off, spec.On, "false", "true"}
	case f.isSwitch():
		choices = []string{"false", "true"}
	}
	switch f.value {
	case "":
		s.Types = append(s.Types, "boolean")
	case "N", "OPS":
		of("integer", `[0-9][0-9_a-fA-FxXkM]*`)
	case "HZ", "RATE", "SHARE":
		if f.value == "SHARE" {
			s.ExclusiveMaximum = jsonschema.Ptr(1.0) // it wants its percent sign
		}
		of("number", `[0-9.][0-9_.]*[kM]?( *%|:.*)?`)
	case "TIME":
		of("number", `(`+period+`|0)`)
	case "TIMES":
		of("number", `(`+period+`|0|(uniform|exp|lognormal|file):.+)`)
	case "SLO":
		s.Pattern = `^[a-z]+[^<=]*[<=]`
	case "KEYS":
		s.Pattern = `^(uniform|sequential|own|zipf:.+|hot:.+:.+)$`
	case "NAME=VALUE":
		s.Pattern = `^[^=+,]+=[^=+,]+(\+[^=+,]+=[^=+,]+)*$`
	}
	if strings.HasPrefix(f.value, "TIME") {
		s.Maximum = s.Minimum // others need a unit
	}
	if f.name == "driver" { // YAML reads null as a value of its own
		s.Types, s.Pattern = append(s.Types, "null"), `^[a-z0-9-]+(@(`+strings.Join(matrix.Names("topology"), "|")+`))?$`
	}
	if f.name == "wait" || f.name == "pipelining" { // a choice may have times of its own
		s.Pattern, choices = `^(`+strings.Join(choices, "|")+`)(:.+)?$`, nil
	}
	for _, c := range choices {
		s.Enum = append(s.Enum, c)
	}
	if f.isSwitch() {
		s.Enum = append(s.Enum, false, true)
	}
	return s
}

// object returns the schema of fields that must be known.
func object() *jsonschema.Schema {
	unknown := &jsonschema.Schema{Not: &jsonschema.Schema{}}
	return &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}, AdditionalProperties: unknown}
}

// workloadSchema returns the schema (draft 2020-12) of workload files.
func workloadSchema() ([]byte, error) {
	top, class := object(), object()
	list := func(one *jsonschema.Schema) *jsonschema.Schema {
		about := one.Description
		one.Description = ""
		return &jsonschema.Schema{Description: about, AnyOf: []*jsonschema.Schema{one, {Type: "array", Items: one, MinItems: jsonschema.Ptr(1), UniqueItems: true}}}
	}
	for _, field := range workloadFields {
		f, _ := findFlag(field.Name)
		if top.Properties[f.name] = valueSchema(f); field.List {
			top.Properties[f.name] = list(valueSchema(f))
		}
		if field.Class {
			class.Properties[f.name] = valueSchema(f)
		}
	}
	top.Properties["name"] = &jsonschema.Schema{Type: "string", Pattern: file.NamePattern, Description: "what records call it"}
	top.Properties["about"] = &jsonschema.Schema{Type: "string", Pattern: `^[^\n]*\S[^\n]*$`, Description: "one line on what it imitates"}
	top.Properties["slo"] = list(valueSchema(sloFlag))
	top.Properties["classes"] = &jsonschema.Schema{
		Type: "object", Description: "kinds of clients; what a class leaves out it has from the top",
		PropertyNames: &jsonschema.Schema{Pattern: file.NamePattern}, AdditionalProperties: class,
	}
	top.Schema, top.Title, top.MinProperties = "https://json-schema.org/draft/2020-12/schema", "lockbench workload", jsonschema.Ptr(1)
	text, err := json.MarshalIndent(top, "", "  ")
	return append(text, '\n'), err
}
