// Holders that die: what is planted has to be seen, and to be told from what is not.

package workloads

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/workloads/matrix"
)

// TestRecovery lets every holder die: the next one gets the lock when the dead one's lease is over, and looks for it
// every millisecond.
func TestRecovery(t *testing.T) {
	for _, hold := range []time.Duration{0, 10 * ms} {
		p := plan("memory", "mutex")
		p.Clients, p.Crash, p.Hold, p.TTL, p.Duration = 3, 1, hold, 50*ms, time.Second
		bubble(t, p, nil, func(t *testing.T, r *results.Record) {
			n := r.Counts
			if n.Crashed != n.Acquired || n.Acquired < 19 || n.Released+n.Lost != 0 {
				t.Errorf("counts %+v: want 20 that died", n)
			}
			l := r.Latency[results.Recovery]
			if rest := p.TTL - hold; l.Count != n.Acquired-1 || l.Min < rest-rest/500 || l.Max > rest+ms+rest/500 {
				t.Errorf("hold %v: recovery %+v, want %d of %v", hold, l, n.Acquired-1, rest)
			}
			if h, ok := r.Latency[results.Handoff]; ok {
				t.Errorf("hand-offs %+v from the dead", h)
			}
			if _, ok := r.Latency[results.Release]; ok {
				t.Error("the dead have released")
			}
			if r.Safety.Violations != 0 || r.Safety.LostUpdates != 0 {
				t.Errorf("safety %+v: nobody believes to hold what a dead client held", r.Safety)
			}
			near(t, "Little's sum", r.Bound.Little, 1, 0.001)
		})
	}
}

// TestSomeCrash kills one holder in five: the others hand the lock over as always.
func TestSomeCrash(t *testing.T) {
	for _, way := range []string{"poll", "pubsub", "queue"} {
		p := plan("memory", "mutex")
		p.Clients, p.Wait, p.Handover, p.Crash, p.Hold, p.Think, p.TTL, p.Duration = 3, way, "release", 0.2, 2*ms, ms, 50*ms, 20*time.Second
		bubble(t, p, nil, func(t *testing.T, r *results.Record) {
			n := r.Counts
			near(t, way+": share of the dead", float64(n.Crashed)/float64(n.Acquired), 0.2, 0.2)
			if n.Acquired != n.Released+n.Crashed || r.Safety.Violations != 0 {
				t.Errorf("%s: %+v, %+v", way, n, r.Safety)
			}
			l, h := r.Latency[results.Recovery], r.Latency[results.Handoff]
			if l.Count < n.Crashed-1 || l.Count > n.Crashed+1 || l.Min < 47*ms {
				t.Errorf("%s: recovery %+v of %d dead", way, l, n.Crashed)
			}
			if h.Count < (n.Released-1)*2/3 || h.Max > 3*ms {
				t.Errorf("%s: hand-offs %+v of %d released", way, h, n.Released)
			}
			near(t, way+": Little's sum", r.Bound.Little, 1, 0.001)
		})
	}
}

// TestSpared: a hold that the end of the run cuts short, or that its watchdog has lost, ends in no death.
func TestSpared(t *testing.T) {
	p := plan("memory", "mutex")
	p.Crash, p.Hold, p.Duration = 1, time.Hour, time.Second
	bubble(t, p, nil, func(t *testing.T, r *results.Record) {
		if n := r.Counts; n.Acquired != 1 || n.Released != 1 || n.Crashed != 0 {
			t.Errorf("at the end: counts %+v", n)
		}
	})
	p = overlong()
	p.Crash = 1
	bubble(t, p, func(svc drivers.Service) drivers.Service {
		return &able{Service: svc, renew: func(s drivers.Session, l *drivers.Lease) (bool, error) {
			renewal(s, l)
			return false, io.ErrUnexpectedEOF
		}}
	}, func(t *testing.T, r *results.Record) {
		// The end of the run may cut the last hold short at the moment at which it is lost.
		if n := r.Counts; n.LostRenewal < n.Acquired-1 || n.Crashed != 0 {
			t.Errorf("lost: counts %+v", n)
		}
	})
}

// immortal is a service whose locks stay for ever.
type immortal struct{ drivers.Service }

func (s immortal) Unwrap() drivers.Service { return s.Service }

func (s immortal) Traits() drivers.Traits {
	t := s.Service.Traits()
	t.Expires = false
	return t
}

type immortalSession struct{ drivers.Session }

func (s immortal) Session(ctx context.Context, id int) (drivers.Session, error) {
	inner, err := s.Service.Session(ctx, id)
	return immortalSession{inner}, err
}

