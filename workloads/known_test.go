// Known answers: runs of which every figure can be told beforehand.

package workloads

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results"
)

// TestKnownHandoff lets two clients take turns at one key. Each comes back 4 ms after its release, polls every 3 ms, and
// so finds the key free 1 or 2 ms after the other has let it go.
func TestKnownHandoff(t *testing.T) {
	p := plan("memory", "mutex")
	p.Clients, p.Hold, p.Think, p.Poll, p.Warmup, p.Duration = 2, 10*ms, 4*ms, 3*ms, 60*ms, 1200*ms
	bubble(t, p, nil, func(t *testing.T, r *results.Record) {
		h := r.Latency[results.Handoff]
		if h.Count != r.Counts.Acquired || h.Min < ms-ms/500 || h.Max > 2*ms+ms/500 {
			t.Errorf("hand-offs %+v of %d locks: want one each, of 1 or 2 ms", h, r.Counts.Acquired)
		}
		turn := float64(10*ms) + float64(h.Mean)
		near(t, "locks", float64(r.Counts.Acquired), float64(p.Duration)/turn, 0.02)
		f := r.Fairness
		if f.OwnerChanges != r.Counts.Acquired || f.LongestRun != 1 {
			t.Errorf("fairness %+v of %d locks: want a change of owners each", f, r.Counts.Acquired)
		}
		// Each wants it from 4 ms after its release to the end of the other's turn.
		if f.LongestWait < 8*ms || f.LongestWait > 10*ms {
			t.Errorf("longest wait %v, want 8 to 10 ms", f.LongestWait)
		}
		if r.Bound.Little < 0.999 || r.Bound.Little > 1.001 {
			t.Errorf("Little's sum is %v", r.Bound.Little)
		}
		// It finds the key taken 4, 7 and 10 ms after its release, and free 3 ms later.
		near(t, "tries", r.Cost.Tries, 4, 0.01)
		near(t, "wake-ups", r.Cost.Wakeups, 3, 0.01)
	})
}

// pinged is a service whose bare round trip takes 1 ms.
type pinged struct{ drivers.Service }

func (p pinged) Unwrap() drivers.Service    { return p.Service }
func (pinged) Ping(_ context.Context) error { time.Sleep(ms); return nil }

// TestBoundAmongRefusals has clients that pause after each refusal: what they could reach at best has nothing to do with
// how often they are refused.
func TestBoundAmongRefusals(t *testing.T) {
	p := plan("memory", "mutex")
	p.Clients, p.Wait, p.Hold, p.Think, p.Duration = 20, "none", 9*ms, 5*ms, time.Second
	bubble(t, p, func(s drivers.Service) drivers.Service { return pinged{s} }, func(t *testing.T, r *results.Record) {
		if r.Counts.Contended < r.Counts.Acquired {
			t.Fatalf("counts %+v: want mostly refusals", r.Counts)
		}
		near(t, "bound", r.Bound.LocksPerS, 100, 0.01) // one key, 9 ms of hold and 1 ms of round trip
		near(t, "efficiency", r.Bound.Efficiency, float64(r.Counts.Acquired)/100, 0.01)
	})
}

// TestBoundByClients has too few clients to keep the keys busy.
func TestBoundByClients(t *testing.T) {
	p := plan("memory", "mutex")
	p.Clients, p.Keys, p.Hold, p.Think, p.Duration = 2, 1000, 6*ms, 2*ms, time.Second
	p.Oracle = false // it makes some holds longer, so that the last ones do not end with the window
	bubble(t, p, func(s drivers.Service) drivers.Service { return pinged{s} }, func(t *testing.T, r *results.Record) {
		near(t, "bound", r.Bound.LocksPerS, 200, 0.001) // 6 ms of hold, 2 ms of pause, 2 round trips
	})
}

// slow is a service whose client 0 is slower than the others: each of its tries takes that much longer.
type slow struct {
	drivers.Service
	by time.Duration
}

type slowSession struct {
	drivers.Session
	by time.Duration
}

func (s slow) Session(ctx context.Context, id int) (drivers.Session, error) {
	inner, err := s.Service.Session(ctx, id)
	if id == 0 {
		inner = slowSession{inner, s.by}
	}
	return inner, err
}

func (s slowSession) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	time.Sleep(s.by)
	return s.Session.Try(ctx, l)
}

