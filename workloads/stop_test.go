package workloads

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockbench/lockbench/results/spec"
)

// TestStop stops a trial once 100 arrivals are under way: 100 come a second, and the one key serves 25.
func TestStop(t *testing.T) {
	p := plan("memory", "mutex")
	p.Keys, p.Clients, p.Hold, p.Warmup, p.Duration = 1, 8, 40*ms, time.Second, 20*time.Second
	p.Rate, p.Arrival = spec.Must(spec.ParseRate("100")), spec.Constant
	synctest.Test(t, func(t *testing.T) {
		var seen []Snapshot
		r := Run{Plan: p, Service: open(t, p), Prefix: "test:", Stop: func(s Snapshot) string {
			seen = append(seen, s)
			if s.Pending > 100 {
				return "too many"
			}
			return ""
		}}
		rec, err := r.Do(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if rec.Partial != "too many" || rec.Elapsed > time.Second || rec.Elapsed < 250*ms {
			t.Errorf("partial %q after %v", rec.Partial, rec.Elapsed)
		}
		for _, s := range seen {
			// A client that has its lock has not given it back yet, and one that waits has not got it.
			if due := s.Offered - s.Acquired; s.Phase != PhaseMeasure || s.Pending != due || int64(s.Queue) > s.Pending {
				t.Errorf("%+v: %d are due", s, due)
			}
		}
	})
}
