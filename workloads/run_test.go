package workloads

import (
	"context"
	"errors"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
)

const ms = time.Millisecond

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bubble runs a plan over svc (the memory driver's if nil) in synctest's time, where only sleeps take time.
func bubble(t *testing.T, p spec.Plan, wrap func(drivers.Service) drivers.Service, check func(*testing.T, *results.Record)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		svc := open(t, p)
		if wrap != nil {
			svc = wrap(svc)
		}
		rec, err := (&Run{Plan: p, Service: svc, Prefix: "test:"}).Do(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		check(t, rec)
	})
}

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if got < want*(1-within) || got > want*(1+within) {
		t.Errorf("%s is %v, want %v ± %v %%", what, got, want, 100*within)
	}
}

// TestKnownAnswer runs one client whose every cycle takes 15 ms: the record has to say so.
func TestKnownAnswer(t *testing.T) {
	p := plan("memory", "mutex")
	p.Hold, p.Think, p.Warmup, p.Duration = 10*ms, 5*ms, 150*ms, 1500*ms
	bubble(t, p, nil, func(t *testing.T, r *results.Record) {
		n := r.Counts
		if n.Acquired != 100 || n.Released != 100 || n.Tries != 100 || n.Lost+n.TimedOut+n.Unknown+n.Refused+n.ReleaseError != 0 {
			t.Errorf("counts %+v, want 100 locks in 1.5 s and nothing else", n)
		}
		if r.Elapsed != p.Duration || r.Partial != "" {
			t.Errorf("window %v, partial %q", r.Elapsed, r.Partial)
		}
		near(t, "throughput", r.Throughput(), 100/1.5, 1e-9)
		near(t, "mean hold", float64(r.Latency[results.Hold].Mean), float64(10*ms), 0.001)
		near(t, "Little's sum", r.Bound.Little, 1, 0.01)
		if r.Safety.Grants != 110 || r.Safety.Violations != 0 || r.Safety.LostUpdates != 0 {
			t.Errorf("safety %+v, want 110 grants (10 in the warm-up) without a stain", r.Safety)
		}
		if f := r.Fairness; f.Jain != 1 || f.OwnerChanges != 0 || f.LongestRun != 110 || f.Starved != 0 {
			t.Errorf("fairness %+v", f)
		}
		if _, ok := r.Latency[results.Handoff]; ok {
			t.Error("a client that waited for nobody has hand-offs")
		}
	})
}

// rooms counts the subscriptions that are made of a service.
type rooms struct {
	drivers.Service
	opened atomic.Int32
}

func (r *rooms) Unwrap() drivers.Service { return r.Service }

func (r *rooms) Listen(ctx context.Context, wake func(string)) (drivers.Listener, error) {
	r.opened.Add(1)
	sub, _ := drivers.As[drivers.Subscriber](r.Service)
	return sub.Listen(ctx, wake)
}

// TestLockers shares the clients out: each locker has a line and a subscription of its own.
func TestLockers(t *testing.T) {
	for _, lockers := range []int{0, 1, 3} {
		p := plan("memory", "mutex")
		p.Clients, p.Wait, p.Handover, p.Lockers, p.Hold, p.Think = 6, "queue", "release", lockers, 10*ms, 1*ms
		var counted *rooms
		bubble(t, p, func(svc drivers.Service) drivers.Service {
			counted = &rooms{Service: svc}
			return counted
		}, func(t *testing.T, r *results.Record) {
			if n := counted.opened.Load(); int(n) != max(lockers, 1) {
				t.Errorf("%d lockers have made %d subscriptions", lockers, n)
			}
			if r.Safety.Violations != 0 || r.Counts.Unknown+r.Counts.Refused+r.Counts.ReleaseError != 0 {
				t.Errorf("%d lockers: %+v, %+v", lockers, r.Safety, r.Counts)
			}
			near(t, "throughput", r.Throughput(), 100, 0.02)
		})
	}
}

