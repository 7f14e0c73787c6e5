package workloads

import (
	"cmp"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
)

// TestDeadKeys: every holder dies after 10 ms. A key whose lease outlasts the run is dead from the
// first death on, which may be in the warm-up; with a short one it is dead from each death until the lease ends.
func TestDeadKeys(t *testing.T) {
	for name, test := range map[string]struct {
		keys, clients int
		ttl, warmup   time.Duration
		dead, from    time.Duration
		locked        int64
		by            results.LimitedBy
		processes     int
	}{
		"for ever":          {keys: 1, clients: 4, dead: 9990 * ms, from: 10 * ms, locked: 1, by: results.ByDead},
		"since the warm-up": {keys: 1, clients: 4, warmup: time.Second, dead: 10 * time.Second, locked: 1, by: results.ByDead},
		"some of many":      {keys: 100, clients: 4, dead: 4 * 9990 * ms, from: 10 * ms, locked: 4, by: results.ByDead},
		"until the lease":   {keys: 1, clients: 4, ttl: 100 * ms, dead: 9000 * ms, by: results.ByDead},
		"three processes":   {keys: 1, clients: 9, dead: 9990 * ms, from: 10 * ms, locked: 1, by: results.ByDead, processes: 3},
		"their lease":       {keys: 1, clients: 9, ttl: 100 * ms, dead: 9000 * ms, by: results.ByDead, processes: 3},
	} {
		t.Run(name, func(t *testing.T) {
			p := plan("memory", "mutex")
			p.Keys, p.Clients, p.Hold, p.Crash, p.Timeout, p.Poll = test.keys, test.clients, 10*ms, 1, 0, ms
			p.Warmup, p.Duration, p.TTL = test.warmup, 10*time.Second, cmp.Or(test.ttl, time.Hour)
			if test.keys > 1 {
				p.KeyDist = spec.Must(spec.ParseKeys("own"))
			}
			check := func(t *testing.T, r *results.Record) {
				b, l := r.Bound, r.Limit()
				near := func(a, b time.Duration) bool { return (a - b).Abs() <= max(20*ms, b/50) }
				if !near(b.Dead, test.dead) || b.DeadKeys != test.locked || !near(b.DeadFrom, test.from) || l.By != test.by {
					t.Errorf("%d grants, %d deaths: %+v, limited by %q %+v, partial %q", r.Counts.Acquired, r.Counts.Crashed, b, l.By, l, r.Partial)
				}
			}
			if p.Processes = test.processes; p.Processes == 0 {
				bubble(t, p, nil, check)
				return
			}
			synctest.Test(t, func(t *testing.T) {
				svc := open(t, p)
				check(t, fleetOf(t, p, func(int) drivers.Service { return svc }, nil))
			})
		})
	}
}

// TestDeadKeyOfProcesses: sooner or later each client wants the key that is dead, whichever process its holder was of.
func TestDeadKeyOfProcesses(t *testing.T) {
	p := plan("memory", "mutex")
	p.Keys, p.Clients, p.Hold, p.Crash, p.Timeout, p.Poll, p.Processes = 40, 9, 10*ms, 0.001, 0, ms, 3
	p.Warmup, p.Duration, p.TTL = 0, 60*time.Second, time.Hour
	synctest.Test(t, func(t *testing.T) {
		svc := open(t, p)
		r := fleetOf(t, p, func(int) drivers.Service { return svc }, nil)
		if b, l := r.Bound, r.Limit(); b.DeadKeys == 0 || b.DeadKeys > 10 || l.By != results.ByDead {
			t.Errorf("%d of %d keys dead from %v on: limited by %q %+v", b.DeadKeys, p.Keys, b.DeadFrom, l.By, l)
		}
	})
}
