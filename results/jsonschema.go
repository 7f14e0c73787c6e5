package results

// The JSON schema of a record, made from the type itself, so that it knows every field that a record has. What a type does
// not say (which names there are, and what a number can be) stands here and is what Validate asks for, as far as a
// schema can: that quantiles rise, or that counts do not contradict each other, Validate alone sees.

import (
	"encoding/json"
	"maps"
	"reflect"
	"strings"
	"time"
)

// SchemaID names the schema; it is no address.
const SchemaID = "https://github.com/lockbench/lockbench/results/record.schema.json"

// kinds are those of Server.Kind.
var kinds = []string{"private", "embedded", "external", "in-process"}

// constraints say of fields, by their paths with [] for the elements of a list and {} for the values of a map, what their
// types do not. A "*" stands for everything before a field that means the same wherever it is.
var constraints = map[string]jsonObject{
	"schema":                 {"minimum": 1, "maximum": SchemaVersion, "description": "version of the record"},
	"id":                     {"minLength": 1, "description": "unique to the record"},
	"run":                    {"description": "the invocation of lockbench that it belongs to"},
	"cell":                   {"description": "its place in that run's matrix, from 0"},
	"trial":                  {"minimum": 1},
	"side":                   {"enum": sides},
	"partial":                {"description": "why this is less than a whole trial; absent from a whole one"},
	"plan.driver":            {"minLength": 1},
	"plan.lock":              {"minLength": 1},
	"plan.durability":        {"enum": durabilities},
	"plan.server":            {"enum": kinds},
	"plan.command":           {"description": "the command line that makes this cell again"},
	"server.kind":            {"enum": kinds},
	"server.durability":      {"enum": durabilities},
	"elapsed_ns":             {"description": "the measured window, warm-up excluded"},
	"latency":                {"description": "by metric; later versions may know more of them"},
	"fairness.jain":          {"maximum": 1},
	"classes[].jain":         {"maximum": 1},
	"steady.p":               {"maximum": 1},
	"generator.machine":      {"maximum": 1},
	"bound.by":               {"enum": []string{"", "keys", "clients", "connections", "rate"}},
	"cost":                   {"description": "of one granted lock; a negative number is not known"},
	"*latency{}.hdr":         {"contentEncoding": "base64", "description": "HdrHistogram V2, deflated; values in ns"},
	"*latency{}.overflow":    {"description": "values beyond the range, counted at its end"},
	"plan.classes[].name":    {"minLength": 1},
	"classes[].name":         {"minLength": 1},
	"plan.arrival":           {"enum": []string{"", "constant", "poisson"}},
	"plan.classes[].arrival": {"enum": []string{"", "constant", "poisson"}},
}

type jsonObject = map[string]any

// JSONSchema is the schema (draft 2020-12) of a line of a file of records. Fields that it does not know are allowed: a
// later version of lockbench may have added them, and readers ignore them.
func JSONSchema() ([]byte, error) {
	b := schemaBuilder{defs: jsonObject{}}
	schema := b.object(reflect.TypeFor[Record](), "")
	schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	schema["$id"] = SchemaID
	schema["title"] = "lockbench record"
	schema["description"] = "One trial of one cell, a line of what lockbench -o writes. Names say the units: _ns, _us, _bytes, _per_s."
	// A whole trial takes time; one that was stopped at once may have taken none.
	schema["anyOf"] = []any{
		jsonObject{"required": []string{"partial"}},
		jsonObject{"properties": jsonObject{"elapsed_ns": jsonObject{"exclusiveMinimum": 0}}},
	}
	schema["$defs"] = b.defs
	text, err := json.MarshalIndent(schema, "", "  ")
	return append(text, '\n'), err
}

// schemaBuilder collects the types that occur more than once.
type schemaBuilder struct{ defs jsonObject }

// value is the schema of a field of that type at path.
func (b schemaBuilder) value(t reflect.Type, path string) jsonObject {
	s := jsonObject{}
	switch {
	case t == reflect.TypeFor[time.Time]():
		s["type"], s["format"] = "string", "date-time"
	case t == reflect.TypeFor[Latency]():
		if b.defs["latency"] == nil {
			b.defs["latency"] = b.object(t, "*latency{}")
		}
		return jsonObject{"$ref": "#/$defs/latency"}
	case t == reflect.TypeFor[Counts]():
		if b.defs["counts"] == nil {
			b.defs["counts"] = b.object(t, "*counts")
		}
		return jsonObject{"$ref": "#/$defs/counts"}
	default:
		s = b.kind(t, path)
	}
	maps.Copy(s, constraints[path])
	return s
}

// kind is the schema of what has no name of its own.
func (b schemaBuilder) kind(t reflect.Type, path string) jsonObject {
	switch t.Kind() {
	case reflect.Struct:
		return b.object(t, path)
	case reflect.Map:
		s := jsonObject{"type": "object", "additionalProperties": b.value(t.Elem(), path+"{}")}
		if t.Key() == reflect.TypeFor[Metric]() {
			named := jsonObject{}
			for _, m := range Metrics {
				named[string(m)] = b.value(t.Elem(), path+"{}")
			}
			s["properties"] = named
		}
		return s
	case reflect.Slice:
		return jsonObject{"type": "array", "items": b.value(t.Elem(), path+"[]")}
	case reflect.Bool:
		return jsonObject{"type": "boolean"}
	case reflect.String:
		return jsonObject{"type": "string"}
	case reflect.Float64:
		return b.number("number", path)
	default: // integers; a kind that is none fails the tests, which hold records to the schema
		return b.number("integer", path)
	}
}

func (b schemaBuilder) number(kind, path string) jsonObject {
	s := jsonObject{"type": kind}
	if !negativeAllowed(path) {
		s["minimum"] = 0
	}
	return s
}

// object is the schema of a struct. What is left out of the JSON form when it is zero may be absent.
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
		properties[name] = b.value(f.Type, join(path, name))
		if !strings.Contains(options, "omitempty") && !strings.Contains(options, "omitzero") {
			*required = append(*required, name)
		}
	}
}
