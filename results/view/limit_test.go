package view

import (
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
)

func of(n int64, mean time.Duration) results.Latency { return results.Latency{Count: n, Mean: mean} }

// measured returns a cell of 8 clients that hold 100 keys for a millisecond each, with a change.
func measured(change func(r *results.Record)) *results.Cell {
	r := &results.Record{
		Plan: spec.Plan{Load: spec.Load{Clients: 8, Hold: time.Millisecond}, Lock: "set-nx", Wait: "backoff", Keys: 100}, Elapsed: 10 * time.Second,
		Traits: results.Traits{Exclusive: true}, Server: results.Server{Kind: "private", Name: "redis"}, Env: results.Env{CPUs: 4},
		Counts: results.Counts{Acquired: 50_000}, Bound: results.Bound{RTT: 100 * time.Microsecond},
		Cost: results.Cost{Tries: 1, RoundTrips: -1, ServerCPUUs: 20},
		Latency: map[results.Metric]results.Latency{
			results.Acquire: of(50_000, 100*time.Microsecond), results.Hold: of(50_000, time.Millisecond), results.Release: of(50_000, 200*time.Microsecond),
		},
	}
	change(r)
	return &results.Cell{Trials: []*results.Record{r}, Counts: r.Counts, Latency: r.Latency, Safety: r.Safety, Cost: r.Cost, Bound: r.Bound,
		Rate: results.Spread{Median: r.Throughput()}, Generator: r.Generator}
}