// TestContended runs clients that queue for one key: it is never idle, so the throughput is that of its holds.
func TestContended(t *testing.T) {
	for _, way := range []string{"poll", "backoff", "pubsub", "queue"} {
		t.Run(way, func(t *testing.T) {
			p := plan("memory", "mutex")
			p.Clients, p.Wait, p.Hold, p.Think, p.Duration = 4, way, 10*ms, 1*ms, time.Second
			p.BackoffMax = 2 * ms
			if way == "queue" {
				p.Handover = "release"
			}
			bubble(t, p, nil, func(t *testing.T, r *results.Record) {
				near(t, "throughput", r.Throughput(), 95, 0.1)
				if n := r.Counts; n.Acquired != n.Released || n.Tries+n.LocalRefusals <= n.Acquired {
					t.Errorf("counts %+v: want as many releases as grants, and more attempts", n)
				}
				h := r.Latency[results.Handoff]
				if h.Count < r.Counts.Acquired*3/4 || h.Max > 2*ms+ms/100 {
					t.Errorf("hand-off %+v: want one for most grants, of 2 ms at the most", h)
				}
				near(t, "Little's sum", r.Bound.Little, 1, 0.1)
				if r.Safety.Violations != 0 {
					t.Errorf("%d violations of a sound lock", r.Safety.Violations)
				}
				if c := r.Fairness.OwnerChanges; c < 2 || c > r.Counts.Acquired+1 {
					t.Errorf("%d owner changes in %d grants", c, r.Counts.Acquired)
				}
			})
		})
	}
}

func TestOutcomes(t *testing.T) {
	t.Run("contended", func(t *testing.T) {
		p := plan("memory", "mutex")
		p.Clients, p.Wait, p.Hold, p.Think, p.Duration = 2, "none", 10*ms, 1*ms, time.Second
		bubble(t, p, nil, func(t *testing.T, r *results.Record) {
			if n := r.Counts; n.Contended == 0 || n.TimedOut != 0 || n.Tries != n.Acquired+n.Contended {
				t.Errorf("counts %+v: want contended ones, one try each", n)
			}
			if r.Latency[results.Refusal].Count != r.Counts.Contended {
				t.Errorf("refusals %+v, want %d", r.Latency[results.Refusal], r.Counts.Contended)
			}
		})
	})
	t.Run("timed out", func(t *testing.T) {
		p := plan("memory", "mutex")
		p.Clients, p.Hold, p.Timeout, p.Duration = 2, 100*ms, 30*ms, time.Second
		bubble(t, p, nil, func(t *testing.T, r *results.Record) {
			if n := r.Counts; n.TimedOut == 0 || n.Contended != 0 {
				t.Errorf("counts %+v: want some that ran out of patience", n)
			}
			if l := r.Latency[results.Refusal]; l.Min < 29*ms || l.Max > 32*ms {
				t.Errorf("refused after %v to %v, want the patience of 30 ms", l.Min, l.Max)
			}
			if l := r.Latency[results.Acquire]; l.Max > 31*ms {
				t.Errorf("a grant after %v of waiting, with a patience of 30 ms", l.Max)
			}
		})
	})
	t.Run("unfinished", func(t *testing.T) {
		p := plan("memory", "mutex")
		p.Clients, p.Hold, p.TTL, p.Duration = 3, 10*time.Second, time.Minute, time.Second
		bubble(t, p, nil, func(t *testing.T, r *results.Record) {
			if n := r.Counts; n.Acquired != 1 || n.Unfinished != 2 || n.Canceled != 0 {
				t.Errorf("counts %+v: want one grant and two that still waited", n)
			}
			if r.Fairness.Starved != 2 || r.Fairness.LongestWait != time.Second {
				t.Errorf("fairness %+v: want two starved for the whole second", r.Fairness)
			}
		})
	})
}

