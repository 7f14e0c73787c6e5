package workloads

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/wait"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads/matrix"
)

// able changes what the sessions of a service do, and what it claims. Nil functions change nothing.
type able struct {
	drivers.Service
	traits              func(*drivers.Traits)
	try, release, renew func(s drivers.Session, l *drivers.Lease) (bool, error)
	pass                func(s drivers.Session, from, to *drivers.Lease) (bool, error)
}

type ableSession struct {
	drivers.Session
	*able
}

func (a *able) Traits() drivers.Traits {
	t := a.Service.Traits()
	if a.traits != nil {
		a.traits(&t)
	}
	return t
}

func (a *able) Session(ctx context.Context, id int) (drivers.Session, error) {
	s, err := a.Service.Session(ctx, id)
	return &ableSession{s, a}, err
}

func (s *ableSession) Unwrap() drivers.Session { return s.Session }

func (s *ableSession) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	if s.try == nil {
		return s.Session.Try(ctx, l)
	}
	return s.try(s.Session, l)
}

func (s *ableSession) Release(ctx context.Context, l *drivers.Lease) (bool, error) {
	if s.release == nil {
		return s.Session.Release(ctx, l)
	}
	return s.release(s.Session, l)
}

func (s *ableSession) Renew(ctx context.Context, l *drivers.Lease) (bool, error) {
	if s.renew == nil {
		return renewal(s.Session, l)
	}
	return s.renew(s.Session, l)
}

func (s *ableSession) Pass(_ context.Context, from, to *drivers.Lease) (bool, error) {
	return s.pass(s.Session, from, to)
}

func renewal(s drivers.Session, l *drivers.Lease) (bool, error) {
	r, _ := drivers.As[drivers.Renewer](s)
	return r.Renew(context.Background(), l)
}

func overlong() spec.Plan {
	p := plan("memory", "mutex")
	p.Clients, p.Renew, p.Hold, p.TTL, p.Duration = 3, true, 100*ms, 30*ms, 3*time.Second
	return p
}

// TestRenewal holds for longer than the lease, again and again: with the watchdog nothing is lost and nobody overlaps.
func TestRenewal(t *testing.T) {
	bubble(t, overlong(), nil, func(t *testing.T, r *results.Record) {
		n := r.Counts
		if n.Acquired < 25 || n.Released != n.Acquired || r.Safety.Violations != 0 {
			t.Errorf("counts %+v, safety %+v", n, r.Safety)
		}
		times := r.Latency[results.Renew].Count
		if n.Renewals < 9*n.Acquired || n.Renewals > 10*n.Acquired || n.RenewError != 0 || times != n.Renewals {
			t.Errorf("%d renewals of %d holds, 9 or 10 each are due; %d times", n.Renewals, n.Acquired, times)
		}
		near(t, "mean hold", float64(r.Latency[results.Hold].Mean), float64(100*ms), 0.001)
		near(t, "Little's sum", r.Bound.Little, 1, 0.01)
		if strings.Contains(strings.Join(r.Warnings, "\n"), "lease") {
			t.Errorf("warnings %q", r.Warnings)
		}
	})
}

// TestNoRenewal is the control: short holds send nothing.
func TestNoRenewal(t *testing.T) {
	p := overlong()
	p.Hold = 9 * ms
	bubble(t, p, nil, func(t *testing.T, r *results.Record) {
		if n := r.Counts; n.Acquired < 250 || n.Released != n.Acquired || n.Renewals != 0 || len(r.Latency[results.Renew].HDR) != 0 {
			t.Errorf("counts %+v", n)
		}
	})
}