// TestFairnessOfUnequals: of two clients that never meet, one takes 10 ms for a lock and the other 30 ms.
func TestFairnessOfUnequals(t *testing.T) {
	p := plan("null", "none")
	p.Clients, p.Hold, p.Duration = 2, 10*ms, 900*ms
	bubble(t, p, func(s drivers.Service) drivers.Service { return slow{s, 20 * ms} }, func(t *testing.T, r *results.Record) {
		f := r.Fairness
		if f.MinClient != 30 || f.MaxClient != 90 || f.Starved != 0 || f.LongestWait != 20*ms {
			t.Errorf("fairness %+v, want 30 and 90 locks and a longest wait of 20 ms", f)
		}
		near(t, "Jain", f.Jain, 120.*120/(2*(30*30+90*90)), 1e-9)
	})
}

// TestWindow: neither the warm-up's locks nor those that come after the end are counted, a hold across the edge is cut by
// the end of the run, and a client with a single pause as long as the window balances.
func TestWindow(t *testing.T) {
	p := plan("memory", "mutex")
	p.Hold, p.Think, p.Warmup, p.Duration = 400*ms, 100*ms, 300*ms, time.Second
	bubble(t, p, nil, func(t *testing.T, r *results.Record) {
		// Granted at 0, 500 and 1000; the window is 300 to 1300.
		n := r.Counts
		if n.Acquired != 2 || n.Tries != 2 || n.Released != 2 || r.Safety.Grants != 3 {
			t.Errorf("counts %+v of %d grants, want 2 of 3", n, r.Safety.Grants)
		}
		if h := r.Latency[results.Hold]; h.Min > 301*ms || h.Max < 400*ms {
			t.Errorf("holds %+v, want one whole and one cut at 300 ms", h)
		}
		near(t, "Little's sum", r.Bound.Little, 1, 0.001)
	})
	p.Hold, p.Think = ms, 10*time.Second
	bubble(t, p, nil, func(t *testing.T, r *results.Record) {
		near(t, "Little's sum of one long pause", r.Bound.Little, 1, 0.001)
	})
}

// late is a service that answers the first try of client 0 after a while, when the lease is over and another has the lock.
type late struct {
	drivers.Service
	by time.Duration
}

type lateSession struct {
	drivers.Session
	by time.Duration
}

func (s late) Session(ctx context.Context, id int) (drivers.Session, error) {
	inner, err := s.Service.Session(ctx, id)
	if id == 0 {
		inner = &lateSession{inner, s.by}
	}
	return inner, err
}

func (s *lateSession) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	held, err := s.Session.Try(ctx, l)
	if held {
		time.Sleep(s.by)
	}
	return held, err
}

// TestLateGrant: who hears of its grant when the lease is over intrudes on the next holder. That one's release removes
// its own lock all the same, and is not to be called wrong.
func TestLateGrant(t *testing.T) {
	p := plan("memory", "mutex")
	p.Clients, p.Hold, p.Think, p.TTL, p.Duration = 2, 10*ms, ms, 20*ms, time.Second
	bubble(t, p, func(s drivers.Service) drivers.Service { return late{s, 25 * ms} }, func(t *testing.T, r *results.Record) {
		if s := r.Safety; s.Violations == 0 || s.WrongReleases != 0 {
			t.Errorf("safety %+v: want violations, and no wrong release of an owned lock", s)
		}
	})
}

// accountant is a service with an Inspector: its server spends a fixed amount on every request and on every look.
type accountant struct {
	drivers.Service
	look  int // the number of the look
	alter func(look int, s *drivers.Server, u *drivers.Usage) error

	mu    sync.Mutex
	usage drivers.Usage
}

type accountedSession struct {
	drivers.Session
	*accountant
}

func (a *accountant) Unwrap() drivers.Service { return a.Service }

func (a *accountant) Session(ctx context.Context, id int) (drivers.Session, error) {
	s, err := a.Service.Session(ctx, id)
	return accountedSession{s, a}, err
}

func (s accountedSession) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	s.spend(1)
	return s.Session.Try(ctx, l)
}

func (s accountedSession) Release(ctx context.Context, l *drivers.Lease) (bool, error) {
	s.spend(2)
	return s.Session.Release(ctx, l)
}

func (a *accountant) spend(n int64) (before drivers.Usage) {
	a.mu.Lock()
	defer a.mu.Unlock()
	before = a.usage
	a.usage.Commands += n
	a.usage.BytesIn += 100 * n
	a.usage.BytesOut += 10 * n
	a.usage.CPU += time.Duration(n) * time.Microsecond
	return before
}

// Inspect returns what was spent before this look, as INFO does.
func (a *accountant) Inspect(context.Context) (drivers.Server, drivers.Usage, error) {
	s, u := drivers.Server{Name: "test", RunID: "first"}, a.spend(1000)
	a.look++
	var err error
	if a.alter != nil {
		err = a.alter(a.look, &s, &u)
	}
	return s, u, err
}