// TestOverstay makes every hold outlast its lease: the oracle must see it, and so must the counts.
func TestOverstay(t *testing.T) {
	p := plan("memory", "mutex")
	p.Clients, p.Hold, p.TTL, p.Duration = 4, 30*ms, 20*ms, time.Second
	bubble(t, p, nil, func(t *testing.T, r *results.Record) {
		if r.Safety.Violations < 20 || r.Safety.Longest < 8*ms || r.Safety.LostUpdates == 0 {
			t.Errorf("safety %+v: want an overlap of about 10 ms for nearly each hold", r.Safety)
		}
		if r.Counts.Lost < 20 || r.Safety.WrongReleases != 0 {
			t.Errorf("%d lost, %d wrong releases: an owned lock refuses the late release", r.Counts.Lost, r.Safety.WrongReleases)
		}
		if !strings.Contains(strings.Join(r.Warnings, "\n"), "outlast a lease") {
			t.Errorf("warnings %q do not say why", r.Warnings)
		}
	})
}

// liar grants a lock that is held, but only well inside a hold, so that each lie is an overlap for certain; and it
// grants nothing else until the liars have let go, so that nothing else is one.
type liar struct {
	drivers.Service
	hold time.Duration

	mu      sync.Mutex
	granted time.Time // the last true grant
	lies    int64
	lying   int // holds that are lies
}

type liarSession struct {
	drivers.Session
	*liar
	lied bool
}

func (l *liar) Session(ctx context.Context, id int) (drivers.Session, error) {
	s, err := l.Service.Session(ctx, id)
	return &liarSession{Session: s, liar: l}, err
}

func (s *liarSession) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if age := time.Since(s.granted); age >= ms && age <= s.hold-2*ms {
		s.lied, s.lies, s.lying = true, s.lies+1, s.lying+1
		return true, nil
	}
	if s.lying > 0 {
		return false, nil
	}
	held, err := s.Session.Try(ctx, l)
	if held {
		s.granted = time.Now()
	}
	return held, err
}

func (s *liarSession) Release(ctx context.Context, l *drivers.Lease) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lied {
		s.lied, s.lying = false, s.lying-1
		return true, nil
	}
	return s.Session.Release(ctx, l)
}

// TestPlantedOverlaps plants overlaps through a driver that lies, and wants to see every one.
func TestPlantedOverlaps(t *testing.T) {
	p := plan("memory", "mutex")
	p.Clients, p.Hold, p.Poll, p.Duration = 3, 20*ms, 7*ms, 10*time.Second
	var l *liar
	bubble(t, p, func(svc drivers.Service) drivers.Service {
		l = &liar{Service: svc, hold: p.Hold}
		return l
	}, func(t *testing.T, r *results.Record) {
		if l.lies < 100 || r.Safety.Violations != l.lies {
			t.Errorf("planted %d overlaps, seen %d", l.lies, r.Safety.Violations)
		}
		if r.Safety.LostUpdates == 0 {
			t.Error("the second witness lost no update")
		}
		t.Logf("planted %d overlaps, seen %d; %d lost updates", l.lies, r.Safety.Violations, r.Safety.LostUpdates)
	})
}

// TestNullViolates is the control: no lock at all has to show violations, on real processors.
func TestNullViolates(t *testing.T) {
	p := plan("null", "none")
	p.Clients, p.Hold, p.Duration = 8, ms, 100*ms
	rec, err := (&Run{Plan: p, Service: open(t, p), Prefix: "test:"}).Do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if rec.Safety.Violations == 0 || rec.Safety.LostUpdates == 0 {
		t.Errorf("safety %+v of no lock at all", rec.Safety)
	}
}

// faulty answers some requests with an error after the inner session has acted on them.
type faulty struct {
	drivers.Service
	try, release func(n int64) error // by the request's number
	tries, frees atomic.Int64
	freed        atomic.Int64 // releases that removed something
}

type faultySession struct {
	drivers.Session
	*faulty
}

func (f *faulty) Session(ctx context.Context, id int) (drivers.Session, error) {
	s, err := f.Service.Session(ctx, id)
	return faultySession{s, f}, err
}

func (s faultySession) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	held, err := s.Session.Try(ctx, l)
	if e := s.try(s.tries.Add(1)); e != nil {
		return false, e
	}
	return held, err
}

func (s faultySession) Release(ctx context.Context, l *drivers.Lease) (bool, error) {
	removed, err := s.Session.Release(ctx, l)
	if removed {
		s.freed.Add(1)
	}
	if e := s.release(s.frees.Add(1)); e != nil {
		return false, e
	}
	return removed, err
}

