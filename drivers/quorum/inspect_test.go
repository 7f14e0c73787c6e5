package quorum_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/quorum"
	_ "github.com/lockbench/lockbench/drivers/redsync"
)

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

// TestInspect describes the nodes as one: the first stands for all, and what they have used is the sum.
func TestInspect(t *testing.T) {
	in(t, func(t *testing.T) {
		f := newFakes(3)
		for i, name := range names(3) {
			f.nodes[name].server = drivers.Server{Name: "fake", Version: name, RunID: name, Evicted: int64(i)}
			n := []int64{1, 10, 100}[i]
			f.nodes[name].usage = drivers.Usage{CPU: 1, Commands: n, BytesIn: 2 * n, BytesOut: 3 * n}
		}
		f.each("a", func(n *fake) { n.down = refused })
		s := start(t, f, drivers.Config{}).Service
		got, usage, err := s.(drivers.Inspector).Inspect(t.Context())
		want := drivers.Server{Name: "fake", Version: "b", RunID: "b+c", Evicted: 3, Mode: "redlock, 2 of 3 nodes"}
		if all := (drivers.Usage{CPU: 2, Commands: 110, BytesIn: 220, BytesOut: 330}); err != nil || !reflect.DeepEqual(got, want) || usage != all {
			t.Errorf("Inspect = %+v, %+v, %v; want %+v, %+v", got, usage, err, want, all)
		}
		if sent := s.(drivers.Sender).Sent(); sent.Requests != 110 {
			t.Errorf("%+v, want 110 requests", sent)
		}
		f.each("b", func(n *fake) { n.down = refused })
		if _, _, err := s.(drivers.Inspector).Inspect(t.Context()); err == nil {
			t.Error("Inspect answers for a node that is down")
		}
	})
}
