package workloads

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
)

// neighbour answers a probe in the time that it is told, and counts what the server would.
type neighbour struct {
	began   time.Time
	takes   func(since time.Duration) (time.Duration, error)
	answers atomic.Int64
}

func (n *neighbour) Probe(context.Context) error {
	d, err := n.takes(time.Since(n.began))
	time.Sleep(d)
	n.answers.Add(1)
	return err
}

// counted is a service whose server counts three commands a probe and seven a look, and two a lock.
type counted struct {
	drivers.Service
	to    *neighbour
	looks atomic.Int64
	tries atomic.Int64
}

type countedSession struct {
	drivers.Session
	*counted
}

func (c *counted) Session(ctx context.Context, id int) (drivers.Session, error) {
	s, err := c.Service.Session(ctx, id)
	return countedSession{s, c}, err
}

func (s countedSession) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	s.tries.Add(2)
	return s.Session.Try(ctx, l)
}

func (c *counted) Inspect(context.Context) (drivers.Server, drivers.Usage, error) {
	n := 7*c.looks.Add(1) + 3*c.to.answers.Load() + c.tries.Load()
	return drivers.Server{}, drivers.Usage{CPU: -1, Commands: n, BytesIn: 10 * n, BytesOut: -1}, nil
}

// probed runs a plan with a neighbour, whose clock starts with the service.
func probed(t *testing.T, p spec.Plan, takes func(time.Duration) (time.Duration, error), check func(*results.Record, *neighbour)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		to := &neighbour{began: time.Now(), takes: takes}
		r, err := (&Run{Plan: p, Service: &counted{Service: open(t, p), to: to}, Prefix: "test:", Neighbour: to}).Do(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		check(r, to)
	})
}

func probePlan() spec.Plan {
	p := plan("memory", "mutex")
	p.Hold, p.Think, p.Warmup, p.Duration, p.Probe = 10*ms, 5*ms, time.Second, 2*time.Second, 100
	return p
}

// TestProbe: the neighbour answers in 1 ms while the server is idle and in 4 ms under load, and its requests are no part
// of what a lock costs.
func TestProbe(t *testing.T) {
	p := probePlan()
	var quiet *results.Record
	without := p
	without.Probe = 0
	probed(t, without, nil, func(r *results.Record, _ *neighbour) { quiet = r })
	probed(t, p, func(since time.Duration) (time.Duration, error) {
		if since < 500*ms { // 50 probes, 10 ms apart
			return ms, nil
		}
		return 4 * ms, nil
	}, func(r *results.Record, to *neighbour) {
		idle, load := r.Latency[results.ProbeIdle], r.Latency[results.Probe]
		if idle.Count != 50 || load.Count != 200 || to.answers.Load() < 50+100+200 || to.answers.Load() > 50+100+200+1 {
			t.Errorf("%d idle probes, %d under load, %d answers", idle.Count, load.Count, to.answers.Load())
		}
		near(t, "idle", float64(idle.P50), float64(ms), 0.001)
		near(t, "under load", float64(load.P50), float64(4*ms), 0.001)
		near(t, "commands a lock", r.Cost.Commands, quiet.Cost.Commands, 0.02)
		near(t, "bytes a lock", r.Cost.BytesIn, quiet.Cost.BytesIn, 0.02)
		near(t, "commands a lock", r.Cost.Commands, 2, 0.02)
		near(t, "Little's sum", r.Bound.Little, 1, 0.01)
		if len(r.Counts.Errors) != 0 || r.Partial != "" {
			t.Errorf("errors %v, partial %q", r.Counts.Errors, r.Partial)
		}
	})
}

// TestProbeOmitsNothing: the server hangs for half a second of the two. Of 200 probes 50 were due meanwhile, and each
// tells what was left of it: their latencies are spread evenly up to 500 ms.
func TestProbeOmitsNothing(t *testing.T) {
	for name, at := range map[string]time.Duration{"within": 2 * time.Second, "at the end": 3 * time.Second} {
		t.Run(name, func(t *testing.T) {
			probed(t, probePlan(), func(since time.Duration) (time.Duration, error) {
				if since -= 500 * ms; since >= at-505*ms && since < at { // the load began 500 ms after the service
					return at - since, nil
				}
				return ms / 10, nil
			}, func(r *results.Record, _ *neighbour) {
				l := r.Latency[results.Probe]
				if l.Count != 200 {
					t.Errorf("%d probes, want one each 10 ms", l.Count)
				}
				near(t, "p90", float64(l.P90), float64(300*ms), 0.05) // 25 % are spread over 500 ms
				near(t, "max", float64(l.Max), float64(500*ms), 0.02)
			})
		})
	}
}

// TestProbeBegins: who is kept waiting by the probe before it has waited for the server, and who is woken late has not.
func TestProbeBegins(t *testing.T) {
	for _, c := range []struct {
		name                  string
		due, free, sent, want time.Duration
	}{
		{"on time", 10 * ms, 4 * ms, 10 * ms, 10 * ms},
		{"a late timer", 10 * ms, 4 * ms, 11 * ms, 11 * ms},
		{"after a slow one", 10 * ms, 30 * ms, 31 * ms, 10 * ms},
	} {
		if got := begins(c.due, c.free, c.sent); got != c.want {
			t.Errorf("%s: measured from %v, want %v", c.name, got, c.want)
		}
	}
}

// TestProbeFails: failed probes are errors of their own class, and no figure of the lock's.
func TestProbeFails(t *testing.T) {
	p := probePlan()
	n := 0
	probed(t, p, func(since time.Duration) (time.Duration, error) {
		if n++; n%2 == 0 {
			return ms, errors.New("no such table")
		}
		return ms, nil
	}, func(r *results.Record, _ *neighbour) {
		if l := r.Latency[results.Probe]; l.Count != 100 || r.Counts.Errors["probe"] != 100 || len(r.Counts.Errors) != 1 {
			t.Errorf("%d probes, errors %v, want 100 of each", l.Count, r.Counts.Errors)
		}
		if s := r.Counts.ErrorSample["probe"]; !strings.Contains(s, "no such table") {
			t.Errorf("sample %q", s)
		}
		if r.Partial != "" || len(r.Warnings) > 0 {
			t.Errorf("partial %q, warnings %q", r.Partial, r.Warnings)
		}
	})
}

// TestNote: a failed probe is none of the lock's requests that failed.
func TestNote(t *testing.T) {
	var log errorLog
	log.note(probeClass, errors.New("no such table"), true)
	log.add("acquire", errors.New("refused"), true)
	if log.total() != 1 || len(log.samples()) != 2 {
		t.Errorf("%d errors; samples %v", log.total(), log.samples())
	}
}

// TestSlowIdleProbes: a neighbour that takes 300 ms does not keep the load waiting for 50 of its answers.
func TestSlowIdleProbes(t *testing.T) {
	p := probePlan()
	p.Warmup, p.Duration, p.Probe = 0, 10*ms, 1
	probed(t, p, func(time.Duration) (time.Duration, error) { return 300 * ms, nil }, func(r *results.Record, to *neighbour) {
		if took := time.Since(to.began); took > 2*time.Second {
			t.Errorf("it took %v", took)
		}
		if l := r.Latency[results.ProbeIdle]; l.Count != 4 || l.Max < 900*ms {
			t.Errorf("idle %+v, want four, the last of which was due 60 ms after the first", l)
		}
		if l := r.Latency[results.Probe]; l.Count != 1 || l.Min < 299*ms {
			t.Errorf("%+v, want the one probe of the window, answered after it", l)
		}
	})
}