func every(n int64, err error) func(int64) error {
	return func(i int64) error {
		if i%n == 0 {
			return err
		}
		return nil
	}
}

func TestErrors(t *testing.T) {
	refusal := &drivers.Error{Class: drivers.ClassServer, Op: "test", Err: errors.New("out of memory")}
	for _, tc := range []struct {
		name         string
		try, release error
		check        func(*testing.T, results.Counts, *faulty)
	}{
		{"unknown", io.ErrUnexpectedEOF, nil, func(t *testing.T, n results.Counts, f *faulty) {
			if n.Unknown == 0 || n.Refused != 0 || n.Errors["closed"] != n.Unknown {
				t.Errorf("counts %+v", n)
			}
			if f.freed.Load() != f.tries.Load() {
				t.Errorf("%d locks granted, %d freed: an unknown outcome has to be released", f.tries.Load(), f.freed.Load())
			}
		}},
		{"refused", refusal, nil, func(t *testing.T, n results.Counts, f *faulty) {
			if n.Refused == 0 || n.Unknown != 0 || n.Errors["server"] != n.Refused {
				t.Errorf("counts %+v", n)
			}
			if !strings.Contains(n.ErrorSample["server"], "out of memory") {
				t.Errorf("sample %q", n.ErrorSample)
			}
		}},
		{"release", nil, io.EOF, func(t *testing.T, n results.Counts, f *faulty) {
			if n.ReleaseError == 0 || n.Unknown != 0 || n.Errors["closed"] != n.ReleaseError {
				t.Errorf("counts %+v", n)
			}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := plan("memory", "mutex")
			p.Hold, p.TTL, p.Duration = ms, 2*ms, time.Second // what a refusal leaves behind here is soon gone
			var f *faulty
			bubble(t, p, func(svc drivers.Service) drivers.Service {
				f = &faulty{Service: svc, try: every(10, tc.try), release: every(10, tc.release)}
				return f
			}, func(t *testing.T, r *results.Record) {
				tc.check(t, r.Counts, f)
				if r.Counts.Acquired < 100 {
					t.Errorf("only %d grants: the run did not go on after an error", r.Counts.Acquired)
				}
			})
		})
	}
}

// TestRefusalEndsPauses has a client that never gets the lock answered after errors: the pause after the next error is short again.
func TestRefusalEndsPauses(t *testing.T) {
	p := plan("memory", "mutex")
	p.Wait, p.Clients = "none", 1
	c := carry(t, p, nil).clients[0].client
	for range 20 {
		c.drawPause()
	}
	c.begin(0)
	c.refused(false)
	if d := c.drawPause(); d > minErrorPause {
		t.Errorf("a pause of %v after a refusal, want at most %v", d, minErrorPause)
	}
}

// TestErrorsDoNotSpin makes every request fail: a client may then ask only a few times a second.
func TestErrorsDoNotSpin(t *testing.T) {
	p := plan("memory", "mutex")
	p.Duration = 10 * time.Second
	var f *faulty
	bubble(t, p, func(svc drivers.Service) drivers.Service {
		f = &faulty{Service: svc, try: every(1, io.EOF), release: every(1, io.EOF)}
		return f
	}, func(t *testing.T, r *results.Record) {
		if n := f.tries.Load(); n < 100 || n > 250 {
			t.Errorf("%d tries in 10 s of nothing but errors, want about 130", n)
		}
	})
}

