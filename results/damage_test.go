package results

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// TestReaderRefusesDamage: what has the right type, and makes no sense.
func TestReaderRefusesDamage(t *testing.T) {
	for _, tt := range []struct{ path, value string }{
		{"schema", "2"}, {"schema", "0"}, {"schema", `"1"`}, {"id", `""`}, {"id", "3"}, {"id", ""}, {"trial", "0"}, {"cell", "-1"}, {"side", `"left"`},
		{"elapsed_ns", "0"}, {"elapsed_ns", "-5"}, {"plan.driver", `""`}, {"plan.clients", "-1"}, {"plan.durability", `"none"`}, {"plan.seed", "-1"},
		{"server.durability", `"some"`}, {"env.cpus", "-2"}, {"counts.acquired", "-1"}, {"counts.errors.timeout", "-1"}, {"latency.acquire.p99_ns", "-1"},
		{"latency.later", "3"}, {"fairness.jain", "1.5"}, {"fairness.starved", "-1"}, {"safety.violations", "-1"}, {"bound.efficiency", "-0.1"},
		{"generator.machine", "2"}, {"steady.p", "1.1"}, {"series", "{}"}, {"warnings", "[3]"},
	} {
		report, err := Read(bytes.NewReader(damage(t, tt.path, tt.value)), func(*Record) error { return nil })
		if err == nil && report.Damaged == 0 {
			t.Errorf("%s = %s: the reader takes it", tt.path, tt.value)
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