// TestCosts: every lock takes three commands, and no look at the server is charged to it. The first two looks price a
// look, the third and the fourth are the edges of the window.
func TestCosts(t *testing.T) {
	const first, last = 3, 4
	gone := errors.New("gone away")
	silent := func(from int) func(int, *drivers.Server, *drivers.Usage) error {
		return func(look int, _ *drivers.Server, u *drivers.Usage) error {
			if look == from || look == from+1 { // and again, when it is asked once more
				*u = drivers.Usage{} // no counters that were reset
				return gone
			}
			return nil
		}
	}
	exact := results.Cost{Commands: 3, BytesIn: 300, BytesOut: 30, ServerCPUUs: 3}
	unknown := results.Cost{Commands: -1, BytesIn: -1, BytesOut: -1, ServerCPUUs: -1}
	noBytes := exact
	noBytes.BytesIn, noBytes.BytesOut = -1, -1
	for _, tc := range []struct {
		name             string
		alter            func(look int, s *drivers.Server, u *drivers.Usage) error
		want             results.Cost
		partial, warning string
	}{
		{"all known", nil, exact, "", ""},
		{"some unknown", func(_ int, _ *drivers.Server, u *drivers.Usage) error {
			u.BytesIn, u.BytesOut = -1, -1
			return nil
		}, noBytes, "", ""},
		{"unknown at the end", func(look int, _ *drivers.Server, u *drivers.Usage) error {
			if look == last {
				u.BytesIn, u.BytesOut = -1, -1
			}
			return nil
		}, noBytes, "", ""},
		{"restarted", func(look int, s *drivers.Server, _ *drivers.Usage) error {
			if look == last {
				s.RunID = "second"
			}
			return nil
		}, unknown, "", "replaced"},
		{"a run that is not known at the end", func(look int, s *drivers.Server, _ *drivers.Usage) error {
			if look == last {
				s.RunID = ""
			}
			return nil
		}, exact, "", ""},
		{"counters reset", func(look int, _ *drivers.Server, u *drivers.Usage) error {
			if look == last {
				*u = drivers.Usage{Commands: 5, BytesIn: 500, BytesOut: 50, CPU: 5}
			}
			return nil
		}, unknown, "", "replaced"},
		{"one of the counters reset", func(look int, _ *drivers.Server, u *drivers.Usage) error {
			if look == last {
				u.BytesOut = 5
			}
			return nil
		}, unknown, "", "replaced"},
		{"silent at the start", silent(first), unknown, "", "when the window opened"},
		{"silent at the end", silent(last), unknown, "gone away", ""},
		{"a connection from before a restart", func(look int, s *drivers.Server, _ *drivers.Usage) error {
			if look == last {
				return gone
			}
			if look > last {
				s.RunID = "second"
			}
			return nil
		}, unknown, "", "replaced"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := plan("memory", "mutex")
			p.Hold, p.Warmup, p.Duration = 10*ms, 95*ms, 300*ms // whole holds between the looks: 9.5 to 39.5
			bubble(t, p, func(s drivers.Service) drivers.Service {
				return &accountant{Service: s, alter: tc.alter}
			}, func(t *testing.T, r *results.Record) {
				got := results.Cost{Commands: r.Cost.Commands, BytesIn: r.Cost.BytesIn, BytesOut: r.Cost.BytesOut, ServerCPUUs: r.Cost.ServerCPUUs}
				if got != tc.want {
					t.Errorf("costs %+v, want %+v", got, tc.want)
				}
				if r.Server.Name != "test" {
					t.Errorf("server %+v", r.Server)
				}
				if !strings.Contains(r.Partial, tc.partial) || (tc.partial == "") != (r.Partial == "") {
					t.Errorf("partial %q, want %q", r.Partial, tc.partial)
				}
				if want := tc.warning == "replaced"; r.Server.Replaced != want {
					t.Errorf("replaced %v, want %v", r.Server.Replaced, want)
				} else if want {
					return
				}
				if all := strings.Join(r.Warnings, "\n"); !strings.Contains(all, tc.warning) || (tc.warning == "" && strings.Contains(all, "answer")) {
					t.Errorf("warnings %q, want %q", r.Warnings, tc.warning)
				}
			})
		})
	}
}

// trafficking is a service that counts: three round trips and a notice a lock.
type trafficking struct{ *accountant }

func (s trafficking) Traffic() drivers.Traffic {
	s.mu.Lock()
	defer s.mu.Unlock()
	locks := s.usage.Commands % 1000 / 3 // a look spends a thousand
	return drivers.Traffic{RoundTrips: 7 + 3*locks, Notices: 3 + locks, KeepAlives: 1}
}