func TestCancel(t *testing.T) {
	for _, tc := range []struct {
		name   string
		after  time.Duration
		window time.Duration
	}{{"in the window", 500 * ms, 400 * ms}, {"in the warm-up", 50 * ms, 0}} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := plan("memory", "mutex")
				p.Clients, p.Hold, p.Warmup, p.Duration = 5, 7*ms, 100*ms, time.Hour // no hold ends with the run
				svc := open(t, p)
				ctx, cancel := context.WithTimeout(t.Context(), tc.after)
				defer cancel()
				began := time.Now()
				r, err := (&Run{Plan: p, Service: svc, Prefix: "test:"}).Do(ctx)
				if err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); took > tc.after+50*ms {
					t.Errorf("it took %v to stop", took-tc.after)
				}
				if r.Elapsed != tc.window || !strings.Contains(r.Partial, "interrupted") {
					t.Errorf("window %v, partial %q; want %v", r.Elapsed, r.Partial, tc.window)
				}
				if r.Counts.Canceled != 4 || r.Counts.Unfinished != 0 {
					t.Errorf("counts %+v: want the four that waited to be cancelled", r.Counts)
				}
				s, err := svc.Session(t.Context(), 0)
				if err != nil {
					t.Fatal(err)
				}
				if held, err := s.Try(t.Context(), &drivers.Lease{Key: "test:0", TTL: time.Second}); !held || err != nil {
					t.Errorf("the key is not free after the run: %v, %v", held, err)
				}
			})
		})
	}
}

func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := plan("memory", "mutex")
		p.Hold, p.Warmup, p.Duration = 10*ms, time.Second, 2*time.Second
		phases := map[Phase]int{}
		last := Snapshot{}
		_, err := (&Run{Plan: p, Service: open(t, p), Prefix: "test:", Progress: func(s Snapshot) {
			phases[s.Phase]++
			if s.Acquired < last.Acquired {
				t.Errorf("%d grants after %d", s.Acquired, last.Acquired)
			}
			last = s
		}}).Do(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if phases[PhaseWarmup] < 3 || phases[PhaseMeasure] < 7 || last.Acquired < 250 {
			t.Errorf("phases %v, at last %d grants", phases, last.Acquired)
		}
	})
}

func TestRefusesBadPlans(t *testing.T) {
	p := plan("memory", "mutex")
	p.Clients = 0
	var field *spec.FieldError
	if _, err := (&Run{Plan: p, Service: open(t, plan("memory", "mutex"))}).Do(t.Context()); !errors.As(err, &field) {
		t.Errorf("0 clients: %v", err)
	}
}

func TestMachineShare(t *testing.T) {
	for _, tc := range []struct {
		name         string
		before       reading
		after        reading
		want, stolen float64
	}{
		{"half", reading{busy: 10, capacity: 100}, reading{busy: 11, capacity: 102}, 0.5, 0},
		{"a quarter stolen", reading{busy: 10, stolen: 3, capacity: 100}, reading{busy: 13, stolen: 4, capacity: 104}, 0.75, 0.25},
		{"idle time runs backwards", reading{busy: 10, capacity: 100}, reading{busy: 10.02, stolen: 1, capacity: 100.01}, 1, 1},
		{"busy time runs backwards", reading{busy: 10, capacity: 100}, reading{busy: 9.99, capacity: 100.01}, 0, 0},
		{"rounding", reading{busy: 12345.67, capacity: 98765.43}, reading{busy: 12345.68 + 1e-10, capacity: 98765.44}, 1, 0},
		{"nothing between", reading{busy: 10, capacity: 100}, reading{busy: 10, capacity: 100}, -1, 0},
		{"unknown", reading{}, reading{}, -1, 0},
	} {
		r := healthy()
		tc.after.at = time.Second
		if judgeGenerator(r, &tc.before, &tc.after); r.Generator.Machine != tc.want || r.Generator.Stolen != tc.stolen {
			t.Errorf("%s: %v, %v stolen; want %v, %v", tc.name, r.Generator.Machine, r.Generator.Stolen, tc.want, tc.stolen)
		}
	}
}

// uncleaned is a service whose Clean fails, so many times or, if that is negative, always.
type uncleaned struct {
	drivers.Service
	err   error
	times *int
}

func (u uncleaned) Unwrap() drivers.Service { return u.Service }

func (u uncleaned) Clean(ctx context.Context, keys []string) error {
	if *u.times == 0 {
		c, _ := drivers.As[drivers.Cleaner](u.Service)
		return c.Clean(ctx, keys)
	}
	*u.times--
	return u.err
}

