// What the harness itself costs: a cycle of the client loop over the null driver.

package workloads

import (
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	_ "github.com/lockbench/lockbench/drivers/memory"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
)

// plan returns a small plan that passes Check; tests change what they are about.
func plan(driver, lock string) spec.Plan {
	return spec.Plan{Load: spec.Load{Clients: 1, TTL: time.Minute, Timeout: 10 * time.Second},
		Driver: driver, Lock: lock, Wait: "poll", Keys: 1,
		Poll: time.Millisecond, BackoffMin: time.Millisecond, BackoffMax: time.Second, Duration: time.Second,
		IOTimeout: time.Second, Oracle: true, Server: "embedded",
	}
}

func open(t testing.TB, p spec.Plan) drivers.Service {
	t.Helper()
	d, err := drivers.Lookup(p.Driver)
	if err != nil {
		t.Fatal(err)
	}
	svc, err := d.Open(t.Context(), drivers.Config{Lock: p.Lock, Clients: p.Clients, Prefix: "test:", Wakes: p.Wait == "pubsub" || p.Wait == "queue"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { svc.Close() })
	return svc
}

// lone returns a client that is ready to cycle, inside the measured window.
func lone(t testing.TB, p spec.Plan) *client {
	t.Helper()
	e, err := newEngine(&Run{Plan: p, Service: open(t, p), Prefix: "test:"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.stopWaiting)
	rooms, err := newRooms(t.Context(), &p, e.run.Service)
	if err != nil {
		t.Fatal(err)
	}
	e.rooms = rooms
	c := &e.clients[0]
	if err := c.open(t.Context(), e, e.classes[0], 0); err != nil {
		t.Fatal(err)
	}
	e.clock = drivers.NewClock()
	e.startWatchdog()
	t.Cleanup(e.stopWatchdog)
	e.end.Store(int64(time.Hour))
	return c
}

func TestCycleAllocatesNothing(t *testing.T) {
	for _, oracle := range []bool{true, false} {
		p := plan("null", "none")
		p.Oracle = oracle
		c := lone(t, p)
		now := c.cycle(0)
		if n := testing.AllocsPerRun(1000, func() { now = c.cycle(now) }); n != 0 {
			t.Errorf("oracle %v: %v allocations a cycle", oracle, n)
		}
		if c.counters.acquired < 1000 {
			t.Errorf("oracle %v: only %d grants were recorded", oracle, c.counters.acquired)
		}
	}
}

func BenchmarkNullCycle(b *testing.B) {
	for _, bc := range []struct {
		name   string
		oracle bool
	}{{"oracle", true}, {"no-oracle", false}} {
		b.Run(bc.name, func(b *testing.B) {
			p := plan("null", "none")
			p.Oracle = bc.oracle
			c := lone(b, p)
			now := c.cycle(0)
			b.ReportAllocs()
			for b.Loop() {
				now = c.cycle(now)
			}
		})
	}
}

// BenchmarkStampsAndRecords is the least that any harness does: two stamps and two records. What the cycle takes beyond
// that is ours.
func BenchmarkStampsAndRecords(b *testing.B) {
	clock, shard := drivers.NewClock(), results.NewRecorder(0).Borrow()
	b.ReportAllocs()
	for b.Loop() {
		start := clock.Now()
		end := clock.Now()
		shard.Record(results.AcquireIndex, end-start)
		shard.Record(results.ReleaseIndex, end-start)
	}
}
