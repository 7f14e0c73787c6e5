package workloads

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results"
)

// hung is a service whose server is gone from a time on, or until another: each request takes as long as the driver's IO
// time-out, and has no effect.
type hung struct {
	drivers.Service
	from, to time.Time // a zero to is never
	io       time.Duration
	err      error // nil: a time-out
}

type hungSession struct {
	drivers.Session
	hung
}

func (h hung) Unwrap() drivers.Service { return h.Service }

func (h hung) Clean(context.Context, []string) error { return h.answer() }

func (h hung) Inspect(context.Context) (drivers.Server, drivers.Usage, error) {
	return drivers.Server{}, drivers.Usage{}, h.answer()
}

func (h hungSession) Unwrap() drivers.Session { return h.Session }

func (h hung) Session(ctx context.Context, id int) (drivers.Session, error) {
	s, err := h.Service.Session(ctx, id)
	return hungSession{s, h}, err
}

func (h hung) answer() error {
	if now := time.Now(); now.Before(h.from) || !h.to.IsZero() && now.After(h.to) {
		return nil
	}
	time.Sleep(h.io)
	return cmp.Or(h.err, error(&drivers.Error{Class: drivers.ClassTimeout, Op: "test", Err: context.DeadlineExceeded}))
}

func (h hungSession) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	if err := h.answer(); err != nil {
		return false, err
	}
	return h.Session.Try(ctx, l)
}

func (h hungSession) Release(ctx context.Context, l *drivers.Lease) (bool, error) {
	if err := h.answer(); err != nil {
		return false, err
	}
	return h.Session.Release(ctx, l)
}

// TestDeadServer is stopped when nothing has come from the server for a while: it ends within one more time-out of a request,
// whatever the clients are in, and has what was measured before.
func TestDeadServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := plan("memory", "mutex")
		p.Clients, p.Keys, p.Hold, p.Duration = 8, 100, ms, time.Hour
		gone := time.Now().Add(3 * time.Second)
		const patience, io = 7 * time.Second, 5 * time.Second
		ctx, stop := context.WithTimeout(t.Context(), time.Until(gone)+patience)
		defer stop()
		r, err := (&Run{Plan: p, Service: hung{Service: open(t, p), from: gone, io: io}, Prefix: "test:"}).Do(ctx)
		if err != nil {
			t.Fatal(err)
		}
		// Each client ends a failed acquisition or release, and the release that follows an unknown outcome.
		if took := time.Since(gone); took > patience+3*io+progressEvery {
			t.Errorf("it went on for %v without a server", took)
		}
		if r.Trial = 1; r.Partial != "interrupted" || r.Counts.Acquired == 0 || r.Counts.Unknown+r.Counts.ReleaseError == 0 || r.Validate() != nil {
			t.Errorf("partial %q, counts %+v, %v", r.Partial, r.Counts, r.Validate())
		}
	})
}

// TestHungServer: a run whose server hangs ends one I/O time-out after its window, and cleaning takes two more.
func TestHungServer(t *testing.T) {
	const io = 3 * time.Second
	p := plan("memory", "mutex")
	p.Server, p.Clients, p.Keys, p.Hold, p.Duration = "external", 8, 8, ms, time.Second
	var began time.Time
	gone := func(s drivers.Service) drivers.Service {
		began = time.Now()
		return hung{Service: s, from: began.Add(700 * ms), io: io}
	}
	bubble(t, p, gone, func(t *testing.T, r *results.Record) {
		if r.Counts.Acquired == 0 {
			t.Error("the server has never answered")
		}
		if most := p.Duration + 3*io + 100*ms; time.Since(began) > most {
			t.Errorf("the run took %v, want at most %v", time.Since(began), most)
		}
		if warnings := strings.Join(r.Warnings, "\n"); !strings.Contains(warnings, "deleting the run's keys: ") {
			t.Errorf("nothing says that keys may be left: %q", warnings)
		}
	})
}

// impatient is a service that ends each wait for a lock after 50 ms, as a limit of its user does.
type impatient struct{ drivers.Service }

func (s impatient) Traits() drivers.Traits {
	t := s.Service.Traits()
	t.Waits = true
	return t
}

type impatientSession struct{ drivers.Session }

func (s impatient) Session(ctx context.Context, id int) (drivers.Session, error) {
	one, err := s.Service.Session(ctx, id)
	return impatientSession{one}, err
}

func (impatientSession) Wait(context.Context, *drivers.Lease) error {
	time.Sleep(50 * ms)
	return &drivers.Error{Class: drivers.ClassEnded, Op: "wait", Err: errors.New("lock_timeout")}
}

func (impatientSession) Leave(context.Context, *drivers.Lease) error { return nil }

// TestFailedWaits: what clients spent in a wait that failed is not counted twice, as failing and as waiting.
func TestFailedWaits(t *testing.T) {
	p := plan("memory", "mutex")
	p.Clients, p.Keys, p.Hold, p.Duration, p.Wait = 4, 1, 300*ms, 10*time.Second, "native"
	bubble(t, p, func(s drivers.Service) drivers.Service { return impatient{s} }, func(t *testing.T, r *results.Record) {
		if l := r.Limit(); l.Failing < 0.7 || l.Waiting > 0.05 || l.Failing+l.Waiting+l.Holding+l.Requests > 1.01 {
			t.Errorf("failing %.2f, waiting %.2f, holding %.2f, in requests %.2f", l.Failing, l.Waiting, l.Holding, l.Requests)
		}
	})
}

// TestStandingErrors: a load ends soon where no request can succeed until somebody changes the server, and not where
// one may: after another error, or while a fail-over makes a replica of a server that has granted locks.
func TestStandingErrors(t *testing.T) {
	for _, tt := range []struct {
		class drivers.Class
		from  time.Duration
		ends  bool
	}{
		{drivers.ClassFull, 0, true},
		{drivers.ClassFull, 3 * time.Second, true},
		{drivers.ClassAuth, 3 * time.Second, true},
		{drivers.ClassReadOnly, 0, true},
		{drivers.ClassReadOnly, 3 * time.Second, false},
		{drivers.ClassServer, 0, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := plan("memory", "mutex")
			p.Clients, p.Keys, p.Hold, p.Duration = 8, 100, ms, 20*time.Second
			begin := time.Now()
			failure := &drivers.Error{Class: tt.class, Op: "put", Err: errors.New("add room")}
			service := hung{Service: open(t, p), from: begin.Add(tt.from), to: begin.Add(18 * time.Second), err: failure}
			r, err := (&Run{Plan: p, Service: service, Prefix: "test:"}).Do(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			ended := strings.HasSuffix(r.Partial, "("+string(tt.class)+")") && r.Elapsed < tt.from+standingTime+time.Second
			if whole := r.Elapsed == p.Duration; ended != tt.ends || whole == tt.ends {
				t.Errorf("%s from %v: %v of %v, partial %q", tt.class, tt.from, r.Elapsed, p.Duration, r.Partial)
			}
		})
	}
}
