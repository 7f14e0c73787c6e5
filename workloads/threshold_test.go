package workloads

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
)

func TestExceeded(t *testing.T) {
	for _, test := range []struct {
		max              string
		failed, attempts int64
		want             string
	}{
		{"", 1000, 1000, ""},
		{"100", 99, 99, ""},
		{"100", 100, 5000, "stopped: 100 errors of 5,000 acquisitions; -max-errors 100 is reached"},
		{"1", 1, 1, "stopped: 1 error of 1 acquisition; -max-errors 1 is reached"},
		{"5%", 19, 19, ""}, // too few to tell
		{"5%", 1, 20, ""},  // as many are allowed
		{"5%", 212, 3000, "stopped: 212 errors of 3,000 acquisitions are over -max-errors 5%"},
		{"5%", 150, 3000, ""},
		{"5%", 1_234_567, 3_000_000, "stopped: 1,234,567 errors of 3,000,000 acquisitions are over -max-errors 5%"},
	} {
		m, err := spec.ParseMaxErrors(test.max)
		if err != nil {
			t.Fatal(err)
		}
		if got := exceeded(m, test.failed, test.attempts); got != test.want {
			t.Errorf("%d of %d with %q: %q, want %q", test.failed, test.attempts, test.max, got, test.want)
		}
	}
}

// TestMaxErrors stops a run that goes wrong from some time on, and lets one go on in which errors are rare.
func TestMaxErrors(t *testing.T) {
	for _, test := range []struct {
		max    string
		often  int64 // each so many requests fail
		stops  bool
		warmup time.Duration
	}{
		{"10", 5, true, 0},
		{"10", 5, true, time.Minute}, // in the warm-up already
		{"10%", 5, true, 0},
		{"30%", 5, false, 0},
		{"1000", 1 << 40, false, 0},
	} {
		t.Run(test.max, func(t *testing.T) {
			p := plan("memory", "mutex")
			p.Clients, p.Keys, p.Hold, p.Think, p.Warmup, p.Duration, p.MaxErrors = 4, 100, ms, 5*ms, test.warmup, 20*time.Second, spec.Must(spec.ParseMaxErrors(test.max))
			began := time.Time{}
			bubble(t, p, func(s drivers.Service) drivers.Service {
				began = time.Now()
				fault := errors.New("reset by peer")
				return &faulty{Service: s, try: every(test.often, fault), release: every(1<<40, nil)}
			}, func(t *testing.T, r *results.Record) {
				stopped := strings.HasPrefix(r.Partial, "stopped: ") && strings.Contains(r.Partial, " -max-errors "+test.max)
				if stopped != test.stops || !test.stops && r.Partial != "" {
					t.Errorf("partial %q", r.Partial)
				}
				took := time.Since(began)
				if test.stops && took > 2*time.Second || !test.stops && took < p.Duration {
					t.Errorf("it took %v", took)
				}
				if test.warmup > 0 && (r.Elapsed != 0 || r.Counts.Acquired != 0) {
					t.Errorf("it was stopped in the warm-up, with a window of %v", r.Elapsed)
				}
				if test.stops && r.Counts.Unfinished > 0 {
					t.Errorf("%d unfinished: what a stop cuts short is canceled", r.Counts.Unfinished)
				}
			})
		})
	}
}

// TestMaxErrorsOfShortRun looks once more when the window closes, by time or by -n, before the first look has come.
func TestMaxErrorsOfShortRun(t *testing.T) {
	for _, ops := range []int64{0, 50} {
		p := plan("memory", "mutex")
		p.Hold, p.Duration, p.Ops, p.MaxErrors = ms, 200*ms, ops, spec.MaxErrors{Count: 5}
		bubble(t, p, func(s drivers.Service) drivers.Service {
			return &faulty{Service: s, try: every(3, errors.New("reset by peer")), release: every(1<<40, nil)}
		}, func(t *testing.T, r *results.Record) {
			if !strings.Contains(r.Partial, "-max-errors 5 is reached") || r.Elapsed > p.Duration {
				t.Errorf("-n %d: partial %q after %v with errors %v", ops, r.Partial, r.Elapsed, r.Counts.Errors)
			}
		})
	}
}

// hung is a service whose server is gone from a time on: each request takes as long as the driver's IO time-out.
type hung struct {
	drivers.Service
	from time.Time
	io   time.Duration
}

type hungSession struct {
	drivers.Session
	hung
}

func (h hung) Session(ctx context.Context, id int) (drivers.Session, error) {
	s, err := h.Service.Session(ctx, id)
	return hungSession{s, h}, err
}

func (h hung) answer() error {
	if time.Now().Before(h.from) {
		return nil
	}
	time.Sleep(h.io)
	return context.DeadlineExceeded
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

// TestMaxErrorsOfDeadServer stops within one more time-out of a request, whatever the clients are in.
func TestMaxErrorsOfDeadServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := plan("memory", "mutex")
		p.Clients, p.Keys, p.Hold, p.Duration, p.MaxErrors = 8, 100, ms, time.Hour, spec.MaxErrors{Count: 5}
		gone := time.Now().Add(3 * time.Second)
		r, err := (&Run{Plan: p, Service: hung{open(t, p), gone, 5 * time.Second}, Prefix: "test:"}).Do(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		// Found out 5 s after the server went; then each client ends a failed acquisition or release, and the release
		// that follows an unknown outcome.
		if took := time.Since(gone); took > 4*5*time.Second+progressEvery {
			t.Errorf("it went on for %v without a server", took)
		}
		if !strings.Contains(r.Partial, "-max-errors 5") || r.Counts.Acquired == 0 {
			t.Errorf("partial %q, counts %+v", r.Partial, r.Counts)
		}
	})
}
