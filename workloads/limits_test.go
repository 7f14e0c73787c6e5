// What held a load up, planted: slow requests, and a lock that all want.

package workloads

import (
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
)

func TestWhatLimits(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(p *spec.Plan)
		try    time.Duration // that each request for a lock takes
		want   results.Limit
	}{
		{"slow tries, a key each", func(p *spec.Plan) { p.Keys, p.KeyDist = 8, spec.Must(spec.ParseKeys("own")) }, 5 * ms, results.ClientLimited},
		{"slow tries, keys enough", func(p *spec.Plan) { p.Keys = 10_000 }, 5 * ms, results.ClientLimited},
		{"one key", func(p *spec.Plan) { p.Hold = 2 * ms }, 100 * us, results.LockLimited},
		{"one key, slow tries", func(p *spec.Plan) { p.Hold = 2 * ms }, 5 * ms, results.LockLimited},
	} {
		p := plan("memory", "mutex")
		p.Clients, p.Rate, p.Arrival, p.Duration = 8, spec.Must(spec.ParseRate("2500")), "poisson", 2*time.Second
		c.change(&p)
		bubble(t, p, func(s drivers.Service) drivers.Service {
			slow := func(int64) error {
				time.Sleep(c.try)
				return nil
			}
			return &faulty{Service: s, try: slow, release: every(1<<40, nil)}
		}, func(t *testing.T, r *results.Record) {
			r.Generator.Saturated = false // as the machine may be that runs the test
			if got := r.Limit(); got != c.want {
				t.Errorf("%s: %q, want %q: %.2f tries a lock, %.2f waits, waited %v, that is %.0f %% of the busy time, by %s %.2f",
					c.name, got, c.want, r.Cost.Tries, r.Cost.Wakeups, r.Bound.Waited, 100*r.Waiting(), r.Bound.By, r.Bound.Efficiency)
			}
		})
	}
}
