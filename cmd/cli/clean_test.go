package cli

import (
	"bytes"
	"net"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
)

// TestCleanRefusesRecords: a record that somebody else has edited leads clean to no other names than those of a trial, starts nothing,
// and its server is never asked.
func TestCleanRefusesRecords(t *testing.T) {
	var visits atomic.Int32
	visited := "redis://" + peer(t, func(net.Conn) { visits.Add(1) })
	id := "lockbench:" + strings.Repeat("A", 16) + ":"
	for _, c := range []struct {
		name, want string
		edit       func(r *results.Record)
	}{
		{"a foreign prefix", "no trial alone has the prefix", func(r *results.Record) { r.Prefix = "user:" }},
		{"all prefixes", "no trial alone has the prefix", func(r *results.Record) { r.Prefix = "lockbench:" }},
		{"a run's prefix", "no trial alone has the prefix", func(r *results.Record) { r.Prefix = id }},
		{"a pattern", "no trial alone has the prefix", func(r *results.Record) { r.Prefix = "*" + id + "1:" }},
		{"what follows", "no trial alone has the prefix", func(r *results.Record) { r.Prefix = id + "1:user:" }},
		{"a line", "no trial alone has the prefix", func(r *results.Record) { r.Prefix = id + "1:\n" }},
		{"no prefix", "no record is of a run on a server of yours", func(r *results.Record) { r.Prefix = "" }},
		{"a command", "no names of", func(r *results.Record) { r.Plan.Driver = "exec:false" }},
		{"an adapter", "no names of", func(r *results.Record) { r.Plan.Driver = "redis-py" }},
		{"another driver", "no names of x", func(r *results.Record) { r.Plan.Driver = "x" }},
		{"no server", "no names of memory", func(r *results.Record) { r.Plan.Driver, r.Plan.Lock = "memory", "mutex" }},
		{"another service", "-addr: redis:// is an address of redis", func(r *results.Record) { r.Plan.Driver, r.Plan.Lock = "etcd", "lease" }},
		{"another lock", `-lock x: it has only set-nx`, func(r *results.Record) { r.Plan.Lock = "x" }},
		{"too many keys", "-keys 20000000", func(r *results.Record) { r.Plan.Keys = 20_000_000 }},
		{"shared names", "-shared runs", func(r *results.Record) { r.Plan.Shared = true }},
	} {
		rec := results.Record{
			Schema: results.SchemaVersion, ID: "x", Run: "x", Trial: 1, Started: time.Unix(1, 0), Partial: "killed", Prefix: id + "1:",
			Plan: spec.Plan{Driver: "go-redis", Lock: "set-nx", Wait: "none", Keys: 2, Duration: 1, IOTimeout: time.Second,
				Load: spec.Load{Clients: 1, TTL: time.Second}, Server: "external"},
			Server: results.Server{Kind: "external", Addr: visited},
		}
		clean := func(args ...string) (string, int) {
			file := filepath.Join(t.TempDir(), "theirs.jsonl")
			if err := (&results.Appender{Path: file}).Append(&rec); err != nil {
				t.Fatal(err)
			}
			var stdout, stderr bytes.Buffer
			code := run(append([]string{"clean", file}, args...), nil, &stdout, &stderr, environment(), nil)
			return stdout.String() + stderr.String(), code
		}
		if out, code := clean(); code != exitUsage || !strings.Contains(out, "give -addr") {
			t.Errorf("without -addr: code %d, %s", code, out)
		}
		if out, code := clean("-dry-run", "-addr", visited); code != 0 || strings.Count(out, "would delete") != 2 {
			t.Errorf("the whole record: code %d, %s", code, out)
		}
		c.edit(&rec)
		if out, code := clean("-addr", visited); code == 0 || !strings.Contains(out, c.want) {
			t.Errorf("%s: code %d, %s; want %q", c.name, code, out, c.want)
		}
		if visits.Load() > 0 {
			t.Fatalf("%s: the server was visited", c.name)
		}
	}
}