func (s immortalSession) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	l.TTL = 0
	return s.Session.Try(ctx, l)
}

// TestDeadlock: a lock without an expiry stays with its dead holder, and everybody waits for it until the run ends. The
// keys are deleted all the same.
func TestDeadlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := plan("memory", "mutex")
		p.Clients, p.Keys, p.Crash, p.Hold, p.Timeout, p.Duration = 5, 2, 1, 10*ms, 0, time.Second
		svc := immortal{open(t, p)}
		r, err := (&Run{Plan: p, Service: svc, Prefix: "test:"}).Do(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if n := r.Counts; n.Acquired != 2 || n.Crashed != 2 || n.Unfinished != 5 || r.Elapsed != time.Second {
			t.Errorf("counts %+v in %v: want both keys to be lost at once", n, r.Elapsed)
		}
		if !strings.Contains(strings.Join(r.Warnings, "\n"), "outlives its holder") {
			t.Errorf("warnings %q", r.Warnings)
		}
		s, _ := svc.Session(t.Context(), 0)
		if held, err := s.Try(t.Context(), &drivers.Lease{Key: "test:0"}); !held || err != nil {
			t.Errorf("the key is still there after the run: %v, %v", held, err)
		}

		p.Ops, p.Duration = 100, 0
		_, err = (&Run{Plan: p, Service: svc, Prefix: "test:"}).Do(t.Context())
		if _, ok := errors.AsType[*matrix.Misfit](err); !ok || !strings.Contains(err.Error(), "memory mutex -crash 100%: ") {
			t.Errorf("with -n it would never end, and nobody says so: %v", err)
		}
	})
}

// mortal is a service whose holds are its sessions': they last until a session is closed or crashes.
type mortal struct {
	drivers.Service
	able            bool // the sessions can crash
	crashed, opened atomic.Int64
	refuse          int64 // so many sessions after the first ones
}

func (m *mortal) Unwrap() drivers.Service { return m.Service }

func (m *mortal) Traits() drivers.Traits {
	t := m.Service.Traits()
	t.Session = true
	return t
}

func (m *mortal) Session(ctx context.Context, id int) (drivers.Session, error) {
	n := m.opened.Add(1)
	if n > 2 && n <= 2+m.refuse {
		return nil, errors.New("too many sessions")
	}
	if n > 2 {
		time.Sleep(5 * ms)
	}
	s, err := m.Service.Session(ctx, id)
	if m.able {
		return crasher{mortalSession{s}, m}, err
	}
	return mortalSession{s}, err
}

type mortalSession struct{ drivers.Session }

func (s mortalSession) Unwrap() drivers.Session { return s.Session }

type crasher struct {
	mortalSession
	m *mortal
}

func (c crasher) Crash() { c.m.crashed.Add(1) }

// TestCrashers: a session that has something of its own is told to crash, in whatever way its client waits, and the
// client goes on with another one as soon as it gets one.
func TestCrashers(t *testing.T) {
	for _, way := range []string{"poll", "queue"} {
		p := plan("memory", "mutex")
		p.Clients, p.Wait, p.Handover, p.Crash, p.Hold, p.TTL, p.Duration = 2, way, "release", 0.5, 10*ms, 20*ms, time.Second
		var m *mortal
		bubble(t, p, func(s drivers.Service) drivers.Service {
			m = &mortal{Service: s, able: true, refuse: 3}
			return m
		}, func(t *testing.T, r *results.Record) {
			n := r.Counts
			if m.crashed.Load() < n.Crashed || m.crashed.Load() > n.Crashed+1 || n.Crashed < 5 {
				t.Errorf("%s: %d sessions have crashed, and %+v", way, m.crashed.Load(), n)
			}
			if got, want := m.opened.Load(), 2+m.crashed.Load()+m.refuse; got != want {
				t.Errorf("%s: %d sessions were opened, want %d", way, got, want)
			}
			if n.Errors["other"] != 3 || !strings.Contains(n.ErrorSample["other"], "session: after a crash: too many sessions") {
				t.Errorf("%s: errors %v, %v: want the three sessions that were refused", way, n.Errors, n.ErrorSample)
			}
			near(t, "Little's sum", r.Bound.Little, 1, 0.01) // but for the pauses after errors
		})
	}
	p := plan("memory", "mutex")
	p.Crash = 0.01
	want := "memory mutex -crash 1%: its sessions keep their locks"
	_, err := (&Run{Plan: p, Service: &mortal{Service: open(t, p)}, Prefix: "test:"}).Do(t.Context())
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}
