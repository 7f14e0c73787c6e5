// What held a load up, planted: slow requests, and a lock that all want.

package workloads

import (
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
)

func TestLimits(t *testing.T) {
	open := func(rate string) func(p *spec.Plan) {
		return func(p *spec.Plan) { p.Rate, p.Arrival = spec.Must(spec.ParseRate(rate)), "poisson" }
	}
	for _, c := range []struct {
		name   string
		change func(p *spec.Plan)
		try    time.Duration // that each request for a lock takes
		want   results.LimitedBy
	}{
		{"arrivals: slow tries, a key each", func(p *spec.Plan) {
			open("2500")(p)
			p.Keys, p.KeyDist = 8, spec.Must(spec.ParseKeys("own"))
		}, 5 * ms, results.ByClients},
		{"arrivals: slow tries, keys enough", func(p *spec.Plan) { open("2500")(p); p.Keys = 10_000 }, 5 * ms, results.ByClients},
		{"arrivals: one key", func(p *spec.Plan) { open("2500")(p); p.Hold = 2 * ms }, 100 * us, results.ByKey},
		{"arrivals: one key, slow answers", func(p *spec.Plan) { open("2500")(p); p.Hold = 2 * ms }, 5 * ms, results.ByKey},
		{"arrivals: a tenth of what the key can do", func(p *spec.Plan) { open("50")(p); p.Hold = 2 * ms }, 100 * us, results.ByRate},

		{"one key, long holds", func(p *spec.Plan) { p.Hold = 20 * ms }, 100 * us, results.ByKey},
		{"one client that thinks", func(p *spec.Plan) { p.Clients, p.Hold, p.Think = 1, ms, 10*ms }, 100 * us, results.ByClients},
		{"clients that think", func(p *spec.Plan) { p.Hold, p.Think = ms, 200*ms }, 100 * us, results.ByClients},
		{"long pauses between tries", func(p *spec.Plan) {
			p.Wait, p.BackoffMin, p.BackoffMax, p.Hold, p.Think = "backoff", 10*time.Second, 10*time.Second, ms, 3*ms
		}, 100 * us, results.ByLock},
		{"one try each", func(p *spec.Plan) { p.Wait, p.BackoffMin, p.BackoffMax = "none", 0, 0; p.Hold = ms }, 5 * ms, results.ByKey},
		{"a key that many prefer", func(p *spec.Plan) {
			p.Keys, p.KeyDist, p.Hold = 100, spec.Must(spec.ParseKeys("hot:99%:1")), 20*ms
		}, 100 * us, results.ByUnknown}, // no round trip is known here, and so not which bound the hottest key makes
	} {
		p := plan("memory", "mutex")
		p.Clients, p.Duration, p.Seed = 8, 5*time.Second, 1
		c.change(&p)
		bubble(t, p, func(s drivers.Service) drivers.Service {
			slow := func(int64) error {
				time.Sleep(c.try)
				return nil
			}
			return &faulty{Service: s, try: slow, release: every(1<<40, nil)}
		}, func(t *testing.T, r *results.Record) {
			r.Generator.Saturated = false // as the machine may be that runs the test
			if l := r.Limit(); l.By != c.want {
				t.Errorf("%s: %q, want %q: %+v; %.2f tries a lock, %.2f waits, waited %v, by %s %.2f", c.name, l.By, c.want,
					l, r.Cost.Tries, r.Cost.Wakeups, r.Bound.Waited, r.Bound.By, r.Bound.Efficiency)
			}
		})
	}
}
