// Thousands of schedules of a quorum whose network loses and delays messages, and whose nodes fail.
package quorum_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/quorum"
	"github.com/lockbench/lockbench/drivers/renew"
	"github.com/lockbench/lockbench/drivers/simtest"
	"github.com/lockbench/lockbench/drivers/wait"
)

const simTTL = 300 * time.Millisecond

// lossy is a network on which some answers come after the node time-out.
var lossy = simtest.Network{Delay: 30 * time.Millisecond, Loss: 0.02}

// contest is three clients that contend for a lock on five nodes, and hold it for up to one and a half leases.
type contest struct {
	plant  func(drivers.Service)                    // plants a bug in the quorum
	strike func(w *simtest.World, a *simtest.Actor) // hits a node, up to three times
	waits  string                                   // how clients wait; empty if they do not
	renews bool
	simtest.Program
}

func (c contest) scenario() simtest.Scenario {
	return simtest.Scenario{Nodes: 5, Clients: 3, Network: lossy, Run: func(w *simtest.World) {
		if err := c.run(w); err != nil {
			w.Fail("%v", err)
		}
	}}
}

func (c contest) run(w *simtest.World) (err error) {
	ctx := context.Background()
	svc, err := quorum.Driver{Node: local{w.Driver()}}.Open(ctx, drivers.Config{
		Lock: "sim", Addrs: w.Addrs(), NodeTimeout: nodeTimeout, IOTimeout: time.Second, Wakes: c.waits != "",
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, svc.Close()) }()
	if c.plant != nil {
		c.plant(svc)
	}
	p := c.Program
	p.Rounds, p.TTL, p.Think, p.Hold = 4, simTTL, simTTL, simTTL*3/2
	if c.waits != "" {
		if p.Room, err = wait.NewRoom(ctx, c.waits, svc, wait.Options{Seed: w.Seed}); err != nil {
			return err
		}
		defer p.Room.Close()
	}
	if c.renews {
		p.Watchdog = renew.New(renew.Options{Clock: w.Clock, Workers: 4})
		defer p.Watchdog.Close()
	}
	for id := range w.Clients {
		w.Run(id, svc, p)
	}
	if c.strike != nil {
		w.Faults(3, simTTL, func(a *simtest.Actor) { c.strike(w, a) })
	}
	w.Wait()
	return nil
}

// restart makes a node crash. It is back, empty, at once or after more than a lease.
func restart(after time.Duration) func(w *simtest.World, a *simtest.Actor) {
	return func(w *simtest.World, a *simtest.Actor) {
		w.Restart(a.Pick(w.Nodes), after)
	}
}

func TestSimExclusive(t *testing.T) {
	n := simtest.Seeds(300, 4000)
	found := simtest.Explore(t, n, contest{}.scenario())
	found.Sound(t)
	found.Saw(t, "grants", 4*int64(n))
	found.Saw(t, "lost replies to try", int64(n)/4)
}

// What a network may do besides, clocks that differ by less than what a lease allows for, and nodes that stall.
func TestSimFaults(t *testing.T) {
	n := simtest.Seeds(200, 2000)
	s := contest{strike: func(w *simtest.World, a *simtest.Actor) {
		number := a.Pick(w.Nodes)
		if a.Pick(2) == 0 {
			w.Stall(number, a.Upto(2*simTTL))
		} else {
			w.Cut(a.Pick(w.Clients), number, a.Upto(2*simTTL))
		}
	}}.scenario()
	s.Network.Repeat, s.Network.Reorder, s.Drift = 0.05, true, 0.01
	found := simtest.Explore(t, n, s)
	found.Sound(t)
	found.Saw(t, "grants", 3*int64(n))
	for _, fault := range []string{"repeated", "stalls", "cuts"} {
		found.Saw(t, fault, int64(n)/2)
	}
}

// A node that forgets what it has granted makes a second majority possible, unless it stays away until all leases that
// it has granted are over.
func TestSimRestarts(t *testing.T) {
	t.Run("at once", func(t *testing.T) {
		simtest.Explore(t, 200, contest{strike: restart(time.Millisecond)}.scenario()).Found(t)
	})
	t.Run("after the TTL", func(t *testing.T) {
		n := simtest.Seeds(200, 2000)
		found := simtest.Explore(t, n, contest{strike: restart(simTTL + time.Millisecond)}.scenario())
		found.Sound(t)
		found.Saw(t, "grants", 3*int64(n))
		found.Saw(t, "restarts", 2*int64(n))
	})
}

// Clients that wait for the lock, and whose watchdog renews it.
func TestSimWaitsAndRenews(t *testing.T) {
	for _, kind := range []string{wait.Poll, wait.Backoff, wait.PubSub, wait.Queue} {
		t.Run(kind, func(t *testing.T) {
			n := simtest.Seeds(50, 500)
			found := simtest.Explore(t, n, contest{waits: kind, renews: true, Program: simtest.Program{Deaths: 10}}.scenario())
			found.Sound(t)
			found.Saw(t, "deaths", int64(n)/4)
			found.Saw(t, "grants", 4*int64(n))
		})
	}
}

// Bugs that were planted are found.
func TestSimFinds(t *testing.T) {
	sound := contest{}.scenario()
	careless, drifting := sound, sound
	careless.Careless, drifting.Drift = true, 0.5
	for name, s := range map[string]simtest.Scenario{
		"half is a majority":                            contest{plant: quorum.PlantHalf}.scenario(),
		"a holder does not look at its lease":           contest{Program: simtest.Program{Overstays: true}}.scenario(),
		"a release does not check":                      careless,
		"clocks differ by more than a lease allows for": drifting,
	} {
		t.Run(name, func(t *testing.T) { simtest.Explore(t, 100, s).Found(t) })
	}
}

// A schedule is the same whenever it runs.
func TestSimRepeats(t *testing.T) {
	simtest.Repeats(t, 100, contest{strike: restart(time.Millisecond)}.scenario())
	simtest.Repeats(t, simtest.Seeds(5, 100), contest{waits: wait.PubSub, renews: true}.scenario())
}

func BenchmarkSim(b *testing.B) { simtest.Bench(b, contest{}.scenario()) }
