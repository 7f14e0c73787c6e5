package main

// Trials: the same load on the same server, each with a service of its own, as runs of a gate have it.

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/workloads"
)

// machine makes the trials of one driver.
type machine struct {
	driver drivers.Driver
	plan   results.Plan
	server results.Server
	addrs  []string
	close  func()
	trials int // a side
	made   int
}

// newMachine starts a server if the driver has one.
func newMachine(ctx context.Context, driver string, o options) (*machine, error) {
	d, err := drivers.Lookup(driver)
	if err != nil {
		return nil, err
	}
	m := &machine{driver: d, trials: o.trials, close: func() {}, plan: results.Plan{
		Driver: driver, Lock: "set-nx", Wait: "backoff", Keys: o.keys, Duration: o.duration, Warmup: o.warmup,
		BackoffMin: time.Millisecond, BackoffMax: 100 * time.Millisecond, IOTimeout: 3 * time.Second, Oracle: true, Server: "private",
		Load: results.Load{Clients: o.clients, TTL: 30 * time.Second},
	}}
	m.server = results.Server{Kind: "private", Name: "redis"}
	if driver == "memory" {
		// Trials of it scatter so little that shorter ones will do.
		m.plan.Lock, m.plan.Server, m.plan.Duration, m.server = "mutex", "in-process", o.duration/4, results.Server{Kind: "in-process", Name: "memory"}
		return m, nil
	}
	s, err := servers.StartRedis(ctx, servers.RedisOptions{})
	if err != nil {
		return nil, err
	}
	m.addrs, m.close = []string{s.URL()}, func() { s.Close() }
	return m, nil
}

// trial makes one, in which each granted lock costs so many turns of spin besides.
func (m *machine) trial(ctx context.Context, turns int) (*results.Record, error) {
	m.made++
	prefix := fmt.Sprintf("alarms:%d:", m.made)
	svc, err := m.driver.Open(ctx, drivers.Config{
		Lock: m.plan.Lock, Addrs: m.addrs, Clients: m.plan.Clients, Prefix: prefix, TTL: m.plan.TTL, IOTimeout: m.plan.IOTimeout,
	})
	if err != nil {
		return nil, err
	}
	defer svc.Close()
	r := workloads.Run{Plan: m.plan, Service: slow{svc, turns}, Prefix: prefix}
	r.Plan.Seed = uint64(m.made)
	rec, err := r.Do(ctx)
	switch {
	case err != nil:
		return nil, err
	case rec.Partial != "":
		return nil, fmt.Errorf("a trial ended early: %s", rec.Partial)
	case len(rec.Counts.ErrorSample) > 0:
		return nil, fmt.Errorf("%s: %v", m.plan.Driver, rec.Counts.ErrorSample)
	}
	rec.Schema, rec.Run, rec.Trial, rec.Server = results.SchemaVersion, "alarms", 1, m.server
	rec.Env = results.Env{Lockbench: "alarms", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH,
		CPUs: runtime.NumCPU(), GOMAXPROCS: runtime.GOMAXPROCS(0)}
	return rec, nil
}

// rounds makes trials of all sides, each of which has its turns of spin. A round has one of each, in random order.
func (m *machine) rounds(ctx context.Context, n int, turns []int, rng *rand.Rand) ([][]*results.Record, error) {
	sides := make([][]*results.Record, len(turns))
	for range n {
		for _, side := range rng.Perm(len(turns)) {
			rec, err := m.trial(ctx, turns[side])
			if err != nil {
				return nil, err
			}
			sides[side] = append(sides[side], rec)
		}
	}
	return sides, nil
}

// series makes the trials of n comparisons, one after the other, and hands those of each on.
func (m *machine) series(ctx context.Context, n int, turns []int, rng *rand.Rand, progress io.Writer, each func([][]*results.Record) error) error {
	began := time.Now()
	for i := range n {
		sides, err := m.rounds(ctx, m.trials, turns, rng)
		if err != nil {
			return err
		}
		if err := each(sides); err != nil {
			return err
		}
		if (i+1)%20 == 0 || i+1 == n {
			fmt.Fprintf(progress, "alarms: %s, %d sides: %d of %d comparisons in %v\n",
				m.plan.Driver, len(turns), i+1, n, time.Since(began).Round(time.Second))
		}
	}
	return nil
}

// calibrate finds how many turns of spin bring throughput down by each of the effects: from the turns that cost about a
// tenth, since work that each lock makes adds to the time of a lock in proportion. What really came of it is in the table.
func (m *machine) calibrate(ctx context.Context, effects []float64, rng *rand.Rand) ([]int, error) {
	const pairs, part = 20, 0.1
	first, err := m.rounds(ctx, 3, []int{0}, rng)
	if err != nil {
		return nil, err
	}
	perLock := float64(runtime.GOMAXPROCS(0)) / throughput(first[0]) // seconds of all processors
	turns := int(perLock * part / turnTime().Seconds())
	for range 2 { // the second time from near the mark
		sides, err := m.rounds(ctx, pairs, []int{0, max(turns, 1)}, rng)
		if err != nil {
			return nil, err
		}
		cost := throughput(sides[0])/throughput(sides[1]) - 1
		if cost < part/20 {
			return nil, fmt.Errorf("%d turns of spin a lock cost no more than %.2f %%: no slow-down can be made of that", turns, 100*cost)
		}
		turns = int(float64(turns) * part / cost)
	}
	spins := make([]int, len(effects))
	for i, effect := range effects {
		spins[i] = max(1, int(float64(turns)*effect/(1-effect)/part))
	}
	return spins, nil
}

// throughput is the median of the trials'.
func throughput(trials []*results.Record) float64 {
	var rates []float64
	for _, r := range trials {
		rates = append(rates, r.Throughput())
	}
	slices.Sort(rates)
	return (rates[(len(rates)-1)/2] + rates[len(rates)/2]) / 2
}

// slow is a service whose every release is followed by work: what a slower library, or a slower caller, would do.
type slow struct {
	drivers.Service
	turns int
}

func (s slow) Unwrap() drivers.Service { return s.Service }

func (s slow) Session(ctx context.Context, id int) (drivers.Session, error) {
	inner, err := s.Service.Session(ctx, id)
	if err != nil {
		return nil, err
	}
	return slowSession{inner, s.turns}, nil
}

type slowSession struct {
	drivers.Session
	turns int
}

func (s slowSession) Unwrap() drivers.Session { return s.Session }

// Release gives the lock back first, so that nobody waits for it longer.
func (s slowSession) Release(ctx context.Context, l *drivers.Lease) (bool, error) {
	owned, err := s.Session.Release(ctx, l)
	spin(s.turns)
	return owned, err
}

// spin keeps a processor busy. It counts turns and looks at no clock, so that being put off the processor does not count.
//
//go:noinline
func spin(turns int) (x uint32) {
	x = 1
	for range turns {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
	}
	return x
}

// turnTime is what one turn takes.
func turnTime() time.Duration {
	const turns = 10_000_000
	began := time.Now()
	spin(turns)
	return max(time.Since(began)/turns, 1)
}