// TestLostToTheWatchdog takes locks away at every fifth renewal, half a millisecond before anybody can have them: their
// holders have to stop believing when they are told and not at the end of their hold, or the next ones overlap them.
func TestLostToTheWatchdog(t *testing.T) {
	p := overlong()
	p.Clients = 4
	var stolen atomic.Int64
	bubble(t, p, func(svc drivers.Service) drivers.Service {
		cleaner, _ := drivers.As[drivers.Cleaner](svc)
		thief, err := svc.Session(t.Context(), p.Clients)
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex // the theft is one step
		n := 0
		return &able{Service: svc, renew: func(s drivers.Session, l *drivers.Lease) (bool, error) {
			mu.Lock()
			defer mu.Unlock()
			if n++; n%5 == 0 {
				stolen.Add(1)
				err := cleaner.Clean(context.Background(), []string{l.Key})
				held, failed := thief.Try(context.Background(), &drivers.Lease{Key: l.Key, TTL: ms / 2})
				if !held || failed != nil || err != nil {
					t.Error("the theft has failed:", err, held, failed)
				}
			}
			return renewal(s, l)
		}, try: func(s drivers.Session, l *drivers.Lease) (bool, error) {
			mu.Lock()
			defer mu.Unlock()
			held, err := s.Try(context.Background(), l)
			l.Fence = 0 // it begins anew with each theft
			return held, err
		}}
	}, func(t *testing.T, r *results.Record) {
		n := r.Counts
		if n.LostRenewal < 50 || n.LostRenewal > stolen.Load() || n.Lost != 0 || n.Acquired != n.Released+n.LostRenewal {
			t.Errorf("counts %+v of %d locks stolen", n, stolen.Load())
		}
		if r.Safety.Violations != 0 {
			t.Errorf("%d violations", r.Safety.Violations)
		}
		if h := r.Latency[results.Hold]; h.P50 > 51*ms || n.RenewError != 0 {
			t.Errorf("holds %v at the median: they were not cut short", h.P50)
		}
		near(t, "Little's sum", r.Bound.Little, 1, 0.01)
	})
}

// TestWatchdogFails lets all renewals act and then fail: the holder cannot vouch for his lock once the lease that he knows
// of has ended. His release still finds it, and is no news.
func TestWatchdogFails(t *testing.T) {
	bubble(t, overlong(), func(svc drivers.Service) drivers.Service {
		return &able{Service: svc, renew: func(s drivers.Session, l *drivers.Lease) (bool, error) {
			renewal(s, l)
			return false, io.ErrUnexpectedEOF
		}}
	}, func(t *testing.T, r *results.Record) {
		n := r.Counts
		if n.Acquired < 80 || n.LostRenewal < n.Acquired-1 || n.Lost+n.ReleaseError != 0 || r.Safety.Violations != 0 {
			t.Errorf("counts %+v, safety %+v", n, r.Safety)
		}
		if n.RenewError != n.Renewals || n.Renewals < 2*n.Acquired-4 || n.Errors["closed"] != n.RenewError {
			t.Errorf("counts %+v: want two failed renewals a hold", n)
		}
		if h := r.Latency[results.Hold]; h.P50 < 29*ms || h.P50 > 31*ms {
			t.Errorf("holds of %v, want the lease's 30 ms", h.P50)
		}
	})
}

// TestWatchdogHangs leaves renewals without an answer for long: the belief ends with the lease, and the release is sent
// when the session is free again.
func TestWatchdogHangs(t *testing.T) {
	p := overlong()
	p.Clients = 1
	var busy atomic.Bool
	bubble(t, p, func(svc drivers.Service) drivers.Service {
		return &able{Service: svc, renew: func(s drivers.Session, l *drivers.Lease) (bool, error) {
			busy.Store(true)
			time.Sleep(200 * ms)
			busy.Store(false)
			return renewal(s, l)
		}, release: func(s drivers.Session, l *drivers.Lease) (bool, error) {
			if busy.Load() {
				t.Error("a release while the watchdog uses the session")
			}
			return s.Release(context.Background(), l)
		}}
	}, func(t *testing.T, r *results.Record) {
		if n := r.Counts; n.LostRenewal < 14 || n.LostRenewal < n.Acquired-1 {
			t.Errorf("counts %+v, want about 14 locks of 210 ms, all lost", n)
		}
		near(t, "Little's sum", r.Bound.Little, 1, 0.1)
	})
}

