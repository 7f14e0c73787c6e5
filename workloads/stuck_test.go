package workloads

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
)

// denying is a service of which the first requests fail: releases that are denied leave the lock, and attempts whose answer is lost
// have taken it.
type denying struct {
	drivers.Service
	releases, answers atomic.Int64 // how many are left to fail
}

type denyingSession struct {
	drivers.Session
	*denying
}

func (d *denying) Session(ctx context.Context, id int) (drivers.Session, error) {
	s, err := d.Service.Session(ctx, id)
	return denyingSession{s, d}, err
}

func (d *denying) Unwrap() drivers.Service { return d.Service }

func (s denyingSession) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	held, err := s.Session.Try(ctx, l)
	if held && s.answers.Add(-1) >= 0 {
		return false, errors.New("the answer is lost")
	}
	return held, err
}

func (s denyingSession) Release(ctx context.Context, l *drivers.Lease) (bool, error) {
	if s.releases.Add(-1) >= 0 {
		return false, errors.New("denied")
	}
	return s.Session.Release(ctx, l)
}

// TestStuckKeys has requests fail in the warm-up, so that keys are locked in the window and nothing there says why.
func TestStuckKeys(t *testing.T) {
	const none = "nothing was granted in the window: "
	for name, test := range map[string]struct {
		keys, clients     int
		wait              string
		hold, ttl         time.Duration
		releases, answers int64

		partial, warning string // how they begin; no warning and whole if empty
		stuck, early     int64
		errors           bool // are the limit
	}{
		"all": {keys: 4, clients: 16, wait: "poll", releases: 99, stuck: 4, early: 4, errors: true,
			partial: none + "requests that failed left all 4 keys locked; they, the pauses after them and the waits for those keys took 100 %"},
		"all clients come to one of many": {keys: 20, clients: 4, wait: "poll", releases: 1, stuck: 1, early: 1, errors: true,
			partial: none + "requests that failed left 1 of 20 keys locked"},
		"an answer": {keys: 1, clients: 4, wait: "poll", releases: 1, answers: 1, stuck: 1, early: 1, errors: true,
			partial: "nothing was granted: requests that failed left the only key locked"},
		"some of many": {keys: 100, clients: 4, wait: "none", releases: 5, stuck: 5, early: 5,
			warning: "requests that failed left 5 of 100 keys locked: the figures are those of the others"},
		"until the window": {keys: 4, clients: 16, wait: "poll", ttl: 100 * ms, releases: 4, early: 4},
		"taken back":       {keys: 1, clients: 4, wait: "poll", answers: 1, early: 1},
		"long holds": {keys: 1, clients: 2, wait: "poll", hold: 10 * time.Second,
			partial: none + "the locks of the warm-up were held to its end"},
	} {
		for _, pipelining := range []string{"", "batch"} {
			t.Run(name+pipelining, func(t *testing.T) {
				p := plan("memory", "mutex")
				p.Pipelining, p.Keys, p.Clients, p.Wait, p.Hold, p.Timeout, p.Think = pipelining, test.keys, test.clients, test.wait, max(ms, test.hold), 0, ms
				p.Warmup, p.Duration = 2*time.Second, time.Second
				if test.ttl > 0 {
					p.TTL = test.ttl
				}
				bubble(t, p, func(s drivers.Service) drivers.Service {
					d := &denying{Service: s}
					d.releases.Store(test.releases)
					d.answers.Store(test.answers)
					return d
				}, func(t *testing.T, r *results.Record) {
					n := r.Counts
					if test.partial == "" && r.Partial != "" || !strings.HasPrefix(r.Partial, test.partial) {
						t.Errorf("partial %q, want %q", r.Partial, test.partial)
					}
					warned := slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.HasPrefix(w, "requests that failed") })
					if test.warning != "" && !slices.Contains(r.Warnings, test.warning) || test.warning == "" && warned {
						t.Errorf("warnings %q, want %q", r.Warnings, test.warning)
					}
					if n.StuckKeys != test.stuck || n.EarlyErrors["other"] != test.early || n.Failed() != 0 {
						t.Errorf("%d keys are stuck, errors of the warm-up %v, of the window %v", n.StuckKeys, n.EarlyErrors, n.Errors)
					}
					if by := r.Limit().By; (by == results.ByErrors) != test.errors {
						t.Errorf("limited by %q", by)
					}
				})
			})
		}
	}
}

// TestHeldByRight: one client after another holds the key for long, as leaders do. An outage of 0.1 s, in which nobody releases,
// leaves nothing locked.
func TestHeldByRight(t *testing.T) {
	for _, hold := range []time.Duration{2 * time.Second, 30 * time.Second} {
		for _, timeout := range []time.Duration{0, time.Second} {
			p := plan("memory", "mutex")
			p.Clients, p.Hold, p.Poll, p.Timeout, p.Duration, p.TTL = 8, hold, 10*ms, timeout, 20*time.Second, time.Minute
			bubble(t, p, func(s drivers.Service) drivers.Service {
				begin := time.Now().Add(time.Second)
				return hung{Service: s, from: begin, to: begin.Add(100 * ms)}
			}, func(t *testing.T, r *results.Record) {
				if by := r.Limit().By; r.Counts.Failed() == 0 || r.Counts.StuckKeys > 0 || by == results.ByErrors || r.Partial != "" && hold < p.Duration {
					t.Errorf("%v %v: %d errors, %d keys stuck, limited by %q, partial %q", hold, timeout, r.Counts.Failed(), r.Counts.StuckKeys, by, r.Partial)
				}
			})
		}
	}
}

// TestNothingWanted: a window without a grant is whole if nobody asked for a lock.
func TestNothingWanted(t *testing.T) {
	thinking, rare := plan("memory", "mutex"), plan("memory", "mutex")
	thinking.Think = time.Hour
	rare.Rate, rare.Arrival = spec.Must(spec.ParseRate("0.1")), "constant"
	for _, p := range []spec.Plan{thinking, rare} {
		p.Warmup, p.Duration = time.Second, time.Second
		bubble(t, p, nil, func(t *testing.T, r *results.Record) {
			if r.Partial != "" || r.Counts.Acquired > 0 {
				t.Errorf("partial %q, counts %+v", r.Partial, r.Counts)
			}
		})
	}
}
