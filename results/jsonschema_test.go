package results

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

var update = flag.Bool("update", false, "write the golden files anew")

// recordSchema returns the one that lockbench publishes.
func recordSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := JSONSchema()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(SchemaID("record"), doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(SchemaID("record"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func holds(t *testing.T, s *jsonschema.Schema, line []byte) error {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(line))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(doc)
}

// TestJSONSchemaIsPublished compares the schema in the repository with the one that the type makes.
func TestJSONSchemaIsPublished(t *testing.T) {
	text, err := JSONSchema()
	if err != nil {
		t.Fatal(err)
	}
	const path = "record.schema.json"
	if *update {
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(text) != string(want) {
		t.Errorf("%s is not what the type makes; run the test with -update", path)
	}
}

// TestJSONSchemaTakesRecords holds every record that was ever kept to the schema.
func TestJSONSchemaTakesRecords(t *testing.T) {
	s := recordSchema(t)
	files, err := filepath.Glob("../scripts/recorded/*.jsonl.gz")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, name := range append(files, "testdata/schema1.jsonl") {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		lines := bufio.NewScanner(Inflate(f))
		lines.Buffer(nil, 64<<20)
		n := 0
		for ; lines.Scan(); n++ {
			if err := holds(t, s, lines.Bytes()); err != nil {
				t.Errorf("%s:%d: %v", name, n+1, err)
			}
		}
		if n == 0 || lines.Err() != nil {
			t.Errorf("%s: %d records, %v", name, n, lines.Err())
		}
	}
	for name, r := range map[string]*Record{"every field": sample(), "whole": numbered(1), "first": firstSample()} {
		line, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := holds(t, s, line); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestJSONSchemaKnowsEveryField finds fields of a record that the schema does not name: it would take anything for them.
func TestJSONSchemaKnowsEveryField(t *testing.T) {
	text, err := JSONSchema()
	if err != nil {
		t.Fatal(err)
	}
	var schema map[string]any
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	line, err := json.Marshal(sample())
	if err != nil {
		t.Fatal(err)
	}
	var rec any
	if err := json.Unmarshal(line, &rec); err != nil {
		t.Fatal(err)
	}
	defs := schema["$defs"].(map[string]any)
	var walk func(path string, v any, s map[string]any)
	walk = func(path string, v any, s map[string]any) {
		if ref, ok := s["$ref"].(string); ok {
			s = defs[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any)
		}
		switch v := v.(type) {
		case map[string]any:
			known, _ := s["properties"].(map[string]any)
			_, open := s["additionalProperties"] // a map
			for name, below := range v {
				switch sub, ok := known[name].(map[string]any); {
				case ok:
					walk(path+"."+name, below, sub)
				case !open:
					t.Errorf("%s.%s: the schema does not know it", path, name)
				}
			}
		case []any:
			for _, one := range v {
				walk(path+"[]", one, s["items"].(map[string]any))
			}
		default:
			if s["type"] == nil && s["enum"] == nil {
				t.Errorf("%s: the schema does not say what it is", path)
			}
		}
	}
	walk("", rec, schema)
}

// TestJSONSchemaRefusesDamage damages a record in one place at a time. The reader refuses it too.
func TestJSONSchemaRefusesDamage(t *testing.T) {
	s := recordSchema(t)
	for _, tt := range []struct{ path, value string }{
		{"schema", "2"}, {"schema", "0"}, {"schema", `"1"`}, {"schema", "1.5"},
		{"id", `""`}, {"id", "3"}, {"id", ""}, {"started", ""}, {"started", "7"}, {"trial", "0"}, {"cell", "-1"},
		{"side", `"left"`}, {"elapsed_ns", "0"}, {"elapsed_ns", "-5"}, {"elapsed_ns", `"4s"`}, {"elapsed_ns", "1.5"},
		{"plan", ""}, {"plan", "[]"}, {"plan.driver", `""`}, {"plan.lock", ""}, {"plan.clients", "-1"}, {"plan.clients", `"64"`},
		{"plan.durability", `"none"`}, {"plan.renew", `"on"`}, {"plan.seed", "-1"},
		{"server.kind", "1"}, {"server.durability", `"some"`}, {"env.cpus", "-2"}, {"env.libraries.rueidis", "1"},
		{"counts.acquired", "-1"}, {"counts.acquired", "1e-3"}, {"counts.errors.timeout", "-1"}, {"counts.node_errors", "{}"},
		{"latency", "[]"}, {"latency.acquire.p99_ns", "-1"}, {"latency.acquire.hdr", "3"}, {"latency.acquire.count", ""},
		{"latency.later", "3"}, {"fairness.jain", "1.5"}, {"fairness.jain", "null"}, {"fairness.starved", "-1"},
		{"safety.violations", "-1"}, {"safety.checked", "1"}, {"bound.efficiency", "-0.1"}, {"generator.machine", "2"},
		{"steady.p", "1.1"}, {"series", "{}"}, {"warnings", "[3]"},
	} {
		damaged := damage(t, tt.path, tt.value)
		if err := holds(t, s, damaged); err == nil {
			t.Errorf("%s = %s: the schema takes it", tt.path, tt.value)
		}
		// What is missing altogether, or null, the reader takes for nothing.
		if tt.value == "" && tt.path != "id" || tt.value == "null" {
			continue
		}
		report, err := Read(bytes.NewReader(damaged), func(*Record) error { return nil })
		if err == nil && report.Damaged == 0 {
			t.Errorf("%s = %s: the reader takes it", tt.path, tt.value)
		}
	}
	for _, tt := range []struct{ path, value string }{
		{"later", `{"x": 1}`}, {"plan.later", "true"}, {"cost.wakeups", "-1"}, {"generator.cpu", "-1"}, {"latency.later", `{"count":0,"mean_ns":0,"min_ns":0,"p50_ns":0,"p90_ns":0,"p99_ns":0,"p999_ns":0,"max_ns":0,"hdr":""}`},
	} {
		if err := holds(t, s, damage(t, tt.path, tt.value)); err != nil {
			t.Errorf("%s = %s: %v", tt.path, tt.value, err)
		}
	}
}

// damage returns a whole record with that JSON at path, or with nothing there at all.
func damage(t *testing.T, path, value string) []byte {
	t.Helper()
	line, err := json.Marshal(numbered(1))
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber() // the seed needs all its digits
	var rec map[string]any
	if err := d.Decode(&rec); err != nil {
		t.Fatal(err)
	}
	at, names := rec, strings.Split(path, ".")
	for _, name := range names[:len(names)-1] {
		at = at[name].(map[string]any)
	}
	last := names[len(names)-1]
	if delete(at, last); value != "" {
		at[last] = json.RawMessage(value)
	}
	line, err = json.Marshal(rec)
	if err != nil {
		t.Fatal(err)
	}
	return line
}
