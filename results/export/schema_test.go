package export

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/lockbench/lockbench/results"
)

// recordSchema returns the one that lockbench prints.
func recordSchema(t *testing.T) *jsonschema.Resolved {
	t.Helper()
	text, err := RecordSchema()
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return resolved
}

func holds(t *testing.T, s *jsonschema.Resolved, line []byte) error {
	t.Helper()
	var doc any
	if err := json.Unmarshal(line, &doc); err != nil {
		t.Fatal(err)
	}
	return s.Validate(doc)
}

// TestRecordSchemaTakesRecords holds every record that was ever kept to the schema.
func TestRecordSchemaTakesRecords(t *testing.T) {
	s := recordSchema(t)
	files, err := filepath.Glob("../../scripts/recorded/*.jsonl.gz")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, name := range append(files, "../testdata/schema1.jsonl") {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		lines := bufio.NewScanner(results.Inflate(f))
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
	line, err := json.Marshal(record(0))
	if err != nil {
		t.Fatal(err)
	}
	if err := holds(t, s, line); err != nil {
		t.Error(err)
	}
}

// TestRecordSchemaRefusesDamage damages a record in one place at a time.
func TestRecordSchemaRefusesDamage(t *testing.T) {
	s := recordSchema(t)
	for _, tt := range []struct{ path, value string }{
		{"schema", "2"}, {"schema", "0"}, {"schema", `"1"`}, {"schema", "1.5"}, {"id", "3"}, {"id", ""}, {"started", ""}, {"started", "7"},
		{"elapsed_ns", `"4s"`}, {"elapsed_ns", "1.5"}, {"plan", ""}, {"plan", "[]"}, {"plan.lock", ""}, {"plan.clients", `"64"`}, {"plan.renew", `"on"`},
		{"server.kind", "1"}, {"env.libraries.rueidis", "1"}, {"counts.acquired", "1e-3"}, {"latency", "[]"}, {"latency.acquire.hdr", "3"},
		{"latency.acquire.count", ""}, {"latency.later", "3"}, {"fairness.jain", "null"}, {"safety.checked", "1"}, {"series", "{}"}, {"warnings", "[3]"},
	} {
		if err := holds(t, s, changed(t, tt.path, tt.value)); err == nil {
			t.Errorf("%s = %s: the schema takes it", tt.path, tt.value)
		}
	}
	for _, tt := range []struct{ path, value string }{{"later", `{"x": 1}`}, {"plan.later", "true"}, {"cost.wakeups", "-1"}} {
		if err := holds(t, s, changed(t, tt.path, tt.value)); err != nil {
			t.Errorf("%s = %s: %v", tt.path, tt.value, err)
		}
	}
}

// changed returns a record with that JSON at path, or with nothing there at all.
func changed(t *testing.T, path, value string) []byte {
	t.Helper()
	line, err := json.Marshal(record(0))
	if err != nil {
		t.Fatal(err)
	}
	var rec map[string]any
	if err := json.Unmarshal(line, &rec); err != nil {
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
