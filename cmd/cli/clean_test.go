package cli

import (
	"bytes"
	"net"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockbench/lockbench/cmd/cli/deploy"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
)

// TestCleanWithholdsPasswords gives clean a record by somebody else, that names a server of theirs.
func TestCleanWithholdsPasswords(t *testing.T) {
	for _, c := range []struct{ driver, lock, scheme, variable string }{
		{"go-redis", "set-nx", "redis://", passwordVariable},
		{"etcd", "lease", "etcd://", passwordVariable},
		{"mysql", "row-lock", "mysql://", "LOCKBENCH_PASSWORD_FILE"},
		{"postgres", "row-lock", "postgres://", passwordVariable},
		{"postgres", "row-lock", "postgres://", "PGPASSWORD"},
	} {
		t.Run(c.driver+"/"+c.variable, func(t *testing.T) {
			var visits atomic.Int32 // of this server alone: one that the end of a client has left waiting may be counted late
			url := c.scheme + peer(t, func(net.Conn) { visits.Add(1) })
			if service := deploy.Service(c.driver); service.Database == servers.DatabaseName {
				url += "/db"
			}
			file := filepath.Join(t.TempDir(), "theirs.jsonl")
			if err := (&results.Appender{Path: file}).Append(&results.Record{
				Schema: results.SchemaVersion, ID: "x", Run: "x", Trial: 1, Started: time.Unix(1, 0), Partial: "killed",
				Prefix: prefixBegin + strings.Repeat("A", 16) + ":",
				Plan:   spec.Plan{Driver: c.driver, Lock: c.lock, Wait: "none", Keys: 1, Load: spec.Load{Clients: 1}, Server: "external"},
				Server: results.Server{Kind: "external", Addr: url},
			}); err != nil {
				t.Fatal(err)
			}
			secret := "nobody-may-see-this"
			if c.variable == "LOCKBENCH_PASSWORD_FILE" {
				secret = file + ".not-even-read"
			}
			t.Setenv(c.variable, secret)
			for _, args := range [][]string{{"clean", file}, {"clean", "-dry-run", file}} {
				before := visits.Load()
				var stdout, stderr bytes.Buffer
				code := run(args, nil, &stdout, &stderr, environment(c.variable, secret), nil)
				if want := "add -addr " + strings.Split(url, "?")[0]; code != exitUsage || !strings.Contains(stderr.String(), want) {
					t.Errorf("%q: code %d, %s; want %d and %q", args, code, stderr.String(), exitUsage, want)
				}
				if visits.Load() != before {
					t.Errorf("%q: the server has been visited", args)
				}
			}
			if c.variable == "LOCKBENCH_PASSWORD_FILE" {
				return
			}
			for _, args := range [][]string{{"clean", "-user", "me", "-addr", url, file}, {"clean", file}} {
				env := environment(c.variable, secret)
				if len(args) == 2 {
					env = environment()
					t.Setenv(c.variable, "")
				}
				before := visits.Load()
				var stdout, stderr bytes.Buffer
				if code := run(args, nil, &stdout, &stderr, env, nil); code == exitUsage || visits.Load() == before {
					t.Errorf("%q: code %d, %s; the server was not visited", args, code, stderr.String())
				}
			}
		})
	}
}

// TestCleanLineNamesTheUser: whoever follows it logs in as the user of the run, who may stand in the address.
func TestCleanLineNamesTheUser(t *testing.T) {
	for addr, want := range map[string]struct{ driver, user string }{
		"mysql://me:secret@h:1/db":                       {"mysql", "-user me"},
		"me:secret@tcp(h:1)/db":                          {"mysql", "-user me"},
		"postgres://me:secret@h:1/db":                    {"postgres", "-user me"},
		"host=h user=me password=secret sslmode=disable": {"postgres", "-user me"},
		"redis://me:secret@h:1":                          {"rueidis", ""}, // may be a password in the wrong place
	} {
		env := environment()
		o, err := parse(t, "-driver "+want.driver, env)
		if err != nil {
			t.Fatal(err)
		}
		s := deploy.Service(want.driver)
		targets, err := describe(map[*servers.Service][]string{s: {addr}}, "-addr", o, env, []*servers.Service{s})
		if err != nil {
			t.Fatal(err)
		}
		r := &runner{id: strings.Repeat("A", 16)}
		line := r.cleanLine(targets.List[0], spec.Plan{})
		if strings.Contains(line, "-user") != (want.user != "") || !strings.Contains(line, want.user) || strings.Contains(line, "secret") {
			t.Errorf("%s: %s; want %q", addr, line, want.user)
		}
	}
}
