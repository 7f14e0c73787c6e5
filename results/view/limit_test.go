package view

import (
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
)

// TestNext: what limits a cell is said with its short name first, and what follows from it.
func TestNext(t *testing.T) {
	of := func(n int64, mean time.Duration) results.Latency { return results.Latency{Count: n, Mean: mean} }
	for _, c := range []struct {
		name        string
		change      func(r *results.Record)
		limit, next string // the beginning of each
	}{
		{"clients that think", func(*results.Record) {},
			"clients: 8 clients spent 19 % of the time in requests, held locks for 62 %, thought or paused for 19 % and waited for 0 %; keys were free for 94 %",
			"-clients 32: "},
		{"free keys", func(r *results.Record) { r.Plan.Keys, r.Plan.Clients, r.Bound.Waited = 12, 64, 600*time.Second },
			"lock (wait): keys stood free for ", "-wait queue -handover swap: "},
		{"free keys, waited for in a queue", func(r *results.Record) {
			r.Plan.Keys, r.Plan.Clients, r.Bound.Waited, r.Plan.Wait, r.Plan.Handover = 12, 64, 600*time.Second, "queue", "swap"
		}, "lock (wait): keys stood free for ", "another design (lockbench list): "},
		{"a held key", func(r *results.Record) { r.Plan.Keys = 5 }, "key: keys were held for 100 % of the time", "-keys 10, or shorter holds"},
		{"a full server, many tries", func(r *results.Record) { r.Cost.ServerCPUUs, r.Cost.Tries = 190, 3 },
			"server CPU: the server used 0.95 of the one core", "-wait queue -handover swap: a lock took 3.00 tries"},
		{"a full server, one try each", func(r *results.Record) { r.Cost.ServerCPUUs = 190 }, "server CPU: ", "-topology cluster: "},
		{"connections", func(r *results.Record) { r.Bound.Pool = 2 }, "connections: 2.00 requests at a time were under way or waited for one of 2 connections",
			"-conns 4: "},
		{"an open loop", func(r *results.Record) { r.Plan.Rate = spec.Must(spec.ParseRate("5000")) }, "rate: ", "-rate 10000: "},
		{"several holders", func(r *results.Record) { r.Safety.Violations = 9 }, "clients: ", "another design "},
		{"several holders beyond the lease", func(r *results.Record) {
			r.Safety.Violations, r.Plan.Hold, r.Plan.TTL = 9, time.Second, time.Second
		}, "clients: ", "-renew, or a longer -ttl than 1 s"},
		{"nothing", func(r *results.Record) { r.Counts.Acquired = 0 }, "not known: ", ""},
	} {
		r := &results.Record{
			Plan: spec.Plan{Load: spec.Load{Clients: 8}, Lock: "set-nx", Wait: "backoff", Keys: 100}, Elapsed: 10 * time.Second,
			Traits: results.Traits{Exclusive: true}, Server: results.Server{Kind: "private", Name: "redis"}, Env: results.Env{CPUs: 4},
			Counts: results.Counts{Acquired: 50_000}, Bound: results.Bound{RTT: 100 * time.Microsecond},
			Cost: results.Cost{Tries: 1, RoundTrips: -1, ServerCPUUs: 20},
			Latency: map[results.Metric]results.Latency{
				results.Acquire: of(50_000, 100*time.Microsecond), results.Hold: of(50_000, time.Millisecond), results.Release: of(50_000, 200*time.Microsecond),
			},
		}
		c.change(r)
		cell := &results.Cell{Trials: []*results.Record{r}, Counts: r.Counts, Latency: r.Latency, Safety: r.Safety, Cost: r.Cost, Bound: r.Bound,
			Rate: results.Spread{Median: r.Throughput()}}
		if got := Limit(cell); !strings.HasPrefix(got, c.limit) {
			t.Errorf("%s: limited by %q, want %q", c.name, got, c.limit)
		}
		if got := Next(cell); !strings.HasPrefix(got, c.next) || c.next == "" && got != "" {
			t.Errorf("%s: next %q, want %q", c.name, got, c.next)
		}
	}
}
