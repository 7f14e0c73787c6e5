// Package spec says what a run is asked to do.
package spec

import (
	"cmp"
	"slices"
	"time"
)

// Plan is the cell: everything that was asked for and that decides whether two records may be compared.
type Plan struct {
	Driver   string `json:"driver"`
	Lock     string `json:"lock"`
	Wait     string `json:"wait"`
	Topology string `json:"topology,omitempty"` // empty: one server
	Release  string `json:"release,omitempty"`  // empty: the design's own
	Renew    bool   `json:"renew,omitempty"`
	Reentry  int    `json:"reentry,omitempty"` // acquisitions of a lock before it is given up; 0: one

	// Load is what the clients do. If there are Classes it is what those had in common to begin with, and Clients is
	// their sum.
	Load
	Classes []Class `json:"classes,omitempty"` // none: all clients are of one kind

	Workload    string        `json:"workload,omitempty"` // the name of the preset or file that it came from
	Keys        int           `json:"keys"`
	Lockers     int           `json:"lockers,omitempty"`        // local queues and subscriptions, as of processes; 0: one
	Processes   int           `json:"processes,omitempty"`      // that share the clients; 0: one
	Poll        time.Duration `json:"poll_ns,omitempty"`        // of -wait poll; 0: the default
	BackoffMin  time.Duration `json:"backoff_min_ns,omitempty"` // of -wait backoff; 0: the default
	BackoffMax  time.Duration `json:"backoff_max_ns,omitempty"`
	Handover    string        `json:"handover,omitempty"` // how -wait queue hands a lock over: "release" or "swap"
	Nodes       int           `json:"nodes,omitempty"`    // servers of redlock, primaries of a cluster
	Replicas    int           `json:"replicas,omitempty"` // of a primary
	Acks        int           `json:"acks,omitempty"`     // replicas that have to acknowledge an acquisition
	NodeTimeout time.Duration `json:"node_timeout_ns,omitempty"`
	Params      string        `json:"params,omitempty"` // options of the library, "name=value+…" by name
	Duration    time.Duration `json:"duration_ns"`      // of the measured window; with Ops its greatest length, 0: none
	Warmup      time.Duration `json:"warmup_ns"`
	Ops         int64         `json:"ops,omitempty"`   // acquisitions that close the window; 0: Duration does
	Probe       float64       `json:"probe,omitempty"` // requests of a neighbour a second; 0: there is none
	Seed        uint64        `json:"seed"`
	Conns       int           `json:"conns,omitempty"`      // 0: the client library's default
	Pipelining  string        `json:"pipelining,omitempty"` // empty: the client library's default
	FlushDelay  time.Duration `json:"flush_delay_ns,omitempty"`
	IOTimeout   time.Duration `json:"io_timeout_ns"`
	Oracle      bool          `json:"oracle"`
	Durability  string        `json:"durability,omitempty"` // of a private server: "relaxed" or "strict"
	Shared      bool          `json:"shared,omitempty"`     // the keys are those of other runs, too
	Server      string        `json:"server"`               // "private", "embedded", "external" or "in-process"
	Command     string        `json:"command,omitempty"`    // the command line that makes this cell, secrets left out
}

// Load is what a group of clients does. Distributions and rates are text in JSON, in their canonical spelling.
type Load struct {
	Clients   int           `json:"clients"`
	KeyDist   Keys          `json:"key_dist,omitzero"`
	Hold      time.Duration `json:"hold_ns"`
	HoldDist  Times         `json:"hold_dist,omitzero"` // zero: every hold is Hold, else Hold is their mean
	Think     time.Duration `json:"think_ns"`
	ThinkDist Times         `json:"think_dist,omitzero"` // like HoldDist
	TTL       time.Duration `json:"ttl_ns"`
	Timeout   time.Duration `json:"timeout_ns"`          // patience: how long a client waits for one lock; 0: for ever
	TryOnly   float64       `json:"try_only,omitempty"`  // share of the clients, or arrivals, that try once
	Crash     float64       `json:"crash,omitempty"`     // share of the holds whose holder dies without a release
	Rate      Rate          `json:"rate,omitzero"`       // open loop: arrivals a second; zero: closed loop, or Burst
	Arrival   string        `json:"arrival,omitempty"`   // "constant" or "poisson"; empty without Rate
	Burst     time.Duration `json:"burst_ns,omitempty"`  // all clients come at once, every so often; 0: they do not
	MaxQueue  int           `json:"max_queue,omitempty"` // arrivals that may wait; more are dropped; 0: no limit
}

// Class is one kind of clients among several.
type Class struct {
	Name string `json:"name"`
	Load
}

// Open reports whether the load is an open loop: arrivals come when they come, whether a client is free or not.
func (l Load) Open() bool { return !l.Rate.IsZero() || l.Burst > 0 }

// HoldTimes returns how long locks are held, fixed or drawn.
func (l Load) HoldTimes() Times { return cmp.Or(l.HoldDist, Times{A: l.Hold}) }

// ThinkTimes returns how long clients think, fixed or drawn.
func (l Load) ThinkTimes() Times { return cmp.Or(l.ThinkDist, Times{A: l.Think}) }

// BurstRate returns how many arrivals a second the bursts make on average; 0 without Burst.
func (l Load) BurstRate() float64 {
	if l.Burst <= 0 {
		return 0
	}
	return float64(l.Clients) / l.Burst.Seconds()
}

// Groups returns the classes of p, or the one nameless class that it has if it names none.
func (p *Plan) Groups() []Class {
	if len(p.Classes) > 0 {
		return p.Classes
	}
	return []Class{{Load: p.Load}}
}

// Longest returns the longest of a time over the groups of p.
func (p *Plan) Longest(of func(*Load) time.Duration) (most time.Duration) {
	for _, g := range p.Groups() {
		most = max(most, of(&g.Load))
	}
	return most
}

// Lease returns the lease that clients ask for.
func Lease(l *Load) time.Duration { return l.TTL }

// Share is the part of a load that one of several processes has, its rank being from 0. The zero value is the whole
// load.
type Share struct{ Rank, Ranks int }

// ShareOf returns the share of a rank in p.
func ShareOf(p *Plan, rank int) Share { return Share{rank, max(1, p.Processes)} }

// Whole reports whether there are no others.
func (s Share) Whole() bool { return s.Ranks <= 1 }

// Range returns which of n things are the share's, from low to below high. Those of all ranks are all n.
func (s Share) Range(n int) (low, high int) {
	ranks := max(1, s.Ranks)
	return n * s.Rank / ranks, n * (s.Rank + 1) / ranks
}

// Of returns how many of n things are the share's.
func (s Share) Of(n int) int {
	low, high := s.Range(n)
	return high - low
}

// Plan returns what a process with that share opens its service for: p with its clients alone.
func (s Share) Plan(p Plan) Plan {
	clients := 0
	for _, c := range p.Groups() {
		clients += s.Of(c.Clients)
	}
	p.Clients, p.Processes, p.Classes = clients, 0, slices.Clone(p.Classes)
	for i := range p.Classes {
		p.Classes[i].Clients = s.Of(p.Classes[i].Clients)
	}
	return p
}

// SeedOf returns the seed of the n-th trial, from 0, of those that were asked for with one seed. The first has that
// seed itself; those of the others are far apart, as those of neighbouring seeds are (SplitMix64; Steele, Lea and
// Flood 2014).
func SeedOf(seed uint64, n int) uint64 {
	if n == 0 {
		return seed
	}
	z := seed + uint64(n)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
