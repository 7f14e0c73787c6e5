package file

import "encoding/json"

// object is a JSON object.
type object = map[string]any

// schemaID names the schema; it is no address.
const schemaID = "https://github.com/lockbench/lockbench/workloads/workload.schema.json"

// JSONSchema returns the schema of workloads. value returns that of one value of a field. Maps come out sorted, so that it is the
// same each time.
func JSONSchema(fields []Field, value func(field string) map[string]any) ([]byte, error) {
	top, class := object{}, object{}
	defs := object{"name": object{"type": "string", "pattern": nameForm.String()}}
	for _, f := range fields {
		defs[f.Name] = value(f.Name)
		one := object{"$ref": "#/$defs/" + f.Name}
		values := one
		if f.List {
			values = object{"anyOf": []any{one, object{"type": "array", "items": one, "minItems": 1, "uniqueItems": true}}}
		}
		top[f.Name] = values
		if f.Class {
			class[f.Name] = one
		}
	}
	strict := func(properties object) object {
		return object{"type": "object", "properties": properties, "additionalProperties": false}
	}
	top["name"] = object{"$ref": "#/$defs/name", "description": "what records call it"}
	top["about"] = object{"type": "string", "minLength": 1, "pattern": `^[^\n]*\S[^\n]*$`,
		"description": "one line on what it imitates"}
	condition := object{"$ref": "#/$defs/" + "slo"}
	defs["slo"] = value("slo")
	top["slo"] = object{"anyOf": []any{condition, object{"type": "array", "items": condition, "minItems": 1, "uniqueItems": true}}}
	top["classes"] = object{
		"description":   "kinds of clients; what a class leaves out it has from the top",
		"type":          "object",
		"propertyNames": object{"pattern": nameForm.String()}, "additionalProperties": strict(class),
	}
	schema := strict(top)
	schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	schema["$id"] = schemaID
	schema["title"] = "lockbench workload"
	schema["minProperties"] = 1
	schema["$defs"] = defs
	text, err := json.MarshalIndent(schema, "", "  ")
	return append(text, '\n'), err
}