// TestWatchdogCountsFromTheRequest has answers to tries that take long, and renewals without one: the lease began before
// the grant was heard of, and is over as long before the holder's own count of it.
func TestWatchdogCountsFromTheRequest(t *testing.T) {
	bubble(t, overlong(), func(svc drivers.Service) drivers.Service {
		return &able{Service: svc, try: func(s drivers.Session, l *drivers.Lease) (bool, error) {
			held, err := s.Try(context.Background(), l)
			time.Sleep(5 * ms)
			return held, err
		}, renew: func(drivers.Session, *drivers.Lease) (bool, error) {
			time.Sleep(50 * ms)
			return false, io.ErrUnexpectedEOF
		}}
	}, func(t *testing.T, r *results.Record) {
		if n := r.Counts; n.Acquired < 50 || n.LostRenewal < n.Acquired-3 || r.Safety.Violations != 0 {
			t.Errorf("counts %+v, safety %+v", n, r.Safety)
		}
	})
}

// TestWatchdogCountsFromThePass has the same for locks that are passed on: their leases began when that was asked for.
func TestWatchdogCountsFromThePass(t *testing.T) {
	p := overlong()
	p.Wait, p.Handover, p.Hold = wait.Queue, wait.HandoverSwap, 20*ms
	bubble(t, p, func(svc drivers.Service) drivers.Service {
		var passed sync.Map // owners
		sub, _ := drivers.As[drivers.Subscriber](svc)
		slow := &able{Service: svc, pass: func(s drivers.Session, from, to *drivers.Lease) (bool, error) {
			if owned, err := s.Release(context.Background(), from); !owned || err != nil {
				return owned, err
			}
			held, err := s.Try(context.Background(), to)
			passed.Store(to.Owner, true)
			time.Sleep(5 * ms)
			return held, err
		}, renew: func(s drivers.Session, l *drivers.Lease) (bool, error) {
			if _, hangs := passed.Load(l.Owner); !hangs {
				return renewal(s, l)
			}
			time.Sleep(50 * ms)
			return false, io.ErrUnexpectedEOF
		}}
		return struct {
			*able
			drivers.Subscriber
		}{slow, sub}
	}, func(t *testing.T, r *results.Record) {
		if n := r.Counts; n.LostRenewal < 40 || n.LostRenewal > n.Acquired*2/3 || r.Safety.Violations != 0 {
			t.Errorf("counts %+v, safety %+v", n, r.Safety)
		}
	})
}

func reentered(n int) spec.Plan {
	p := plan("memory", "reentrant")
	p.Reentry, p.Hold, p.Duration = n, 10*ms, 1900*ms
	return p
}

// TestReentry runs one client whose tries take 2 ms and whose releases 1 ms: 19 ms for a lock that is entered three
// times.
func TestReentry(t *testing.T) {
	for _, renew := range []bool{false, true} {
		p := reentered(3)
		p.Renew = renew
		bubble(t, p, func(svc drivers.Service) drivers.Service {
			return &able{Service: svc, try: func(s drivers.Session, l *drivers.Lease) (bool, error) {
				time.Sleep(2 * ms)
				return s.Try(context.Background(), l)
			}, release: func(s drivers.Session, l *drivers.Lease) (bool, error) {
				time.Sleep(1 * ms)
				return s.Release(context.Background(), l)
			}}
		}, func(t *testing.T, r *results.Record) {
			n := r.Counts
			if n.Acquired != 100 || n.Released != 100 || n.Tries != 100 || n.Reentries != 200 || n.ReentryRefused+n.ReentryError != 0 {
				t.Errorf("counts %+v, want 100 locks and 200 re-entries", n)
			}
			for m, want := range map[results.Metric]time.Duration{
				results.Acquire: 2 * ms, results.Reentry: 2 * ms, results.Hold: 16 * ms, results.Release: 1 * ms,
			} {
				near(t, string(m), float64(r.Latency[m].Mean), float64(want), 0.001)
			}
			if got := r.Latency[results.Reentry].Count; got != 200 {
				t.Errorf("%d times of re-entries", got)
			}
			near(t, "Little's sum", r.Bound.Little, 1, 0.01)
			if r.Safety.Violations != 0 || r.Safety.Grants != 100 {
				t.Errorf("safety %+v: a re-entry is not another grant", r.Safety)
			}
		})
	}
}

