// The oracle's power, and the witnesses beside it: locks that are broken on purpose have to be found out where holds take
// no time, and no bound may stand where nothing could be seen.

package workloads

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
)

// distant is a lock behind a network: each request takes trip. If every is not 0, each so many-th refusal is answered with
// yes, though nothing was granted.
type distant struct {
	drivers.Service
	trip  time.Duration
	every int64

	refused, lies atomic.Int64
}

type distantSession struct {
	drivers.Session
	*distant
}

func (d *distant) Unwrap() drivers.Service { return d.Service }

func (d *distant) Session(ctx context.Context, id int) (drivers.Session, error) {
	s, err := d.Service.Session(ctx, id)
	return distantSession{s, d}, err
}

func (s distantSession) Unwrap() drivers.Session { return s.Session }

func (s distantSession) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	time.Sleep(s.trip / 2)
	held, err := s.Session.Try(ctx, l)
	if !held && err == nil && s.every > 0 && s.refused.Add(1)%s.every == 0 {
		s.lies.Add(1)
		held = true
	}
	time.Sleep(s.trip / 2)
	return held, err
}

func (s distantSession) Release(ctx context.Context, l *drivers.Lease) (bool, error) {
	time.Sleep(s.trip / 2)
	defer time.Sleep(s.trip / 2)
	return s.Session.Release(ctx, l)
}

// contended returns a plan whose holds take no time, by clients that contend for one key.
func contended(driver, lock string) spec.Plan {
	p := plan(driver, lock)
	p.Clients, p.Poll, p.Duration = 16, 2*ms, 4*time.Second
	return p
}

// TestFalseGrants has a lock grant one refusal in a hundred while it is somebody else's.
func TestFalseGrants(t *testing.T) {
	var lock *distant
	bubble(t, contended("memory", "mutex"), func(svc drivers.Service) drivers.Service {
		lock = &distant{Service: svc, trip: ms / 10, every: 100}
		return lock
	}, func(t *testing.T, r *results.Record) {
		s, lies := r.Safety, lock.lies.Load()
		if !r.Violated() || lies < 100 {
			t.Fatalf("violated %v after %d wrong grants: %+v", r.Violated(), lies, s)
		}
		if s.LostEarly != lies {
			t.Errorf("%d locks lost early, after %d wrong grants", s.LostEarly, lies)
		}
		if rate, ok := r.Figures().MaxRate(); ok {
			t.Errorf("a bound of %v in spite of that", rate)
		}
	})
}

// TestFalseGrantsAreIntrusions plants more of them, so that some fall into holds for certain.
func TestFalseGrantsAreIntrusions(t *testing.T) {
	p := contended("memory", "mutex")
	p.Duration *= 4 // of some 15 violations in 4 s there may be 6
	bubble(t, p, func(svc drivers.Service) drivers.Service {
		return &distant{Service: svc, trip: ms / 10, every: 5}
	}, func(t *testing.T, r *results.Record) {
		if s := r.Safety; s.Violations < 10 || s.Power.Watched < s.Violations/4 {
			t.Errorf("safety %+v, power %+v: want violations, in watched grants", s, *s.Power)
		}
	})
}

// TestUncontended plants the same fault where nobody is refused: nothing is seen, and nothing is claimed.
func TestUncontended(t *testing.T) {
	p := contended("memory", "mutex")
	p.Keys, p.KeyDist, p.Duration = p.Clients, spec.Must(spec.ParseKeys("own")), time.Second
	bubble(t, p, func(svc drivers.Service) drivers.Service {
		return &distant{Service: svc, trip: ms / 10, every: 100}
	}, func(t *testing.T, r *results.Record) {
		if rate, ok := r.Figures().MaxRate(); ok || r.Violated() {
			t.Errorf("violated %v, bound %v of %+v, though nobody was refused", r.Violated(), rate, r.Safety)
		}
		if *r.Safety.Power != (results.Power{}) || r.Safety.Grants < 1000 {
			t.Errorf("power %+v in %d grants: want no sampled hold", *r.Safety.Power, r.Safety.Grants)
		}
	})
}

