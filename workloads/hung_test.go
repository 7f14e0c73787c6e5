package workloads

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results"
)

// frozen is a service that answers until some moment and never again: each request fails at the I/O time-out.
type frozen struct {
	drivers.Service
	from time.Time
	io   time.Duration
}

type frozenSession struct {
	drivers.Session
	*frozen
}

func (f *frozen) Unwrap() drivers.Service { return f.Service }

func (f *frozen) Session(ctx context.Context, id int) (drivers.Session, error) {
	s, err := f.Service.Session(ctx, id)
	return frozenSession{s, f}, err
}

// wait returns what a request goes through before its answer.
func (f *frozen) wait() error {
	if time.Now().Before(f.from) {
		time.Sleep(ms)
		return nil
	}
	time.Sleep(f.io)
	return &drivers.Error{Class: drivers.ClassTimeout, Op: "test", Err: context.DeadlineExceeded}
}

func (f *frozen) Inspect(context.Context) (drivers.Server, drivers.Usage, error) {
	return drivers.Server{}, drivers.Usage{}, f.wait()
}

func (f *frozen) Clean(context.Context, []string) error { return f.wait() }

func (s frozenSession) Unwrap() drivers.Session { return s.Session }

func (s frozenSession) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	if err := s.wait(); err != nil {
		return false, err
	}
	return s.Session.Try(ctx, l)
}

func (s frozenSession) Release(ctx context.Context, l *drivers.Lease) (bool, error) {
	if err := s.wait(); err != nil {
		return false, err
	}
	return s.Session.Release(ctx, l)
}

// TestHungServer: a run whose server hangs ends one I/O time-out after its window, and cleaning takes two more.
func TestHungServer(t *testing.T) {
	const io = 3 * time.Second
	p := plan("memory", "mutex")
	p.Server, p.Clients, p.Keys, p.Hold, p.Duration = "external", 8, 8, ms, time.Second
	var began time.Time
	hang := func(s drivers.Service) drivers.Service {
		began = time.Now()
		return &frozen{Service: s, from: began.Add(700 * ms), io: io}
	}
	bubble(t, p, hang, func(t *testing.T, r *results.Record) {
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