// TestReentryFails has the second re-entry of three go wrong: what was got is given back, and nobody holds the lock for
// longer than that takes.
func TestReentryFails(t *testing.T) {
	for _, tc := range []struct {
		name  string
		third func(s drivers.Session, l *drivers.Lease) (bool, error)
		check func(n results.Counts) bool
	}{
		{"refused", func(_ drivers.Session, l *drivers.Lease) (bool, error) {
			l.Reset()
			l.Owner = "another"
			return false, nil
		}, func(n results.Counts) bool { return n.ReentryRefused == n.Acquired && n.ReentryError == 0 }},
		{"unknown, counted", func(s drivers.Session, l *drivers.Lease) (bool, error) {
			s.Try(context.Background(), l)
			return false, io.ErrUnexpectedEOF
		}, func(n results.Counts) bool { return n.ReentryError == n.Acquired && n.Errors["closed"] == n.Acquired }},
		{"unknown, not counted", func(drivers.Session, *drivers.Lease) (bool, error) {
			return false, io.ErrUnexpectedEOF
		}, func(n results.Counts) bool { return n.ReentryError == n.Acquired }},
		{"no effect", func(drivers.Session, *drivers.Lease) (bool, error) {
			return false, &drivers.Error{Class: drivers.ClassServer, Op: "test", Err: io.ErrShortBuffer}
		}, func(n results.Counts) bool { return n.ReentryError == n.Acquired && n.Errors["server"] == n.Acquired }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := reentered(4)
			p.Think = ms
			balance := 0
			bubble(t, p, func(svc drivers.Service) drivers.Service {
				n := 0
				return &able{Service: svc, try: func(s drivers.Session, l *drivers.Lease) (bool, error) {
					if n++; n%3 == 0 {
						return tc.third(counting{s, &balance}, l)
					}
					return counting{s, &balance}.Try(context.Background(), l)
				}, release: func(s drivers.Session, l *drivers.Lease) (bool, error) {
					return counting{s, &balance}.Release(context.Background(), l)
				}}
			}, func(t *testing.T, r *results.Record) {
				n := r.Counts
				if n.Acquired < 1900 || n.Released != n.Acquired || n.Reentries != n.Acquired || !tc.check(n) {
					t.Errorf("counts %+v", n)
				}
				if balance != 0 {
					t.Errorf("%d grants more than releases", balance)
				}
				if r.Latency[results.Hold].Max > ms {
					t.Errorf("it was held for %v", r.Latency[results.Hold].Max)
				}
			})
		})
	}
}

// counting keeps the balance of what was granted and given back.
type counting struct {
	drivers.Session
	balance *int
}

func (c counting) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	held, err := c.Session.Try(ctx, l)
	if held {
		*c.balance++
	}
	return held, err
}

func (c counting) Release(ctx context.Context, l *drivers.Lease) (bool, error) {
	removed, err := c.Session.Release(ctx, l)
	if removed {
		*c.balance--
	}
	return removed, err
}

// TestLostReentry loses every hold of two to the watchdog while the server still has it, three times over: all of it
// has to be given back. Every other acquisition fails in its second entry and so never comes to hold.
func TestLostReentry(t *testing.T) {
	p := reentered(3)
	p.Renew, p.Hold, p.TTL = true, time.Second, 300*ms
	balance, n := 0, 0
	bubble(t, p, func(svc drivers.Service) drivers.Service {
		return &able{Service: svc, try: func(s drivers.Session, l *drivers.Lease) (bool, error) {
			if n++; n%5 == 0 { // 1 2 3 and 4 5
				return false, nil
			}
			return counting{s, &balance}.Try(context.Background(), l)
		}, release: func(s drivers.Session, l *drivers.Lease) (bool, error) {
			return counting{s, &balance}.Release(context.Background(), l)
		}, renew: func(s drivers.Session, l *drivers.Lease) (bool, error) {
			renewal(s, l)
			return false, io.ErrUnexpectedEOF
		}}
	}, func(t *testing.T, r *results.Record) {
		c := r.Counts
		half := c.Acquired / 2
		if half < 6 || c.LostRenewal < half-1 || c.LostRenewal > half+1 || c.Released != c.Acquired-c.LostRenewal {
			t.Errorf("counts %+v: want every other lock lost, and the others given back", c)
		}
		if balance != 0 {
			t.Errorf("%d grants more than releases", balance)
		}
	})
}

