// lockbench schema: the JSON schemas of records, and of workload files, made of the flags that may stand in one.

package cli

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/spf13/cobra"

	"github.com/lockbench/lockbench/results/export"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads/file"
)

// schemas are what has one, the default first.
var schemas = []string{"workload", "record"}

var schemaOf = map[string]func() ([]byte, error){"workload": workloadSchema, "record": export.RecordSchema}

func (p *program) schemaCommand() *cobra.Command {
	return p.command(&cobra.Command{
		Use:       "schema [workload|record]",
		Short:     "Print the JSON schema of workload files or records",
		ValidArgs: schemas,
		Args:      atMostOne("schema", schemas),
	}, nil, func(_ *cobra.Command, _ *options, args []string) error {
		text, err := schemaOf[append(args, schemas[0])[0]]()
		if err != nil {
			return err
		}
		_, err = p.stdout.Write(text)
		return err
	})
}

// valueSchema returns the schema of one value of a flag: what kind it is, and its choices. The program itself tells what is
// wrong within a text.
func valueSchema(f flagDef) *jsonschema.Schema {
	s := &jsonschema.Schema{Types: []string{"string"}, Description: strings.ReplaceAll(f.usage, "\n", " ")}
	setting, _ := spec.Find(f.name)
	choices := setting.Choices
	switch {
	case f.name == "driver": // YAML reads null as a value of its own
		s.Types = append(s.Types, "null")
	case f.name == "wait" || f.name == "pipelining": // a choice may have times of its own
		choices = nil
	case f.isSwitch():
		s.Types, s.Enum, choices = append(s.Types, "boolean"), []any{false, true}, []string{"false", "true", spec.Off, spec.On}
		if !f.axis {
			choices = choices[:2]
		}
	case f.value == "N" || f.value == "OPS":
		s.Types = append(s.Types, "integer")
	case slices.Contains([]string{"HZ", "RATE", "SHARE", "TIME", "TIMES"}, f.value):
		s.Types = append(s.Types, "number")
	}
	for _, c := range choices {
		s.Enum = append(s.Enum, c)
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
		many := &jsonschema.Schema{Type: "array", Items: one, MinItems: jsonschema.Ptr(1), UniqueItems: true}
		return &jsonschema.Schema{Description: about, AnyOf: []*jsonschema.Schema{one, many}}
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
