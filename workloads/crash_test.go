package workloads

import (
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results"
)

// TestCrashKeepsRecord has a driver crash under one of its clients: the run ends, and what was measured is kept.
func TestCrashKeepsRecord(t *testing.T) {
	fine := every(1, nil)
	crash := func(n int64) error {
		if n == 1000 {
			panic("planted")
		}
		return nil
	}
	for name, f := range map[string]*faulty{
		"try":     {try: crash, release: fine},
		"release": {try: fine, release: crash},
	} {
		t.Run(name, func(t *testing.T) {
			p := plan("memory", "mutex")
			p.Hold, p.Duration = time.Millisecond, time.Hour
			bubble(t, p, func(svc drivers.Service) drivers.Service {
				f.Service = svc
				return f
			}, func(t *testing.T, r *results.Record) {
				if !strings.Contains(r.Partial, "planted") || !strings.Contains(r.Partial, "crash_test.go:") {
					t.Errorf("partial: %q, want what has crashed and where", r.Partial)
				}
				if n := r.Counts; n.Acquired < 900 || n.Errors["panic"] != 1 || !strings.Contains(n.ErrorSample["panic"], "planted") {
					t.Errorf("%d acquired, errors %v %v, want 1 panic", n.Acquired, n.Errors, n.ErrorSample)
				}
			})
		})
	}
}

// outside is a service whose processes break, and use as much CPU time as there is.
type outside struct {
	drivers.Service
	looked int
	began  time.Time
}

func (o *outside) Broken() error {
	if o.looked++; o.looked > 40 {
		return errorText("adapter x: it has ended; it says so")
	}
	return nil
}

func (o *outside) CPU() []time.Duration { return []time.Duration{0, time.Since(o.began)} }

// The processes of a service are looked after: the run ends with the first that breaks, their CPU time is lockbench's, and one that
// has a whole core is named as the limit.
func TestOutside(t *testing.T) {
	p := plan("memory", "mutex")
	p.Hold, p.Duration = time.Millisecond, time.Hour
	bubble(t, p, func(svc drivers.Service) drivers.Service {
		return &outside{Service: svc, began: time.Now()}
	}, func(t *testing.T, r *results.Record) {
		if r.Partial != "adapter x: it has ended; it says so" || r.Elapsed > 12*time.Second {
			t.Errorf("partial after %v: %q", r.Elapsed, r.Partial)
		}
		if g := r.Generator; g.CPU < 1 || !g.Saturated || !g.OneCore() || !strings.Contains(g.Why, "a process of memory used 1.00 cores") {
			t.Errorf("used %.2f cores: %s", g.CPU, g.Why)
		}
	})
}

// TestErrorSampleIsShort keeps of a server's endless error no more than somebody may want to read.
func TestErrorSampleIsShort(t *testing.T) {
	p := plan("memory", "mutex")
	p.Duration = time.Second
	long := &drivers.Error{Class: drivers.ClassServer, Op: "test", Err: errorText(strings.Repeat("ä", 1<<20))}
	bubble(t, p, func(svc drivers.Service) drivers.Service {
		return &faulty{Service: svc, try: every(2, long), release: every(1, nil)}
	}, func(t *testing.T, r *results.Record) {
		if text := r.Counts.ErrorSample["server"]; len(text) > 2*maxErrorText || !strings.HasSuffix(text, "ä…") {
			t.Errorf("the sample has %d bytes and ends with %q", len(text), text[max(0, len(text)-20):])
		}
	})
}

type errorText string

func (e errorText) Error() string { return string(e) }
