package workloads

import (
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results"
)

// sending is an accountant that knows what its own clients have sent.
type sending struct {
	*accountant
	unknown bool
}

func (s sending) Sent() drivers.Usage {
	if s.unknown {
		return drivers.Usage{CPU: -1, Commands: -1, BytesIn: -1, BytesOut: -1}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.usage
}

// TestForeign plants what others send to the server between the third look and the fourth, in the window. Looks themselves are
// dear here, 100 kB, and one of them may be charged to the window.
func TestForeign(t *testing.T) {
	later := func(bytes int64) func(int, *drivers.Server, *drivers.Usage) error {
		return func(look int, _ *drivers.Server, u *drivers.Usage) error {
			if look == 4 {
				u.BytesIn += bytes
				u.Commands += bytes / 30
			}
			return nil
		}
	}
	for _, tc := range []struct {
		name    string
		alter   func(int, *drivers.Server, *drivers.Usage) error
		unknown bool // what lockbench itself sends
		found   bool
	}{
		{"nobody", nil, false, false},
		{"in the window", later(200_000), false, true},
		{"as much as before the window", func(_ int, _ *drivers.Server, u *drivers.Usage) error {
			u.BytesIn += 1 << 30
			return nil
		}, false, false},
		{"a look of a monitor", later(100), false, false},
		{"unknown", later(200_000), true, false},
		{"short requests that execute much", func(look int, _ *drivers.Server, u *drivers.Usage) error {
			if look == 4 {
				u.Commands += 3000
			}
			return nil
		}, false, true},
		{"short requests with long answers", func(look int, _ *drivers.Server, u *drivers.Usage) error {
			if look == 4 {
				u.BytesOut += 200_000
			}
			return nil
		}, false, true},
		{"replicas", func(look int, s *drivers.Server, u *drivers.Usage) error {
			s.Replicas = 5
			return later(2*512+5*64)(look, s, u)
		}, false, false},
		{"beside replicas", func(look int, s *drivers.Server, u *drivers.Usage) error {
			s.Replicas = 5
			return later(200_000)(look, s, u)
		}, false, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := plan("memory", "mutex")
			p.Hold, p.Warmup, p.Duration = 10*ms, 95*ms, 300*ms
			bubble(t, p, func(s drivers.Service) drivers.Service {
				return sending{&accountant{Service: s, alter: tc.alter}, tc.unknown}
			}, func(t *testing.T, r *results.Record) {
				c := r.Cost
				if known := c.Commands >= 0 || c.BytesIn >= 0 || c.BytesOut >= 0 || c.ServerCPUUs >= 0; known == tc.found {
					t.Errorf("costs %+v, known: %v", c, known)
				}
				if warned := strings.Contains(strings.Join(r.Warnings, "\n"), "other clients"); warned != tc.found {
					t.Errorf("warnings %q", r.Warnings)
				}
				if c.Tries != 1 || c.ClientCPUUs < 0 {
					t.Errorf("costs %+v: want those that the server does not tell", c)
				}
			})
		})
	}
}

// counter is a service that counts its own requests, and does not know their bytes.
type counter struct{ drivers.Service }

func (counter) Traffic() drivers.Traffic { return drivers.Traffic{} }

// TestForeignDoubt finds the most that may be the service's own, worked out by hand: 100 locks in 10 s, of one client and a probe.
// One more is somebody else's.
func TestForeignDoubt(t *testing.T) {
	in := func(u *drivers.Usage) *int64 { return &u.BytesIn }
	out := func(u *drivers.Usage) *int64 { return &u.BytesOut }
	commands := func(u *drivers.Usage) *int64 { return &u.Commands }
	for _, tc := range []struct {
		name     string
		wait     string
		of       func(*drivers.Usage) *int64
		ours     int64
		counts   bool // commands are counted, and bytes are not
		topology drivers.Topology
		replicas int
		most     int64
	}{
		{"requests of 400 bytes", "backoff", in, 40_000, false, "", 0, 200 + 2*400},
		{"short requests", "backoff", in, 10_000, false, "", 0, 50 + 2*256},
		{"long requests", "backoff", in, 500_000, false, "", 0, 2500 + 2*1024},
		{"a replica", "backoff", in, 40_000, false, "", 1, 1000 + 64*11},
		{"five replicas", "backoff", in, 40_000, false, "", 5, 1000 + 5*64*11},
		{"five replicas that each of two tries waits for", "backoff", in, 40_000, false, drivers.TopologyReplicated, 5, 1000 + 5*64*11 + 5*64*100*2},
		{"five replicas and sentinels", "backoff", in, 40_000, false, drivers.TopologySentinel, 5, 1000 + 5*64*11 + 1000*11},
		{"answers", "backoff", out, 40_000, false, "", 0, 200 + 2*400},
		{"commands", "backoff", commands, 300, false, "", 0, 1 + 2*8},
		{"commands beside a look, 5 probes and 50 watches", "native", commands, 300, true, "", 0, 1 + 2*8 + 3 + 5*2 + 50*2},
		{"commands beside a look, 5 probes and 50 sleeps", "backoff", commands, 300, true, "", 0, 1 + 2*8 + 3 + 5*2},
	} {
		e := &engine{probe: &probe{idled: 10, cost: drivers.Usage{Commands: 20}}, inspectionCost: drivers.Usage{Commands: 3}, all: figures{Locks: 100}}
		e.run = &Run{Service: sending{}}
		if tc.counts {
			e.run.Service = counter{}
		}
		r := &results.Record{Cost: results.Cost{Tries: 2, Wakeups: 0.5}}
		r.Plan.Clients, r.Plan.Topology, r.Plan.Wait = 1, string(tc.topology), tc.wait
		for _, more := range []int64{tc.most, tc.most + 1} {
			before, after := reading{at: time.Second, probes: 2}, reading{at: 11 * time.Second, probes: 7}
			after.server.Replicas = tc.replicas
			for _, u := range []*drivers.Usage{&before.usage, &before.own[0], &after.usage, &after.own[1]} {
				*tc.of(u) = 1000
			}
			*tc.of(&after.usage) += tc.ours + more
			*tc.of(&after.own[1]) += tc.ours
			e.before, e.after = before, after
			switch s := e.foreign(r); {
			case more == tc.most && s != nil:
				t.Errorf("%s: %d are said to be somebody else's, %+v", tc.name, more, *s)
			case more > tc.most && (s == nil || s.amount != more || s.share != float64(more)/float64(tc.ours+more)):
				t.Errorf("%s: of %d nothing is somebody else's, or not all: %+v", tc.name, more, s)
			}
		}
	}
}