// TestSampledHolds has a sound lock, in every way of waiting that asks it: it is cleared by a bound, at the price that
// sampled holds may have. They are in the books and not in the hold times.
func TestSampledHolds(t *testing.T) {
	if testing.Short() {
		t.Skip("long runs: make test-all")
	}
	for _, way := range []string{"none", "pubsub", "poll", "backoff"} {
		t.Run(way, func(t *testing.T) {
			p := contended("memory", "mutex")
			p.Wait, p.BackoffMax = way, 4*ms
			p.Duration *= 3 // for enough of them
			if way == "none" {
				p.Think = 2 * ms
			}
			bubble(t, p, func(svc drivers.Service) drivers.Service {
				return &distant{Service: svc, trip: ms / 10}
			}, func(t *testing.T, r *results.Record) {
				w := r.Safety.Power
				rate, ok := r.Figures().MaxRate()
				if !ok || rate != 3/float64(w.Watched) || r.Violated() || r.Safety.LostEarly != 0 {
					t.Errorf("bound %v, %v, safety %+v", rate, ok, r.Safety)
				}
				// How many others are watched depends on the order in which clients run.
				if w.Sampled < 50 || w.Watched < 100 || w.Watched < w.Sampled/2 || w.Refusals < w.Watched {
					t.Errorf("power %+v: want most of the sampled holds watched", *w)
				}
				if share := float64(w.SampledTime) / float64(p.Duration); share > 1.0/samplePrice+0.001 {
					t.Errorf("the key was in sampled holds for %.2f %% of the time", 100*share)
				}
				if h, ok := r.Latency[results.Hold]; ok {
					t.Errorf("hold times %+v of holds that take no time", h)
				}
				near(t, "Little's sum", r.Bound.Little, 1, 0.001)
			})
		})
	}
}

// TestSampledTimeIsInTheBooks has so short a run that a sampled hold is a twentieth of the clients' time.
func TestSampledTimeIsInTheBooks(t *testing.T) {
	for _, pipelining := range []string{"", "batch"} {
		p := plan("memory", "mutex")
		p.Clients, p.Keys, p.Wait, p.Think, p.Warmup, p.Duration, p.Pipelining = 2, 1, "none", 3*ms, 0, 10*ms, pipelining
		bubble(t, p, nil, func(t *testing.T, r *results.Record) {
			if w := r.Safety.Power; w.SampledTime < ms {
				t.Errorf("%q: power %+v", pipelining, *w)
			}
			near(t, "Little's sum", r.Bound.Little, 1, 0.001)
		})
	}
}

// TestSampledShortHolds: a hold of the plan is lengthened too if it is short, and counts as long as it was asked for.
func TestSampledShortHolds(t *testing.T) {
	if testing.Short() {
		t.Skip("long runs: make test-all")
	}
	p := contended("memory", "mutex")
	p.Hold, p.Think = ms/100, ms/3
	p.Duration *= 8 // for enough of them, whatever the order in which clients run
	bubble(t, p, func(svc drivers.Service) drivers.Service {
		return &distant{Service: svc, trip: ms / 10}
	}, func(t *testing.T, r *results.Record) {
		if w := r.Safety.Power; w.Sampled < 10 || w.SampledTime < ms {
			t.Errorf("power %+v", *w)
		}
		if h := r.Latency[results.Hold]; h.Max > p.Hold+p.Hold/100 {
			t.Errorf("hold times %+v, want %v", h, p.Hold)
		}
		near(t, "Little's sum", r.Bound.Little, 1, 0.001)
	})
}

// TestNoOracle samples no hold.
func TestNoOracle(t *testing.T) {
	p := contended("memory", "mutex")
	p.Oracle, p.Duration = false, time.Second
	bubble(t, p, func(svc drivers.Service) drivers.Service {
		return &distant{Service: svc, trip: ms / 10}
	}, func(t *testing.T, r *results.Record) {
		if s := r.Safety; s.Checked || s.Power != nil || s.Grants != 0 {
			t.Errorf("safety %+v", s)
		}
	})
}

// TestNoLock: what refuses nobody is found out by the first sampled hold.
func TestNoLock(t *testing.T) {
	p := contended("null", "none")
	p.Duration = time.Second / 4
	bubble(t, p, func(svc drivers.Service) drivers.Service {
		return &distant{Service: svc, trip: ms / 10}
	}, func(t *testing.T, r *results.Record) {
		if s := r.Safety; s.Violations < 10 || s.Power.Watched == 0 || s.Power.Refusals != 0 {
			t.Errorf("safety %+v, power %+v: want violations", s, *s.Power)
		}
	})
}

