// The published schema, held to what the program takes and refuses; its own tests write that down.
package file

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// published returns the schema of workloads, which lockbench prints.
func published(t *testing.T) *jsonschema.Schema {
	t.Helper()
	const name = "workload.schema.json"
	text, err := os.ReadFile(filepath.Join("..", name))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(name, doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// validate holds a workload to a schema, as an editor does.
func validate(s *jsonschema.Schema, text string) error {
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		return err
	}
	asJSON, err := json.Marshal(v)
	if err != nil {
		return err
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(asJSON)))
	if err != nil {
		return err
	}
	return s.Validate(doc)
}

// golden reads what the tests of cmd/cli have written.
func golden(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}

func TestSchemaTakesWorkloads(t *testing.T) {
	s, texts := published(t), map[string]string{}
	golden(t, "taken.json", &texts)
	if len(texts) < 10 {
		t.Fatalf("only %d workloads", len(texts))
	}
	for name, text := range texts {
		if err := validate(s, text); err != nil {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
}

func TestSchemaRefuses(t *testing.T) {
	var texts []string
	s := published(t)
	golden(t, "refused.json", &texts)
	if len(texts) < 90 {
		t.Fatalf("only %d workloads", len(texts))
	}
	for _, text := range texts {
		if err := validate(s, text); err == nil {
			t.Errorf("%q: the schema takes it", text)
		}
	}
}
