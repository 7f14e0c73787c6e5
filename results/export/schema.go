package export

import (
	"encoding/json"
	"reflect"
	"regexp"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
)

// closed is what the library adds to each object.
var closed = regexp.MustCompile(`,\s*"additionalProperties": false`)

// RecordSchema returns the JSON schema (draft 2020-12) of a line of a file of records. Fields that it does not name are
// allowed, since later versions may add some. What a record must hold besides, results.Record.Validate asks for.
func RecordSchema() ([]byte, error) {
	text := &jsonschema.Schema{Type: "string"}
	s, err := jsonschema.For[results.Record](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[spec.Keys](): text, reflect.TypeFor[spec.Rate](): text, reflect.TypeFor[spec.Times](): text,
	}})
	if err != nil {
		return nil, err
	}
	s.Schema, s.Title = "https://json-schema.org/draft/2020-12/schema", "lockbench record"
	s.Description = "One trial, a line of lockbench -o. Names end in units: _ns, _us, _bytes, _per_s."
	version := s.Properties["schema"]
	version.Minimum, version.Maximum = jsonschema.Ptr(1.0), jsonschema.Ptr(float64(results.SchemaVersion))
	indented, err := json.MarshalIndent(s, "", "  ")
	return append(closed.ReplaceAll(indented, nil), '\n'), err
}
