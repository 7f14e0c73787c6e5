package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/lockbench/lockbench/workloads/file"
	"github.com/lockbench/lockbench/workloads/presets"
)

// TestSchemaIsPublished compares the schema in the repository with the one that the program prints.
func TestSchemaIsPublished(t *testing.T) {
	text, err := workloadSchema()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, filepath.Join("..", "..", "..", "workloads", "workload.schema.json"), string(text))
}

// TestSchemaKnowsTheFields compares what may stand where, in both directions.
func TestSchemaKnowsTheFields(t *testing.T) {
	text, err := workloadSchema()
	if err != nil {
		t.Fatal(err)
	}
	type properties map[string]json.RawMessage
	var schema struct {
		Properties properties
		Defs       properties `json:"$defs"`
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	var classes struct {
		AdditionalProperties struct{ Properties properties }
	}
	if err := json.Unmarshal(schema.Properties["classes"], &classes); err != nil {
		t.Fatal(err)
	}
	for _, place := range []struct {
		name  string
		write func(field string) string
		has   properties
		more  []string
	}{
		{"the top", func(f string) string { return f + ": x" }, schema.Properties, []string{"name", "about", "slo", "classes"}},
		{"a class", func(f string) string { return "classes: {a: {" + f + ": x}}" }, classes.AdditionalProperties.Properties, nil},
	} {
		names := flagNames(slices.Concat(runFlags, planFlags, proveFlags))
		for name := range place.has {
			if !slices.Contains(place.more, name) {
				names = append(names, name)
			}
		}
		for _, name := range names {
			_, err := file.Parse("w.yaml", []byte(place.write(name)), workloadFields, unknownField)
			if _, known := place.has[name]; known != (err == nil) {
				t.Errorf("%s in %s: in the schema: %t, the parser: %v", name, place.name, known, err)
			}
		}
		if len(place.has) < 10 {
			t.Errorf("the schema has only %d fields for %s", len(place.has), place.name)
		}
	}
}

// resolved returns the schema of workloads for fitsSchema.
func resolved(t *testing.T) *jsonschema.Resolved {
	t.Helper()
	text, err := workloadSchema()
	s := new(jsonschema.Schema)
	if err = errors.Join(err, json.Unmarshal(text, s)); err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// fitsSchema holds a workload to the schema, as an editor does.
func fitsSchema(s *jsonschema.Resolved, text string) error {
	var v any
	asJSON, err := yaml.YAMLToJSON([]byte(text))
	if err = errors.Join(err, json.Unmarshal(asJSON, &v)); err != nil {
		return err
	}
	return s.Validate(v)
}

// TestTakenWorkloads has all that is sound: presets, the example, and plans as -dry-run prints them.
func TestTakenWorkloads(t *testing.T) {
	schema, texts := resolved(t), map[string]string{}
	for _, name := range presets.Names() {
		text, _ := presets.Find(name)
		texts[name] = string(text)
	}
	example, err := os.ReadFile(filepath.Join("..", "..", "workloads", "example.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	texts["example"] = string(example)
	for name, line := range map[string]string{
		"axes": "-driver go-redis,rueidis,memory,null -wait backoff,poll,queue,none -clients 2,1k -pipelining default,auto:100us -trials 3 -renew=off,on -lockers 1,2 -handover swap",
		"loads": "-driver memory -keys 100 -rate 0,0.5,5k,1k:50k:10s -arrival constant,poisson -max-queue 9 " +
			"-key-dist uniform,zipf:1.1,hot:80%:10,sequential,own -hold 100us,uniform:1ms:9ms,exp:5ms,lognormal:5ms:50ms " +
			"-crash 0.1% -try-only 0.3 -n 1M -duration 1m30s",
		"named":   "-driver redsync@redlock,redsync,null",
		"servers": "-driver rueidis,etcd -topology single,redlock,ensemble -durability relaxed,strict -release default,delex -probe 0.5",
		"params":  "-driver redislock -wait native -param retry=linear+retry-min=10ms,retry=exponential -seed 0xff -oracle=false",
		"classes": "-workload batch-beside-online -driver null,memory",
	} {
		e, err := experimentFor(t, line, environment())
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range e.Cells {
			texts[fmt.Sprint(name, i)] = printed(t, only(e, c))
		}
	}
	texts["spellings"] = "driver: [rueidis, null]\nclients: 1_000\nkeys: 10k\nhold: 0\nthink: uniform:0:1.5ms\ncrash: 0.1\n" +
		"slo: response.p99.9 < 1.5s, violations=0,errors< 1%\nrate: 0\nburst: 0\nrenew: [on, false]\noracle: false\nseed: 0x10\nttl: 1h30m\npipelining: auto:1.5us\n"
	for name, text := range texts {
		if _, err := experimentOfWorkload(t, text, "", environment()); err != nil {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
		if err := fitsSchema(schema, text); err != nil {
			t.Errorf("the schema refuses %s: %v\n%s", name, err, text)
		}
	}
}

// TestRefusedWorkloads has what both the program and the schema refuse, and texts that the program alone reads.
func TestRefusedWorkloads(t *testing.T) {
	within := []string{
		"clients: -3", "clients: many", "duration: 10", "hold: 5", "hold: 5 ms", "hold: -1ms", "hold: exp", "hold: normal:1ms:2ms",
		"key-dist: zipf", "key-dist: hot:80%", "key-dist: 70%*zipf:1+30%*own",
		"crash: 110", "crash: 10", "crash: -1%", "crash: lots", "try-only: yes", "rate: fast", "rate: -5", "rate: steps:1k:2k",
		"burst: 1", "max-queue: -1", "probe: -1", "probe: 1e9", "wait: sleep", "seed: -1", "seed: x", "driver: redsync@ring", "driver: redsync@",
		"driver: '@redlock'", "pipelining: on", "param: retry", "param: a=b+c",
		"slo: fast", "slo: 20ms", "slo: response.p99>20ms", "slo: [response.p99<20ms, x]",
		"oracle: on", "about: ''", "classes: {a b: {}}",
	}
	schema, texts := resolved(t), []string{
		"", "# nothing", "3", "[]", "clints: 3", "Clients: 3", "addr: redis://h", "password: x", "output: f", "dry-run: true", "include: x", "workload: x",
		"clients: 1.5", "clients: []", "clients: [3, 3]", "clients: {}", "clients: [[3]]", "clients:",
		"duration: [1s, 2s]", "trials: [1, 2]",
		"key-dist: 5",
		"arrival: sometimes",
		"renew: maybe", "renew: yes",
		"topology: ring", "durability: none", "release: free", "handover: throw",
		"slo:", "slo: []", "slo: {a: 1}",
		"name: ''", "name: [x]", "about: [x]",
		"classes: []", "classes:", "classes: 3", "classes: {a: 3}", "classes: {a: {driver: memory}}", "classes: {a: {hold: [1ms, 2ms]}}",
		"classes: [{name: a}]", "classes: {a: {clints: 3}}", "classes: {a: {classes: {b: {}}}}", "classes: {a: {name: b}}",
		"cells: [{hold: 1ms}]",
	}
	for _, text := range slices.Concat(texts, within) {
		if _, err := experimentOfWorkload(t, text, "", environment()); err == nil {
			t.Errorf("%q: the program takes it", text)
		}
		if !slices.Contains(within, text) && fitsSchema(schema, text) == nil {
			t.Errorf("%q: the schema takes it", text)
		}
	}
}