// TestNext: what limits a cell is said with its short name first, and what follows from it.
func TestNext(t *testing.T) {
	for _, c := range []struct {
		name        string
		change      func(r *results.Record)
		limit, next string // the beginning of each
	}{
		{"clients that think", func(*results.Record) {},
			"clients: 8 clients spent 19 % of the time in requests, held locks for 62 %, thought or paused for 19 % and waited for 0 %; keys were free for 94 %",
			"-clients 32: "},
		{"free keys", func(r *results.Record) { r.Plan.Keys, r.Plan.Clients, r.Bound.Waited = 14, 64, 600*time.Second },
			"lock (wait): keys stood free for ", "-wait queue -handover swap: "},
		{"free keys between slow hand-offs", func(r *results.Record) {
			r.Plan.Keys, r.Plan.Clients, r.Bound.Waited, r.Plan.Wait, r.Plan.Handover = 14, 64, 600*time.Second, "queue", "swap"
			r.Plan.Handover, r.Latency[results.Handoff] = "release", results.Latency{Count: 50_000, Mean: time.Millisecond, P50: 900 * time.Microsecond}
		}, "lock (wait): keys stood free for 56 % of the time while clients waited, were held for 36 % and changed hands for 7.1 % (a release took 200 µs, 2.00 times as long as without load)",
			"-handover swap: half of the hand-offs, from the release sent to the next grant, took longer than 900 µs"},
		{"a machine that the server shares", func(r *results.Record) {
			r.Cost.ServerCPUUs, r.Server.Name = 360, "zookeeper"
			r.Generator = results.Generator{CPU: 2, Machine: 0.99, Saturated: true, Why: "the machine was 99 % busy"}
		}, "machine: shared with the server: of its 4 cores the server used 1.80 and lockbench 2.00", "run lockbench on another machine than the server (-addr)"},
		{"free keys, waited for in a queue", func(r *results.Record) {
			r.Plan.Keys, r.Plan.Clients, r.Bound.Waited, r.Plan.Wait, r.Plan.Handover = 14, 64, 600*time.Second, "queue", "swap"
		}, "lock (wait): keys stood free for ", "another design (lockbench list): "},
		{"a held key", func(r *results.Record) { r.Plan.Keys = 5 }, "key: keys were held for 100 % of the time", "-keys 10, or shorter holds"},
		{"a full server, many tries", func(r *results.Record) { r.Cost.ServerCPUUs, r.Cost.Tries = 190, 3 },
			"server CPU: the server used 0.95 of the one core", "-wait queue -handover swap: a lock took 3.00 tries"},
		{"a full server, one try each", func(r *results.Record) { r.Cost.ServerCPUUs = 190 }, "server CPU: ", "-topology cluster: "},
		{"a full server, one key", func(r *results.Record) {
			r.Cost.ServerCPUUs, r.Plan.Keys, r.Latency[results.Hold] = 190, 1, of(50_000, 10*time.Microsecond)
		}, "server CPU: ", "a server with a faster processor (-addr): "},
		{"full servers of a majority", func(r *results.Record) { r.Cost.ServerCPUUs, r.Plan.Topology, r.Plan.Nodes = 760, "redlock", 5 },
			"server CPU: the server used 3.80 of the 4.00 cores", "a server with more processors"},
		{"a server of unknown processors", func(r *results.Record) { r.Server.Kind, r.Server.Name = "external", "postgresql" },
			"clients: ", "-clients 32: keys had room for more"},
		{"the same, with requests that queue", func(r *results.Record) {
			r.Server.Kind, r.Server.Name, r.Bound.RTT = "external", "postgresql", 20*time.Microsecond
		}, "not known: requests took 10.0 times as long as without load", ""},
		{"own keys", func(r *results.Record) { r.Plan.Keys, r.Plan.KeyDist = 8, spec.Must(spec.ParseKeys("own")) },
			"clients: ", "-clients 32 -keys 32: keys and server had room for more"},
		{"a client with a key", func(r *results.Record) { r.Plan.Keys, r.Plan.Clients, r.Counts.Acquired = 1, 1, 9500 },
			"key: the key was held for 95 % of the time", "-keys 2 -clients 2, or shorter holds"},
		{"dead holders", func(r *results.Record) {
			r.Plan.Keys, r.Plan.Clients, r.Plan.TTL, r.Bound.Waited, r.Counts.Acquired = 12, 64, 2*time.Second, 600*time.Second, 2000
			r.Latency[results.Recovery], r.Traits.Renews = of(18, 2*time.Second), true
		}, "lease: keys were locked by dead holders for 30 % of the time, and clients waited for that for about 94 % of theirs",
			"a shorter -ttl with -renew: "},
		{"skewed keys", func(r *results.Record) {
			r.Plan.KeyDist, r.Bound.Waited = spec.Must(spec.ParseKeys("zipf:1.1")), 70*time.Second
		}, "not known: clients waited for locks, or were refused, for 88 % of their time; of skewed keys ", ""},
		{"connections", func(r *results.Record) { r.Bound.Pool = 2 }, "connections: 2.00 requests at a time were under way or waited for one of 2 connections",
			"-conns 4: "},
		{"an open loop", func(r *results.Record) { r.Plan.Rate = spec.Must(spec.ParseRate("5000")) }, "rate: ", "-rate 10000: "},
		{"a slow open loop", func(r *results.Record) { r.Plan.Rate = spec.Must(spec.ParseRate("0.2")) }, "rate: ", "-rate 0.4: "},
		{"a rate that rises", func(r *results.Record) { r.Plan.Rate = spec.Must(spec.ParseRate("1k:5k:10s")) }, "rate: ", "raise -rate "},
		{"bursts", func(r *results.Record) { r.Plan.Burst = 10 * time.Second }, "rate: ", "-clients 16: "},
		{"single tries", func(r *results.Record) { r.Plan.Rate, r.Counts.Contended = spec.Must(spec.ParseRate("5000")), 5000 },
			"rate: the clients kept up with all arrivals, 9.1 % of which were refused", "-rate 10000: "},
		{"arrivals lost to errors", func(r *results.Record) {
			r.Plan.Rate, r.Counts.Refused, r.Counts.Errors = spec.Must(spec.ParseRate("5000")), 5000, map[string]int64{"timeout": 5000}
		}, "errors: 5,000 requests failed, and 9.1 % of the acquisitions with them", "see the errors: "},
		{"errors that took time", func(r *results.Record) { r.Bound.Little, r.Counts.Errors = 0.72, map[string]int64{"connect": 300} },
			"errors: 300 requests failed; they and the pauses after them took 28 % of the clients' time", "see the errors: "},
		{"lockbench, holds like requests", func(r *results.Record) { r.Generator.Saturated = true },
			"generator: ", "run lockbench on another machine than the server"},
		{"lockbench, an open loop", func(r *results.Record) {
			r.Generator.Saturated, r.Plan.Hold = true, 0
			r.Plan.Rate, r.Latency[results.Backlog] = spec.Must(spec.ParseRate("5000")), of(5000, time.Millisecond)
		}, "generator: ", "run lockbench on another machine than the server"},
		{"lockbench, long holds", func(r *results.Record) { r.Generator.Saturated, r.Plan.Hold = true, 2*time.Millisecond },
			"generator: ", "-pipelining batch: "},
		{"lockbench, no holds", func(r *results.Record) { r.Generator.Saturated, r.Plan.Hold = true, 0 },
			"generator: ", "-pipelining batch: "},
		{"late workers", func(r *results.Record) {
			r.Generator.Saturated, r.Generator.Delayed, r.Plan.Pipelining = true, true, "batch"
		}, "generator: ", "-pipelining auto: "},
		{"an adapter", func(r *results.Record) {
			r.Generator.Saturated, r.Generator.Outside, r.Plan.Hold, r.Plan.Lockers = true, 0.97, 0, 2
		}, "generator: ", "-lockers 4: as many processes share the clients; a -null driver "},
		{"an adapter that is not the limit", func(r *results.Record) { r.Generator.Saturated, r.Generator.Outside, r.Plan.Hold = true, 0.5, 0 },
			"generator: ", "run lockbench on another machine than the server"},
		{"a lock within lockbench", func(r *results.Record) { r.Generator.Saturated, r.Server.Kind = true, "in-process" },
			"generator: ", "fewer clients, a -rate or a machine with more processors: "},
		{"a lock within lockbench, an open loop", func(r *results.Record) {
			r.Generator.Saturated, r.Server.Kind = true, "in-process"
			r.Plan.Rate, r.Latency[results.Backlog] = spec.Must(spec.ParseRate("5000")), of(5000, time.Millisecond)
		}, "generator: ", "a lower -rate or a machine with more processors: "},
		{"several holders", func(r *results.Record) { r.Safety.Violations = 9 }, "", "another design "},
		{"several holders, as the design allows", func(r *results.Record) { r.Safety.Violations, r.Traits.Exclusive = 9, false }, "", ""},
		{"several holders beyond the lease", func(r *results.Record) {
			r.Safety.Violations, r.Plan.Hold, r.Plan.TTL = 9, time.Second, time.Second
		}, "", "-renew, or a longer -ttl than 1 s"},
		{"nothing", func(r *results.Record) { r.Counts.Acquired = 0 }, "not known: ", ""},
	} {
		cell := measured(c.change)
		if got := Limit(cell); !strings.HasPrefix(got, c.limit) || c.limit == "" && got != "" {
			t.Errorf("%s: limited by %q, want %q", c.name, got, c.limit)
		}
		if got := Next(cell, false); !strings.HasPrefix(got, c.next) || c.next == "" && got != "" {
			t.Errorf("%s: next %q, want %q", c.name, got, c.next)
		}
	}
}

// TestNextOfAMissedThreshold: advice is about what makes the load, and says nothing against the threshold.
func TestNextOfAMissedThreshold(t *testing.T) {
	for next, change := range map[string]func(p *spec.Plan){
		"a lower -rate, or another design: ":                     func(p *spec.Plan) { p.Rate = spec.Must(spec.ParseRate("5000")) },
		"fewer clients, or another design":                       func(p *spec.Plan) { p.Burst = time.Second },
		"less load of its classes, or another design: lockbench": func(p *spec.Plan) { p.Classes = []spec.Class{{Load: spec.Load{Clients: 8, Burst: time.Second}}} },
	} {
		c := measured(func(r *results.Record) { change(&r.Plan) })
		if l := c.Limit(); l.By != results.ByRate {
			t.Fatalf("%s: limited by %s", next, l.By)
		}
		if got := Next(c, true); !strings.HasPrefix(got, next) {
			t.Errorf("next %q, want %q", got, next)
		}
		if limit := Limit(c); strings.Contains(limit, "in time") {
			t.Errorf("beside a threshold that was missed: %s", limit)
		}
	}
}