// packing is a service that sends four requests in a write.
type packing struct {
	drivers.Service
	writes *int64
}

func (s packing) Sent() drivers.Sent {
	*s.writes += 10
	return drivers.Sent{Requests: 3 + 4**s.writes, Writes: *s.writes}
}

// TestRequestsPerWrite: the ratio is that of the window, whatever was sent before.
func TestRequestsPerWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := plan("memory", "mutex")
		p.Hold = 10 * ms // nothing else takes time on the fake clock
		r, err := (&Run{Plan: p, Service: packing{open(t, p), new(int64)}, Prefix: "test:"}).Do(t.Context())
		if err != nil || r.Generator.PerWrite != 4 {
			t.Errorf("%v requests a write, want 4; %v", r.Generator.PerWrite, err)
		}
	})
}

// TestTraffic: a driver may count for itself, and the server's process tell its CPU time, where the server does not.
func TestTraffic(t *testing.T) {
	unknown := func(_ int, s *drivers.Server, u *drivers.Usage) error {
		*u = drivers.Usage{CPU: -1, Commands: -1, BytesIn: -1, BytesOut: -1}
		s.Connected = 66
		return nil
	}
	for _, tc := range []struct {
		name  string
		bare  bool // without an Inspector and a Counter
		alter func(int, *drivers.Server, *drivers.Usage) error
		want  results.Cost
	}{
		{"counted", false, unknown, results.Cost{ServerCPUUs: 1000, RoundTrips: 3, Notices: 1}},
		{"counted through a restart", false, func(look int, s *drivers.Server, u *drivers.Usage) error {
			s.RunID = string(rune('a' + look))
			return unknown(look, s, u)
		}, results.Cost{ServerCPUUs: -1, RoundTrips: 3, Notices: 1}},
		{"the server tells its own CPU time", false, func(_ int, s *drivers.Server, _ *drivers.Usage) error {
			s.Connected = 66
			return nil
		}, results.Cost{ServerCPUUs: 3, RoundTrips: 3, Notices: 1}},
		{"not counted", true, nil, results.Cost{ServerCPUUs: 1000, RoundTrips: -1, Notices: -1, KeepAlives: -1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := plan("memory", "mutex")
				p.Hold, p.Warmup, p.Duration, p.Durability = 10*ms, 95*ms, 300*ms, "strict"
				var svc drivers.Service = trafficking{&accountant{Service: open(t, p), alter: tc.alter}}
				if tc.bare {
					svc = struct{ drivers.Service }{svc}
				}
				cpu := drivers.NewClock() // one core of the server is busy for a tenth of the time
				r, err := (&Run{Plan: p, Service: svc, Prefix: "test:", ServerCPU: func() time.Duration { return cpu.Now() / 10 }}).Do(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				c := r.Cost
				got := results.Cost{ServerCPUUs: c.ServerCPUUs, RoundTrips: c.RoundTrips, Notices: c.Notices, KeepAlives: c.KeepAlives}
				if got != tc.want {
					t.Errorf("cost %+v, want %+v", got, tc.want)
				}
				if conns := r.Server.Connections; r.Server.Durability != "strict" || (conns != 66) != tc.bare {
					t.Errorf("server %+v", r.Server)
				}
			})
		})
	}
}

// TestOutage takes the server away for a part of the window and brings it back: no look at its edges can tell, but the
// time that went into errors does.
func TestOutage(t *testing.T) {
	for _, tc := range []struct {
		name    string
		outage  int64 // tries, each of which takes 20 ms to fail
		partial bool
	}{{"for little of it", 5, false}, {"for most of it", 30, true}} {
		t.Run(tc.name, func(t *testing.T) {
			p := plan("memory", "mutex")
			p.Hold, p.Think, p.Duration = 5*ms, 5*ms, 4*time.Second
			bubble(t, p, func(svc drivers.Service) drivers.Service {
				return &faulty{Service: svc, release: every(1, nil), try: func(n int64) error {
					if n <= 20 || n > 20+tc.outage {
						return nil
					}
					time.Sleep(20 * ms)
					return io.EOF
				}}
			}, func(t *testing.T, r *results.Record) {
				if (r.Partial != "") != tc.partial {
					t.Errorf("partial %q", r.Partial)
				}
				if warned := strings.Contains(r.Partial+strings.Join(r.Warnings, "\n"), "of the clients' time"); !warned {
					t.Errorf("warnings %q do not say how long it was away", r.Warnings)
				}
				if r.Counts.Acquired < 100 || r.Counts.Unknown != tc.outage {
					t.Errorf("counts %+v", r.Counts)
				}
			})
		})
	}
}
