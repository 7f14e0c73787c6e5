package workloads

import (
	"strings"
	"testing"

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
				if said := strings.Contains(strings.Join(r.Warnings, "\n"), "other clients"); said != tc.found {
					t.Errorf("warnings %q", r.Warnings)
				}
				if c.Tries != 1 || c.ClientCPUUs < 0 {
					t.Errorf("costs %+v: want those that the server does not tell", c)
				}
			})
		})
	}
}
