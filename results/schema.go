package results

// JSON schemas made from types, so that a schema knows every field that its type has.

import (
	"encoding"
	"encoding/json"
	"maps"
	"reflect"
	"strings"
	"time"
)

// Schema says of a type what the type itself does not: the names of its values, their ranges, and how it is called. The tags of a
// field say what it is (about), and that a number may be below 0 (negative).
type Schema struct {
	Name               string // of the form; the ID is made from it, and is not an address
	Title, Description string

	// Fields has constraints of fields, by their paths with [] for the elements of a list and {} for the values of a map. A
	// "*" stands for everything before a field that means the same wherever it is.
	Fields map[string]map[string]any

	// Shared are types that occur more than once, with the names of their definitions. Fields has theirs under a "*" and that.
	Shared map[reflect.Type]string

	// Keys are those that the maps with a type of key may have; later versions may know more of them.
	Keys map[reflect.Type][]string
}

type jsonObject = map[string]any

// Of returns the schema (draft 2020-12) of t, with more in its uppermost object. Fields that it does not know are allowed: a later
// version of lockbench may have added them, and readers ignore them. A pointer is its value or null. A type with a field that
// JSON cannot hold makes a schema that takes nothing for it, which a test with one value finds.
func (s Schema) Of(t reflect.Type, more map[string]any) ([]byte, error) {
	b := schemaBuilder{s, jsonObject{}}
	schema := b.object(t, "")
	schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	schema["$id"], schema["title"], schema["description"] = SchemaID(s.Name), s.Title, s.Description
	maps.Copy(schema, more)
	if len(b.defs) > 0 {
		schema["$defs"] = b.defs
	}
	text, err := json.MarshalIndent(schema, "", "  ")
	return append(text, '\n'), err
}

// SchemaID returns what names the schema of that name.
func SchemaID(name string) string {
	return "https://github.com/lockbench/lockbench/results/" + name + ".schema.json"
}

// schemaBuilder collects the types that occur more than once.
type schemaBuilder struct {
	Schema
	defs jsonObject
}

// value returns the schema of a field of that type at path.
func (b schemaBuilder) value(t reflect.Type, path string, tag reflect.StructTag) jsonObject {
	s := jsonObject{}
	shared, isShared := b.Shared[t]
	switch {
	case t == reflect.TypeFor[time.Time]():
		s["type"], s["format"] = "string", "date-time"
	case isShared:
		if b.defs[shared] == nil {
			b.defs[shared] = b.object(t, "*"+shared)
		}
		return jsonObject{"$ref": "#/$defs/" + shared}
	case t.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		s["type"] = "string"
	default:
		s = b.kind(t, path, tag)
	}
	if about := tag.Get("about"); about != "" {
		s["description"] = about
	}
	maps.Copy(s, b.Fields[path])
	return s
}

// kind returns the schema of what has no name of its own.
func (b schemaBuilder) kind(t reflect.Type, path string, tag reflect.StructTag) jsonObject {
	switch t.Kind() {
	case reflect.Struct:
		return b.object(t, path)
	case reflect.Map:
		s := jsonObject{"type": "object", "additionalProperties": b.value(t.Elem(), path+"{}", "")}
		if keys := b.Keys[t.Key()]; keys != nil {
			named := jsonObject{}
			for _, key := range keys {
				named[key] = b.value(t.Elem(), path+"{}", "")
			}
			s["properties"] = named
		}
		return s
	case reflect.Pointer:
		s := b.kind(t.Elem(), path, tag)
		s["type"] = []any{s["type"], "null"}
		return s
	case reflect.Slice:
		return jsonObject{"type": "array", "items": b.value(t.Elem(), path+"[]", "")}
	case reflect.Bool:
		return jsonObject{"type": "boolean"}
	case reflect.String:
		return jsonObject{"type": "string"}
	}
	s := jsonObject{"type": "integer"} // any other kind fails the tests, which hold records to the schema
	if t.Kind() == reflect.Float64 {
		s["type"] = "number"
	}
	if tag.Get("negative") == "" {
		s["minimum"] = 0
	}
	return s
}

