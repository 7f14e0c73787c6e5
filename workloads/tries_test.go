package workloads

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
)

// asked is a service that counts the requests for locks that reach it.
type asked struct {
	drivers.Service
	tries, passes atomic.Int64
}

func (a *asked) Unwrap() drivers.Service { return a.Service }

func (a *asked) Session(ctx context.Context, id int) (drivers.Session, error) {
	s, err := a.Service.Session(ctx, id)
	return askedSession{s, a}, err
}

type askedSession struct {
	drivers.Session
	*asked
}

func (s askedSession) Unwrap() drivers.Session { return s.Session }

func (s askedSession) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	s.tries.Add(1)
	return s.Session.Try(ctx, l)
}

// Pass implements drivers.Passer for clients of one room, where nobody else contends between the two steps.
func (s askedSession) Pass(ctx context.Context, from, to *drivers.Lease) (bool, error) {
	if owned, err := s.Session.Release(ctx, from); !owned || err != nil {
		return owned, err
	}
	s.passes.Add(1)
	return s.Session.Try(ctx, to)
}

// TestTriesReachTheServer: tries are the requests for a lock that the server has seen, one that a hand-over brought
// included, and what the local line refused is counted apart.
func TestTriesReachTheServer(t *testing.T) {
	loops := map[string]func(*spec.Plan){
		"closed":         func(p *spec.Plan) { p.Think = ms },
		"open":           func(p *spec.Plan) { p.Rate, p.Arrival = spec.Must(spec.ParseRate("120")), "constant" },
		"open, tries":    func(p *spec.Plan) { p.Rate, p.Arrival, p.TryOnly = spec.Must(spec.ParseRate("500")), "constant", 0.5 },
		"closed, tries":  func(p *spec.Plan) { p.Think, p.TryOnly = ms, 0.5 },
		"patience":       func(p *spec.Plan) { p.Think, p.Timeout = ms, 25*ms },
		"without a rush": func(p *spec.Plan) { p.Clients, p.Think = 1, ms },
	}
	for loop, change := range loops {
		for _, way := range []string{"release", "swap", "poll"} {
			t.Run(loop+", "+way, func(t *testing.T) {
				p := plan("memory", "mutex")
				p.Clients, p.Hold, p.Ops, p.Duration = 8, 10*ms, 300, 0
				if way != "poll" {
					p.Wait, p.Handover = "queue", way
				}
				change(&p)
				var server *asked
				bubble(t, p, func(s drivers.Service) drivers.Service {
					server = &asked{Service: s}
					return server
				}, func(t *testing.T, r *results.Record) {
					n := r.Counts
					if seen := server.tries.Load() + server.passes.Load(); n.Tries != seen {
						t.Errorf("%d tries, and the server saw %d: %+v", n.Tries, seen, n)
					}
					rush := p.Clients > 1
					if want := way != "poll" && rush; (n.LocalRefusals > 0) != want {
						t.Errorf("%d local refusals", n.LocalRefusals)
					}
					if want := way == "swap" && rush; (server.passes.Load() > 0) != want {
						t.Errorf("%d hand-overs", server.passes.Load())
					}
					near(t, "tries a lock", r.Cost.Tries, float64(n.Tries)/float64(n.Acquired), 1e-9)
					near(t, "local refusals a lock", r.Cost.LocalRefusals, float64(n.LocalRefusals)/float64(n.Acquired), 1e-9)
					near(t, "Little's sum", r.Bound.Little, 1, 0.001)
				})
			})
		}
	}
}