// TestInnerReleaseFails loses the answer to every first inner release, which had its effect or not: in either case the
// lock is free in the end, long before its TTL.
func TestInnerReleaseFails(t *testing.T) {
	for _, acts := range []bool{true, false} {
		bubble(t, reentered(2), func(svc drivers.Service) drivers.Service {
			n := 0
			return &able{Service: svc, release: func(s drivers.Session, l *drivers.Lease) (bool, error) {
				if n++; n%3 != 1 { // inner, last, owed
					return s.Release(context.Background(), l)
				}
				if acts {
					s.Release(context.Background(), l)
				}
				return false, io.ErrUnexpectedEOF
			}}
		}, func(t *testing.T, r *results.Record) {
			if n := r.Counts; n.Acquired < 180 || n.Released != n.Acquired || n.ReentryError != n.Acquired || n.ReleaseError != 0 {
				t.Errorf("acts %v: counts %+v", acts, n)
			}
		})
	}
}

func TestRefusesWhatADesignLacks(t *testing.T) {
	for _, tc := range []struct {
		change func(*spec.Plan)
		want   string
	}{
		{func(p *spec.Plan) { p.Driver, p.Lock, p.Renew = "null", "none", true },
			"null none -renew: its leases cannot be renewed"},
		{func(p *spec.Plan) { p.Reentry = 2 },
			"memory mutex -reentry 2: its holder cannot enter it again"},
		{func(p *spec.Plan) { p.Reentry = 1 }, ""},
	} {
		p := plan("memory", "mutex")
		p.Duration = ms
		tc.change(&p)
		_, err := (&Run{Plan: p, Service: open(t, p), Prefix: "test:"}).Do(t.Context())
		var misfit *matrix.Misfit
		if got := ""; tc.want == "" && err != nil || tc.want != "" && (!errors.As(err, &misfit) || err.Error() != tc.want) {
			t.Errorf("got %q %v, want %q", got, err, tc.want)
		}
	}
}

// TestClaimsToRenew finds a service whose design says Renews and whose sessions cannot.
func TestClaimsToRenew(t *testing.T) {
	p := plan("null", "none")
	p.Renew = true
	svc := &claims{open(t, p)}
	_, err := (&Run{Plan: p, Service: svc, Prefix: "test:"}).Do(t.Context())
	if err == nil || !strings.Contains(err.Error(), "cannot renew, although the design says so") {
		t.Error(err)
	}
}

type claims struct{ drivers.Service }

func (claims) Traits() drivers.Traits { return drivers.Traits{Renews: true} }

func TestKeepAllocatesNothing(t *testing.T) {
	for _, tc := range []struct {
		renew   bool
		reentry int
	}{{true, 0}, {false, 3}, {true, 3}} {
		c := lone(t, managedHold(tc.renew, tc.reentry))
		now := c.cycle(0)
		if n := testing.AllocsPerRun(1000, func() { now = c.cycle(now) }); n > 0.4 { // the owner tokens of the lock
			t.Errorf("renew %v, re-entry %d: %v allocations a cycle", tc.renew, tc.reentry, n)
		}
		if n := int64(max(0, tc.reentry-1)) * c.counters.acquired; c.counters.acquired < 1000 || c.counters.reentries != n {
			t.Errorf("renew %v, re-entry %d: %d grants, %d re-entries", tc.renew, tc.reentry, c.counters.acquired, c.counters.reentries)
		}
	}
}

func managedHold(renew bool, reentry int) spec.Plan {
	p := plan("memory", "reentrant")
	p.Renew, p.Reentry = renew, reentry
	return p
}
