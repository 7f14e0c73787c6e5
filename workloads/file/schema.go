package file

import (
	"encoding/json"
	"maps"
)

// object is a JSON object.
type object = map[string]any

// schemaID names the schema; it is no address.
const schemaID = "https://github.com/lockbench/lockbench/workloads/workload.schema.json"

// namePattern is what checkName accepts.
const namePattern = `^[A-Za-z0-9_.][A-Za-z0-9_.-]{0,63}$`

// JSONSchema returns the schema of workloads. value returns that of one value of a field. Maps come out sorted, so that it is the
// same each time.
func (v Vocabulary) JSONSchema(value func(field string) map[string]any) ([]byte, error) {
	top, class, cell := object{}, object{}, object{}
	defs := object{"name": object{"type": "string", "pattern": namePattern}}
	for _, f := range v.Fields {
		defs[f.Name] = value(f.Name)
		one := object{"$ref": "#/$defs/" + f.Name}
		values := one
		if f.Axis {
			values = object{"anyOf": []any{one, object{"type": "array", "items": one, "minItems": 1, "uniqueItems": true}}}
		}
		top[f.Name] = values
		if !f.Run {
			cell[f.Name] = values
		}
		if f.Class {
			class[f.Name] = one
		}
	}
	strict := func(properties object) object {
		return object{"type": "object", "properties": properties, "additionalProperties": false}
	}
	listed := object{"name": object{"$ref": "#/$defs/name"}}
	maps.Copy(listed, class)
	named := strict(listed)
	named["required"] = []string{"name"}
	different := strict(cell)
	different["minProperties"] = 1
	top["name"] = object{"$ref": "#/$defs/name", "description": "what records call it"}
	top["about"] = object{"type": "string", "minLength": 1, "maxLength": maxAbout, "pattern": `^[^\n]*\S[^\n]*$`,
		"description": "one line on what it imitates"}
	condition := object{"$ref": "#/$defs/" + fieldSLO}
	defs[fieldSLO] = value(fieldSLO)
	top[fieldSLO] = object{"anyOf": []any{condition, object{"type": "array", "items": condition, "minItems": 1, "uniqueItems": true}}}
	top["classes"] = object{
		"description": "kinds of clients; what a class leaves out it has from the top",
		"anyOf": []any{
			object{
				"type": "object", "minProperties": 1,
				"propertyNames": object{"pattern": namePattern}, "additionalProperties": strict(class),
			},
			object{"type": "array", "minItems": 1, "items": named},
		},
	}
	top["cells"] = object{
		"description": "each is the top with these values in place; lists inside are axes",
		"type":        "array", "minItems": 1, "items": different,
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