// TestLocalRefusals: in a single local line one client at a time asks the lock, so that it has refused nobody.
func TestLocalRefusals(t *testing.T) {
	for _, lockers := range []int{1, 8} {
		p := contended("memory", "mutex")
		// For long enough that sampled holds, 0.2 % of the time, show some refusals in whatever order clients run.
		p.Wait, p.Handover, p.Lockers = "queue", "release", lockers
		bubble(t, p, func(svc drivers.Service) drivers.Service {
			return &distant{Service: svc, trip: ms / 10}
		}, func(t *testing.T, r *results.Record) {
			if _, ok := r.Figures().MaxRate(); ok != (lockers > 1) || r.Violated() {
				t.Errorf("%d lines: safety %+v, power %+v", lockers, r.Safety, *r.Safety.Power)
			}
		})
	}
}

// thief lets one release in ten find nothing, after it has freed the lock.
type thief struct {
	drivers.Service
	traits drivers.Traits
	n      atomic.Int64
}

type thiefSession struct {
	drivers.Session
	*thief
}

func (s *thief) Unwrap() drivers.Service { return s.Service }
func (s *thief) Traits() drivers.Traits  { return s.traits }

func (s *thief) Session(ctx context.Context, id int) (drivers.Session, error) {
	inner, err := s.Service.Session(ctx, id)
	return thiefSession{inner, s}, err
}

func (s thiefSession) Unwrap() drivers.Session { return s.Session }

func (s thiefSession) Release(ctx context.Context, l *drivers.Lease) (bool, error) {
	removed, err := s.Session.Release(ctx, l)
	return removed && s.n.Add(1)%10 != 0, err
}

// evicting is a server that evicts n keys after the load has begun.
func evicting(n int64) func(drivers.Service) drivers.Service {
	return func(svc drivers.Service) drivers.Service {
		return &accountant{Service: svc, alter: func(look int, s *drivers.Server, _ *drivers.Usage) error {
			if look > 2 {
				s.Evicted = n
			}
			return nil
		}}
	}
}

// TestLostEarly: a release that finds nothing is evidence if the lease cannot have ended and nothing else explains it.
func TestLostEarly(t *testing.T) {
	sound := drivers.Traits{Exclusive: true, Owned: true, Expires: true}
	for _, tc := range []struct {
		name      string
		traits    drivers.Traits
		plan      func(*spec.Plan)
		wrap      func(drivers.Service) drivers.Service
		want      bool // that it is seen
		explained bool
	}{
		{name: "lease", traits: sound, want: true},
		{name: "no expiry", traits: drivers.Traits{Exclusive: true}, want: true,
			plan: func(p *spec.Plan) { p.Hold, p.TTL = 10*ms, ms }},
		{name: "session", traits: drivers.Traits{Exclusive: true, Owned: true, Session: true}},
		{name: "claims nothing", traits: drivers.Traits{Owned: true, Expires: true}, want: true},
		{name: "lease over", traits: sound, plan: func(p *spec.Plan) { p.Hold, p.TTL = 20*ms, 21*ms }},
		{name: "error", traits: sound, want: true, explained: true, wrap: func(svc drivers.Service) drivers.Service {
			return &faulty{Service: svc, try: every(1000, nil), release: every(50, io.EOF)}
		}},
		{name: "more losses than errors", traits: sound, want: true, wrap: func(svc drivers.Service) drivers.Service {
			return &accountant{Service: &faulty{Service: svc, try: every(1000, nil), release: every(50, io.EOF)}}
		}},
		{name: "more losses than errors of an untagged lock", traits: drivers.Traits{Exclusive: true, Expires: true}, want: true,
			explained: true, wrap: func(svc drivers.Service) drivers.Service {
				return &accountant{Service: &faulty{Service: svc, try: every(1000, nil), release: every(50, io.EOF)}}
			}},
		{name: "restart", traits: sound, want: true, explained: true, wrap: func(svc drivers.Service) drivers.Service {
			return &accountant{Service: svc, alter: func(look int, s *drivers.Server, _ *drivers.Usage) error {
				s.RunID = string(rune('0' + look/3)) // in the warm-up: both readings of the window see the second server
				return nil
			}}
		}},
		{name: "eviction", traits: sound, want: true, explained: true, wrap: evicting(1000)},
		{name: "more losses than evicted keys", traits: sound, want: true, wrap: evicting(1)},
		{name: "overdue releases of an untagged lock", traits: drivers.Traits{Exclusive: true, Expires: true}, want: true,
			explained: true, plan: func(p *spec.Plan) {
				p.Clients, p.TTL, p.HoldDist = 3, 50*ms, spec.Must(spec.ParseTimes("uniform:5ms:60ms"))
			},
			wrap: func(svc drivers.Service) drivers.Service { return &naive{Service: svc} }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := plan("memory", "mutex")
			p.Hold, p.Think, p.Warmup, p.Duration = 5*ms, ms, 100*ms, 2*time.Second
			if tc.plan != nil {
				tc.plan(&p)
			}
			bubble(t, p, func(svc drivers.Service) drivers.Service {
				if tc.wrap != nil {
					svc = tc.wrap(svc)
				}
				return &thief{Service: svc, traits: tc.traits}
			}, func(t *testing.T, r *results.Record) {
				s := r.Safety
				if (s.LostEarly > 0) != tc.want || (s.Explained != "") != tc.explained {
					t.Errorf("%d lost early, explained by %q; want any: %v, explained: %v", s.LostEarly, s.Explained, tc.want, tc.explained)
				}
				if broken := s.Violations > 0; r.Violated() != (tc.want && (!tc.explained || broken) && tc.traits.Exclusive) {
					t.Errorf("violated: %v", r.Violated())
				}
				if r.Counts.Lost == 0 {
					t.Errorf("counts %+v: want lost holds", r.Counts)
				}
			})
		})
	}
}

