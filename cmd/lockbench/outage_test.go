// A run goes on when its servers do not: they are killed and started again, or taken for dead by the service while they
// live.

package main

import (
	"context"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/workloads"
)

// watched runs a plan that has no end of its own. It stops when watch, which sees each snapshot, answers true.
func watched(t *testing.T, p results.Plan, addrs []string, watch func(workloads.Snapshot) bool) *results.Record {
	t.Helper()
	d, err := drivers.Lookup(p.Driver)
	if err != nil {
		t.Fatal(err)
	}
	p.Keys, p.Duration, p.IOTimeout, p.Oracle, p.Server = 1, time.Hour, time.Second, true, string(external)
	p.BackoffMin, p.BackoffMax = time.Millisecond, 20*time.Millisecond
	ctx, cancel := context.WithTimeout(t.Context(), 45*time.Second)
	defer cancel()
	svc, err := d.Open(ctx, drivers.Config{
		Lock: p.Lock, Addrs: addrs, Prefix: "lockbench:outage:", Clients: p.Clients, TTL: p.TTL, IOTimeout: p.IOTimeout, Polls: polls(p),
		Topology: drivers.Topology(p.Topology),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer svc.Close()
	var last workloads.Snapshot
	run := workloads.Run{Plan: p, Service: svc, Prefix: "lockbench:outage:", Progress: func(s workloads.Snapshot) {
		if last = s; s.Phase == workloads.PhaseMeasure && watch(s) {
			cancel()
		}
	}}
	rec, err := run.Do(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if ctx.Err() == context.DeadlineExceeded {
		t.Fatalf("the run did not come so far: %+v, errors %v", last, rec.Counts.ErrorSample)
	}
	return rec
}

// restartable is a server of any kind.
type restartable interface {
	URL() string
	Kill() error
	Restart(context.Context) error
}

// TestRestart kills the only server in mid-run and starts it again: clients meet errors and then locks again.
func TestRestart(t *testing.T) {
	for _, test := range []struct {
		driver, lock, wait string
		server             func() restartable
	}{
		{"rueidis", "set-nx", "backoff", func() restartable { return servertest.Redis(t, servers.RedisOptions{}) }},
	} {
		t.Run(test.driver+" "+test.lock, func(t *testing.T) {
			server := test.server()
			const enough = 20
			var before int64
			rec := watched(t, results.Plan{Driver: test.driver, Lock: test.lock, Wait: test.wait, Clients: 4, TTL: 4 * time.Second},
				[]string{server.URL()}, func(s workloads.Snapshot) bool {
					if before == 0 && s.Acquired >= enough {
						if err := server.Kill(); err != nil {
							t.Error(err)
						}
						if err := server.Restart(t.Context()); err != nil {
							t.Error(err)
						}
						before = s.Acquired
					}
					// Whoever was granted a lock after the kill may have asked before it: a few do not count.
					return before > 0 && s.Acquired >= before+enough && s.Errors > 0
				})
			if c := rec.Counts; c.Unknown+c.Refused+c.ReleaseError+c.Lost == 0 {
				t.Errorf("the server was killed and nobody noticed: %+v", c)
			}
		})
	}
}
