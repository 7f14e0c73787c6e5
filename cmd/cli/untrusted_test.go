package cli

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// TestDataStartsNothing gives each command files by somebody else, which name a command wherever they name a driver, and a server of
// theirs. It also names the command to what measures nothing.
func TestDataStartsNothing(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	made, command := in("made"), "exec:touch "+in("made")
	var visits atomic.Int32
	theirs := "redis://" + peer(t, func(net.Conn) { visits.Add(1) })
	lockbench := func(stdin []byte, args ...string) (out string, code int) {
		var stdout, stderr bytes.Buffer
		code = run(args, bytes.NewReader(stdin), &stdout, &stderr, environment(), nil)
		return stdout.String() + stderr.String(), code
	}
	for name, text := range map[string]string{
		"top.yaml": "driver: '" + command + "'\n", "list.yaml": "driver: ['null', '" + command + "']\n",
		"proof.json": `{"schema":1,"env":{},"asked":{},"hazards":[],"cells":[{"hazard":"overrun","driver":"x","lock":"y","command":"z","verdict":"fails"}]}`,
	} {
		if err := os.WriteFile(in(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.CopyFS(dir, os.DirFS("../../results/export/testdata")); err != nil { // what compare and plan have written
		t.Fatal(err)
	}
	if out, code := lockbench(nil, "-driver", "null", "-clients", "1", "-n", "9", "-warmup", "0s", "-quiet", "-o", in("records.jsonl")); code != 0 {
		t.Fatal(out)
	}
	for _, name := range []string{"records.jsonl", "comparison.json", "plan.json", "proof.json"} {
		taint(t, in(name), command, theirs)
	}
	records, err := os.ReadFile(in("records.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	if _, err := z.Write(records); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	plan := []string{"-rate", "100", "-slo", "response.p99<1s"}
	for _, args := range [][]string{
		{"report", in("records.jsonl")}, {"report", "-format", "html,csv=" + in("x.csv"), "-"}, {"report", in("comparison.json")},
		{"report", in("plan.json")}, {"report", "-v", in("proof.json")}, {"compare", in("records.jsonl"), in("records.jsonl")},
		{"history", in("records.jsonl")}, {"clean", in("records.jsonl")}, {"clean", "-addr", "redis://127.0.0.1:1", "-dry-run", "-"},
		{"-driver", "null", "-n", "9", "-baseline", in("records.jsonl"), "-dry-run"},
		{"prove", "-driver", "memory", "-baseline", in("proof.json"), "-dry-run"},
		{"-workload", in("top.yaml"), "-dry-run"}, {"-workload", in("list.yaml"), "-dry-run"},
		{"-workload", in("top.yaml")}, {"-workload", in("list.yaml")}, {"-workload", "{driver: '" + command + "'}"},
		{"-driver", "null", "-vs", "-workload " + in("top.yaml"), "-n", "9", "-warmup", "0s", "-trials", "1"},
		append([]string{"plan", "-workload", in("top.yaml")}, plan...),
		append([]string{"plan", "-workload", in("list.yaml"), "-dry-run"}, plan...),
		{"-driver", command, "-dry-run"}, {"-driver", "null", "-vs", "-driver '" + command + "'", "-addr", theirs, "-dry-run"},
		append([]string{"plan", "-driver", command, "-dry-run"}, plan...), {"prove", "-driver", command, "-dry-run"},
		{"list", command}, {"help", command}, {"schema", command}, {"__complete", "-driver", command}, {"version"},
	} {
		stdins := [][]byte{records}
		if slices.Contains(args, "-") {
			stdins = append(stdins, zipped.Bytes())
		}
		for _, stdin := range stdins {
			out, _ := lockbench(stdin, args...)
			if _, err := os.Stat(made); err == nil {
				t.Fatalf("%q has run the command: %s", args, out)
			}
			if visits.Load() > 0 {
				t.Fatalf("%q has visited the server: %s", args, out)
			}
		}
	}
	if out, _ := lockbench(nil, "-driver", command, "-n", "9"); !exists(made) { // or nothing is shown
		t.Errorf("a run has not started the command that its user names: %s", out)
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// taint puts a command in the place of each driver in a file of JSON, and an address in that of each server.
func taint(t *testing.T, path, command, addr string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var walk func(v any) any
	walk = func(v any) any {
		switch v := v.(type) {
		case []any:
			for i := range v {
				v[i] = walk(v[i])
			}
		case map[string]any:
			for key := range v {
				switch _, text := v[key].(string); {
				case key == "driver" && text:
					v[key] = command
				case key == "command" && text:
					v[key] = "lockbench -driver '" + command + "' -addr " + addr
				case key == "server" && !text:
					v[key] = map[string]any{"kind": "external", "addr": addr}
				default:
					v[key] = walk(v[key])
				}
			}
			if _, record := v["trial"]; record {
				v["prefix"] = "lockbench:" + strings.Repeat("A", 16) + ":1:"
			}
		}
		return v
	}
	var out bytes.Buffer
	for dec := json.NewDecoder(bytes.NewReader(text)); dec.More(); {
		var v any
		if err := dec.Decode(&v); err != nil {
			t.Fatal(err)
		}
		line, err := json.Marshal(walk(v))
		if err != nil {
			t.Fatal(err)
		}
		out.Write(append(line, '\n'))
	}
	if !strings.Contains(out.String(), command) {
		t.Fatalf("%s names no driver: %s", path, text)
	}
	if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}