// object returns the schema of a struct. What is left out of the JSON form when it is zero may be absent.
func (b schemaBuilder) object(t reflect.Type, path string) jsonObject {
	properties, required := jsonObject{}, []string{}
	b.fields(t, path, properties, &required)
	s := jsonObject{"type": "object", "properties": properties}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

// fields adds those of a struct, and those of the structs that it embeds, which are its own in JSON.
func (b schemaBuilder) fields(t reflect.Type, path string, properties jsonObject, required *[]string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			b.fields(f.Type, path, properties, required)
			continue
		case name == "-" || !f.IsExported():
			continue
		}
		at := name
		if path != "" {
			at = path + "." + name
		}
		properties[name] = b.value(f.Type, at, f.Tag)
		if !strings.Contains(options, "omitempty") && !strings.Contains(options, "omitzero") {
			*required = append(*required, name)
		}
	}
}

// The JSON schema of a record. What its type does not say (which names there are, and what a number can be) stands here and
// is what Validate asks for, as far as a schema can: that quantiles rise, or that counts do not contradict each other,
// Validate alone sees.

// kinds are the values of Server.Kind.
var kinds = []string{"private", "embedded", "external", "in-process"}

// recordFields say of fields what their types do not; see Schema.Fields.
var recordFields = map[string]jsonObject{
	"schema":                 {"minimum": 1, "maximum": SchemaVersion},
	"id":                     {"minLength": 1},
	"trial":                  {"minimum": 1},
	"side":                   {"enum": sides},
	"plan.driver":            {"minLength": 1},
	"plan.lock":              {"minLength": 1},
	"plan.durability":        {"enum": durabilities},
	"plan.server":            {"enum": kinds},
	"plan.command":           {"description": "the command line that makes this cell again"},
	"server.kind":            {"enum": kinds},
	"server.durability":      {"enum": durabilities},
	"server_thread":          {"description": "shares of the window in which the busiest thread that executes commands ran, or waited for a core; absent if not known"},
	"server_thread.ran":      {"maximum": 1},
	"server_thread.waited":   {"maximum": 1},
	"fairness.jain":          {"maximum": 1},
	"classes[].jain":         {"maximum": 1},
	"safety.power":           {"description": "what the oracle could have seen; absent from records of earlier versions"},
	"safety.ended":           {"description": "holds that were gone because the service had ended the session of their holder, by its reason"},
	"safety.explained":       {"description": "why lost_early and fence_regress prove nothing here; absent if nothing explains them"},
	"steady.p":               {"maximum": 1},
	"generator.machine":      {"maximum": 1},
	"bound.by":               {"enum": []string{"", "keys", "clients", "connections", "rate"}},
	"*latency.hdr":           {"contentEncoding": "base64", "description": "HdrHistogram V2, deflated; values in ns"},
	"*latency.overflow":      {"description": "values beyond the range, counted at its end"},
	"plan.classes[].name":    {"minLength": 1},
	"classes[].name":         {"minLength": 1},
	"plan.arrival":           {"enum": []string{"", "constant", "poisson"}},
	"plan.classes[].arrival": {"enum": []string{"", "constant", "poisson"}},
}

// JSONSchema returns the schema (draft 2020-12) of a line of a file of records.
func JSONSchema() ([]byte, error) {
	var metrics []string
	for _, m := range Metrics {
		metrics = append(metrics, string(m))
	}
	return Schema{
		Name: "record", Title: "lockbench record",
		Description: "One trial of one cell, a line of what lockbench -o writes. Names say the units: _ns, _us, _bytes, _per_s.",
		Fields:      recordFields,
		Shared:      map[reflect.Type]string{reflect.TypeFor[Latency](): "latency", reflect.TypeFor[Counts](): "counts"},
		Keys:        map[reflect.Type][]string{reflect.TypeFor[Metric](): metrics},
	}.Of(reflect.TypeFor[Record](), jsonObject{
		// A whole trial takes time; one that was stopped at once may have taken none.
		"anyOf": []any{
			jsonObject{"required": []string{"partial"}},
			jsonObject{"properties": jsonObject{"elapsed_ns": jsonObject{"exclusiveMinimum": 0}}},
		},
	})
}
