// lockbench schema: the JSON schemas of what lockbench reads and writes. That of workload files is made from the table of
// flags, like the parser's vocabulary, so that neither knows a field that the other does not; those of records and comparisons
// are the affair of packages results and export.

package cli

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/export"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads/matrix"
)

// schemas are what has one, the default first.
var schemas = []string{"workload", "record", "comparison"}

// schemaOf makes one of them.
var schemaOf = map[string]func() ([]byte, error){
	"workload": workloadSchema, "record": results.JSONSchema, "comparison": export.ComparisonSchema,
}

func (p *program) schemaCommand() *cobra.Command {
	c, _ := p.command(&cobra.Command{
		Use:   "schema [workload|record|comparison]",
		Short: "Print the JSON schema of workload files, of records or of comparisons",
		Long: "Prints a JSON schema (draft 2020-12).\n\n" +
			"workload, the default, is that of the files that -workload takes. An editor that knows it\n" +
			"completes their fields and marks mistakes. What depends on other values, lockbench alone tells:\n" +
			"see -dry-run.\n\n" +
			"record is that of a line of the files that -o writes, comparison that of what compare -format json\n" +
			"writes, for programs that read them. They have to expect fields that it does not name: later\n" +
			"versions add some.",
		ValidArgs: schemas,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usageErrorf("schema: one at a time: %s", strings.Join(schemas, ", "))
			}
			if len(args) == 1 && !slices.Contains(schemas, args[0]) {
				return usageErrorf("schema: there is none of %q%s; there are %s",
					args[0], didYouMean("", args[0], schemas), strings.Join(schemas, ", "))
			}
			return nil
		},
	}, nil)
	c.RunE = func(_ *cobra.Command, args []string) error {
		text, err := schemaOf[append(args, schemas[0])[0]]()
		if err != nil {
			return err
		}
		_, err = p.stdout.Write(text)
		return err
	}
	return c
}

// object is a JSON object.
type object = map[string]any

// schemaID names the schema; it is no address.
const schemaID = "https://github.com/lockbench/lockbench/workloads/workload.schema.json"

// namePattern is that of a workload and of a class; see package file.
const namePattern = `^[A-Za-z0-9_.][A-Za-z0-9_.-]{0,63}$`

// workloadSchema writes the schema. Maps come out sorted, so that it is the same each time.
func workloadSchema() ([]byte, error) {
	top, class, cell := object{}, object{}, object{}
	for _, f := range runFlags {
		if !f.inWorkload() {
			continue
		}
		one := object{"$ref": "#/$defs/" + f.name}
		value := one
		if f.axis {
			value = object{"anyOf": []any{one, object{"type": "array", "items": one, "minItems": 1, "uniqueItems": true}}}
		}
		top[f.name] = value
		if !slices.Contains(ofTheRun, f.name) {
			cell[f.name] = value
		}
		if slices.Contains(ofAClass, f.name) {
			class[f.name] = one
		}
	}
	strict := func(properties object) object {
		return object{"type": "object", "properties": properties, "additionalProperties": false}
	}
	listed := object{"name": object{"$ref": "#/$defs/name"}}
	for name, value := range class {
		listed[name] = value
	}
	named := strict(listed)
	named["required"] = []string{"name"}
	different := strict(cell)
	different["minProperties"] = 1
	top["name"] = object{"$ref": "#/$defs/name", "description": "what records call it"}
	top["about"] = object{"type": "string", "minLength": 1, "maxLength": 200, "pattern": `^[^\n]*\S[^\n]*$`,
		"description": "one line on what it imitates"}
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
	defs := object{"name": object{"type": "string", "pattern": namePattern}}
	for _, f := range runFlags {
		if f.inWorkload() {
			defs[f.name] = f.schema()
		}
	}
	schema["$defs"] = defs
	text, err := json.MarshalIndent(schema, "", "  ")
	return append(text, '\n'), err
}

// The texts of values. They catch slips; what fits together the program itself tells.
const (
	digits    = `[0-9]+(_[0-9]+)*`
	decimal   = `([0-9]+(\.[0-9]*)?|\.[0-9]+)`
	timeText  = `(` + decimal + `(ns|us|µs|μs|ms|s|m|h))+`
	shareText = decimal + ` *%|0?\.[0-9]+|0`
	rateText  = digits + `(\.[0-9]+)?[kKM]?`
	keyText   = `(uniform|sequential|own|zipf:` + decimal + `|hot:(` + shareText + `):` + digits + `[kKM]?)` + partText
	partText  = `(@[0-9_kKM]+-[0-9_kKM]+)?`
	mixText   = decimal + ` *% *\* *` + keyText
	stepsText = `(steps|ladder):` + rateText + `:` + rateText + `:[0-9]+`
	rampText  = rateText + `:` + rateText + `:` + timeText
	timesText = timeText + `|0|uniform:(` + timeText + `|0):` + timeText + `|exp:` + timeText +
		`|lognormal:` + timeText + `:` + timeText + `|file:[^,]+`
	paramText   = `[^=+,]+=[^=+,]+(\+[^=+,]+=[^=+,]+)*`
	wordText    = `[a-z0-9]+(-[a-z0-9]+)*`
	errorsText  = digits + `[kKM]?|` + shareText
	integerText = digits + `[kKM]?`
	seedText    = `0[xX][0-9a-fA-F_]+|` + digits
)

// schema is that of one value of a flag.
func (f flagDef) schema() object {
	s := object{"description": strings.ReplaceAll(f.usage, "\n", " ")}
	text := func(pattern string) object { return object{"type": "string", "pattern": "^(" + pattern + ")$"} }
	either := func(kinds ...any) { s["anyOf"] = kinds }
	integer := object{"type": "integer", "minimum": 0}
	switch {
	case f.name == "seed":
		either(integer, text(seedText))
	case f.name == "driver": // YAML has a value of its own that is written null
		either(text(wordText), object{"type": "null"})
	case matrix.Choices(f.name) != nil:
		s["enum"] = matrix.Choices(f.name)
	case f.isSwitch() && f.axis:
		s["enum"] = []any{spec.Off, spec.On, true, false, "true", "false"}
	case f.isSwitch():
		s["enum"] = []any{true, false, "true", "false"}
	default:
		switch f.value {
		case "N", "OPS":
			either(integer, text(integerText))
		case "HZ":
			either(object{"type": "number", "minimum": 0, "maximum": matrix.MaxProbe}, text(decimal))
		case "TIME":
			either(object{"const": 0}, text(timeText+"|0"))
		case "TIMES":
			either(object{"const": 0}, text(timesText))
		case "KEYS":
			either(text(keyText + `|` + mixText + `( *\+ *` + mixText + `)*`))
		case "SHARE":
			either(object{"type": "number", "minimum": 0, "exclusiveMaximum": 1}, text(shareText))
		case "RATE":
			either(object{"type": "number", "minimum": 0}, text(rateText+"|"+rampText+"|"+stepsText))
		case "N|SHARE":
			either(object{"type": "number", "minimum": 0}, text(f.def+"|"+errorsText))
		case "NAME=VALUE":
			either(text(paramText))
		case "NAME":
			either(text(wordText))
		default:
			panic("lockbench: no schema for -" + f.name + " " + f.value)
		}
	}
	return s
}
