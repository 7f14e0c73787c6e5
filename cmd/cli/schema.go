// lockbench schema: the JSON schemas of records, and of workload files, made of the flags that may stand in one.

package cli

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/lockbench/lockbench/results/export"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads/file"
)

func (p *program) schema(_ context.Context, _ *options, args []string) error {
	schema := workloadSchema
	if slices.Contains(args, "record") {
		schema = export.RecordSchema
	}
	text, err := schema()
	if err != nil {
		return err
	}
	_, err = p.stdout.Write(text)
	return err
}

// workloadSchema returns the schema (draft 2020-12) of workload files.
func workloadSchema() ([]byte, error) {
	top, class := object(), object()
	top.Schema, top.Title = "https://json-schema.org/draft/2020-12/schema", "lockbench workload"
	top.Properties["name"] = &jsonschema.Schema{
		Type: "string", Pattern: file.NamePattern, Description: "what records call it",
	}
	top.Properties["about"] = &jsonschema.Schema{Type: "string", Description: "one line on what it imitates"}
	top.Properties["slo"] = valueSchema(sloFlag, true)
	top.Properties["classes"] = &jsonschema.Schema{
		Type: "object", AdditionalProperties: class,
		Description: "kinds of clients; what a class leaves out it has from the top",
	}
	for _, field := range workloadFields {
		f, _ := findFlag(field.Name)
		top.Properties[f.name] = valueSchema(f, field.List)
		if field.Class {
			class.Properties[f.name] = valueSchema(f, false)
		}
	}
	text, err := json.MarshalIndent(top, "", "  ")
	return append(text, '\n'), err
}

// object returns the schema of fields that must be known.
func object() *jsonschema.Schema {
	unknown := &jsonschema.Schema{Not: &jsonschema.Schema{}}
	return &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}, AdditionalProperties: unknown}
}

// typeOf is what a value may be in YAML besides a string, by what stands for it in the help. A driver is called null.
var typeOf = map[string]string{
	"": "boolean", "N": "integer", "OPS": "integer", "NAME": "null",
	"HZ": "number", "RATE": "number", "SHARE": "number", "TIME": "number", "TIMES": "number",
}

// valueSchema returns the schema of a value of a flag, or of a list of them as well: its types and its choices. The
// program itself tells what is wrong within a text.
func valueSchema(f flagDef, list bool) *jsonschema.Schema {
	s := &jsonschema.Schema{Types: []string{"string"}}
	if kind, ok := typeOf[f.value]; ok {
		s.Types = append(s.Types, kind)
	}
	if f.isSwitch() {
		s.Enum = []any{false, true, "false", "true", spec.Off, spec.On}
	}
	setting, _ := spec.Find(f.name)
	if f.name != "wait" && f.name != "pipelining" { // whose choices may have times of their own
		for _, c := range setting.Choices {
			s.Enum = append(s.Enum, c)
		}
	}
	if list {
		several := &jsonschema.Schema{Type: "array", Items: s, MinItems: jsonschema.Ptr(1), UniqueItems: true}
		s = &jsonschema.Schema{AnyOf: []*jsonschema.Schema{s, several}}
	}
	s.Description = strings.ReplaceAll(f.usage, "\n", " ")
	return s
}