// TestUncleaned: keys that stay on a server of the user's are worth a warning, and those that died with ours are not. A
// server that restarts or loads its data is asked again, one that hangs once more, and one that refuses is not.
func TestUncleaned(t *testing.T) {
	fails := func(class drivers.Class, text string) error {
		return &drivers.Error{Class: class, Op: "clean", Err: errors.New(text)}
	}
	for _, test := range []struct {
		server string
		err    error
		times  int
		asked  int // before it gives up; 0: it does not matter
		warned bool
	}{
		{"private", fails(drivers.ClassConnect, "refused"), -1, 1, false},
		{"private", fails(drivers.ClassClosed, "broken pipe"), -1, 1, false},
		{"private", fails(drivers.ClassTimeout, "no reply"), -1, 1, false},
		{"private", fails(drivers.ClassServer, "CLUSTERDOWN The cluster is down"), -1, 1, true},
		{"external", fails(drivers.ClassConnect, "refused"), -1, 0, true},
		{"external", fails(drivers.ClassAuth, "NOPERM"), -1, 1, true},
		{"external", fails(drivers.ClassConnect, "refused"), 3, 3, false},
		{"external", fails(drivers.ClassServer, "LOADING Redis is loading the dataset in memory"), 4, 4, false},
		{"external", fails(drivers.ClassTimeout, "no reply"), 1, 1, false},
		{"external", fails(drivers.ClassTimeout, "no reply"), -1, 2, true},
		{"external", &drivers.Error{Class: drivers.ClassConnect, Op: "clean", Err: os.ErrDeadlineExceeded}, -1, 2, true},
	} {
		p := plan("memory", "mutex")
		p.Server, p.Hold, p.Duration = test.server, ms, 10*ms
		times := test.times
		gone := func(s drivers.Service) drivers.Service { return uncleaned{s, test.err, &times} }
		bubble(t, p, gone, func(t *testing.T, r *results.Record) {
			warned := strings.Contains(strings.Join(r.Warnings, "\n"), "deleting the run's keys: clean: ")
			if asked := test.times - times; warned != test.warned || test.asked > 0 && asked != test.asked {
				t.Errorf("%s, %v: it failed %d times, warnings %q", test.server, test.err, asked, r.Warnings)
			}
		})
	}
}

// A trait of a design has its field in the record. How many sessions a service can take is no trait of its design.
func TestRecordHasEveryTrait(t *testing.T) {
	for trait := range reflect.TypeFor[drivers.Traits]().Fields() {
		if trait.Name == "MaxSessions" {
			continue
		}
		var claims drivers.Traits
		reflect.ValueOf(&claims).Elem().FieldByIndex(trait.Index).SetBool(true)
		got := map[string]bool{}
		for field, value := range reflect.ValueOf(Recorded(claims)).Fields() {
			if value.Bool() {
				got[field.Name] = true
			}
		}
		if len(got) != 1 || !got[trait.Name] {
			t.Errorf("%s: the record has %v", trait.Name, got)
		}
	}
}

// TestRecordIsWhole: what the caller knows is in the record, which lacks nothing.
func TestRecordIsWhole(t *testing.T) {
	p := plan("memory", "mutex")
	p.Hold, p.Duration = ms, 10*ms
	synctest.Test(t, func(t *testing.T) {
		r, err := (&Run{Plan: p, Service: open(t, p), Prefix: "test:", Record: results.Record{
			Run: "run", Cell: 2, Trial: 3, Env: results.Env{Lockbench: "v1", Go: "go", OS: "os", Arch: "arch", CPUs: 1, GOMAXPROCS: 1},
			Server: results.Server{Name: "not asked", Addr: "addr", Persistence: "none"}, Warnings: []string{"known before"},
		}}).Do(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Validate(); err != nil {
			t.Error(err)
		}
		s := r.Server
		if r.Run != "run" || r.Cell != 2 || r.Trial != 3 || r.Env.Lockbench != "v1" || s.Name != "memory" || s.Addr != "addr" ||
			s.Persistence != "none" || s.Kind != p.Server || !slices.Contains(r.Warnings, "known before") {
			t.Errorf("%+v, %+v, %q", r.Env, s, r.Warnings)
		}
	})
}