// stale is a lock whose fencing tokens do not grow, in grants that take a while to arrive.
type stale struct {
	drivers.Service
	after time.Duration
}

type staleSession struct {
	drivers.Session
	after time.Duration
}

func (s stale) Session(ctx context.Context, id int) (drivers.Session, error) {
	inner, err := s.Service.Session(ctx, id)
	return staleSession{inner, s.after}, err
}

func (s staleSession) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	held, err := s.Session.Try(ctx, l)
	l.Fence = 1
	time.Sleep(s.after)
	return held, err
}

// TestFence: a token that goes back proves that two clients hold a lock, unless the grant came too late for its lease.
func TestFence(t *testing.T) {
	for after, want := range map[time.Duration]bool{10 * ms: true, 100 * ms: false} {
		p := plan("memory", "mutex")
		p.TTL = 100 * ms
		bubble(t, p, func(svc drivers.Service) drivers.Service { return stale{svc, after} }, func(t *testing.T, r *results.Record) {
			if s := r.Safety; (s.FenceRegress > 0) != want || r.Violated() != want {
				t.Errorf("answered after %v: %d regressions, violated %v; want %v", after, s.FenceRegress, r.Violated(), want)
			}
		})
	}
}

// fired is a session that loses every third hold with its connection.
type fired struct {
	drivers.Session
	n *int
}

func (s fired) Release(ctx context.Context, l *drivers.Lease) (bool, error) {
	owned, err := s.Session.Release(ctx, l)
	*s.n++
	return owned && *s.n%3 != 0, err
}

func (s fired) Ended() error {
	err := errors.New("57P05, " + strings.Repeat("idle ", maxErrorText))
	if *s.n%2 == 0 { // the other ones say nothing of a limit
		return &drivers.Error{Class: drivers.ClassEnded, Op: "57P05", Err: err}
	}
	return err
}

// firing is a service of such sessions.
type firing struct {
	*able
	n int
}

func (f *firing) Session(ctx context.Context, id int) (drivers.Session, error) {
	s, err := f.Service.Session(ctx, id)
	return fired{s, &f.n}, err
}

// TestEnded: a hold that was gone with its session is counted with the reason; a lease that was lost is not, whatever a session says.
func TestEnded(t *testing.T) {
	for _, session := range []bool{true, false} {
		p := plan("memory", "mutex")
		p.Hold, p.Warmup, p.Duration = 10*ms, 0, 900*ms
		bubble(t, p, func(svc drivers.Service) drivers.Service {
			return &firing{able: &able{Service: svc, traits: func(t *drivers.Traits) { t.Session = session }}}
		}, func(t *testing.T, r *results.Record) {
			var n int64
			for reason, times := range r.Safety.Ended {
				if n += times; !strings.HasPrefix(reason, "57P05") || len(reason) > 2*maxErrorText {
					t.Errorf("the reason is %q", reason)
				}
			}
			if got := r.Counts.Errors["ended"]; session && (got == 0 || got >= r.Counts.Lost) || !session && got != 0 {
				t.Errorf("of sessions %v: %d errors of limits, of %d lost holds", session, got, r.Counts.Lost)
			}
			if want := r.Counts.Lost - r.Counts.Errors["ended"]; r.Counts.Lost == 0 || session && n != want || !session && n != 0 {
				t.Errorf("of sessions %v: %d holds have ended by a reason, of %d lost ones", session, n, want)
			}
		})
	}
}
