package quorum_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/quorum"
	_ "github.com/lockbench/lockbench/drivers/redsync"
)

// TestInspect describes five nodes as one: the first that answers stands for all, and what they have used is the sum.
func TestInspect(t *testing.T) {
	used := func(n int64) drivers.Usage {
		return drivers.Usage{CPU: 1, Commands: n, BytesIn: 2 * n, BytesOut: 3 * n}
	}
	unknown := drivers.Usage{CPU: -1, Commands: -1, BytesIn: -1, BytesOut: -1}
	connected, most := []int{3, 9, 4, 1, 5}, []int{100, 50, 70, 20, 60}
	for _, tc := range []struct {
		name   string
		never  string // nodes that are down from the beginning
		down   string // nodes that are down later
		all    drivers.Server
		usage  drivers.Usage
		sent   int64
		failed bool
	}{
		{name: "all answer", sent: 11111, usage: drivers.Usage{CPU: 5, Commands: 11111, BytesIn: 22222, BytesOut: 33333},
			all: drivers.Server{Mode: "redlock, 5 of 5 nodes", RunID: "a+b+c+d+e", Connected: 3, MaxClients: 100, Version: "8"}},
		{name: "two are down", down: "ad", sent: 11111, usage: unknown,
			all: drivers.Server{Mode: "redlock, 3 of 5 nodes", RunID: "a+b+c+d+e", Connected: 9, MaxClients: 50, Version: "7"}},
		{name: "two were never there", never: "ad", sent: 10110, usage: drivers.Usage{CPU: 3, Commands: 10110, BytesIn: 20220, BytesOut: 30330},
			all: drivers.Server{Mode: "redlock, 3 of 5 nodes", RunID: "+b+c++e", Connected: 9, MaxClients: 50, Version: "7"}},
		{name: "three are down", down: "abc", sent: 11111, failed: true},
	} {
		in(t, func(t *testing.T) {
			f := newFakes(5)
			for i, name := range names(5) {
				n := f.nodes[name]
				n.server = drivers.Server{Name: "fake", Version: "8", RunID: name, Persistence: "none", Connected: connected[i], MaxClients: most[i]}
				n.usage = used([]int64{1, 10, 100, 1000, 10000}[i])
			}
			f.nodes["b"].server.Version = "7"
			f.each(tc.never, func(n *fake) { n.down = refused })
			c := start(t, f, drivers.Config{})
			f.each(tc.down, func(n *fake) { n.down = refused })
			got, usage, err := c.Service.(drivers.Inspector).Inspect(t.Context())
			if !tc.failed {
				tc.all.Name, tc.all.Persistence = "fake", "none"
			}
			if !reflect.DeepEqual(got, tc.all) || usage != tc.usage || (err != nil) != tc.failed {
				t.Errorf("%s: Inspect = %+v, %+v, %v; want %+v, %+v", tc.name, got, usage, err, tc.all, tc.usage)
			}
			if sent := c.Service.(drivers.Sender).Sent(); sent.Requests != tc.sent {
				t.Errorf("%s: %+v, want %d requests", tc.name, sent, tc.sent)
			}
		})
	}
}

// TestFewestSessions: as many sessions are possible as at the node that can have the fewest.
func TestFewestSessions(t *testing.T) {
	for _, tc := range []struct {
		most [3]int
		want int
	}{{[3]int{500, 200, 300}, 200}, {[3]int{0, 300, 0}, 300}, {[3]int{}, 0}} {
		in(t, func(t *testing.T) {
			f := newFakes(3)
			for i, name := range names(3) {
				f.nodes[name].most = tc.most[i]
			}
			if got := start(t, f, drivers.Config{}).Traits().MaxSessions; got != tc.want {
				t.Errorf("of %v it is %d sessions, want %d", tc.most, got, tc.want)
			}
		})
	}
}

// TestLookup makes a quorum of a client library's locks on independent servers, and of nothing else.
func TestLookup(t *testing.T) {
	for _, tc := range []struct {
		name     string
		topology drivers.Topology
		want     bool
	}{
		{"go-redis", drivers.TopologyRedlock, true},
		{"go-redis", drivers.TopologySingle, false},
		{"redsync", drivers.TopologyRedlock, false}, // it has a majority of its own
		{"redsync", drivers.TopologySingle, false},
	} {
		d, err := quorum.Lookup(tc.name, tc.topology)
		if _, is := d.(quorum.Driver); err != nil || is != tc.want {
			t.Errorf("%s, %s: %T, %v; want a quorum: %v", tc.name, tc.topology, d, err, tc.want)
		}
	}
	if d, err := quorum.Lookup("nobody's", drivers.TopologyRedlock); err == nil {
		t.Errorf("nobody's driver is %T", d)
	}
}

// TestLosesByReleases: a majority loses to what the releases of its nodes lose to, and to nothing else of theirs.
func TestLosesByReleases(t *testing.T) {
	d, err := quorum.Lookup("go-redis", drivers.TopologyRedlock)
	if err != nil {
		t.Fatal(err)
	}
	for lock, want := range map[string][]drivers.Hazard{
		"set-nx":         nil,
		"set-nx-get-del": {drivers.HazardGetDelGap, drivers.HazardClientRetries},
	} {
		design, err := drivers.FindDesign(d, lock)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range []drivers.Hazard{drivers.HazardGetDelGap, drivers.HazardClientRetries, drivers.HazardFailover} {
			if got := slices.Contains(design.Loses, h); got != slices.Contains(want, h) {
				t.Errorf("%s loses to %s: %v", lock, h, got)
			}
		}
	}
}

// TestDesignsForAVote: a vote needs an owner and an expiry, and neither a line nor re-entry.
func TestDesignsForAVote(t *testing.T) {
	d, err := quorum.Lookup("go-redis", drivers.TopologyRedlock)
	if err != nil {
		t.Fatal(err)
	}
	for lock, want := range map[string]bool{
		"set-nx": true, "set-nx-get-del": true, "fenced": true,
		"setnx": false, "set-nx-del": false, "fair": false, "redisson": false, "reentrant-count": false,
	} {
		if _, err := drivers.FindDesign(d, lock); (err == nil) != want {
			t.Errorf("%s: %v; want a design: %v", lock, err, want)
		}
	}
}
