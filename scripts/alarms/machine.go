package main

// Trials: the same load on the same server, each with its own service, as in the runs of a gate.

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/results/stats"
	"github.com/lockbench/lockbench/workloads"
)

// machine runs the trials of one driver.
type machine struct {
	driver drivers.Driver
	plan   spec.Plan
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
	m := &machine{driver: d, trials: o.trials, close: func() {}, plan: spec.Plan{
		Driver: driver, Lock: "set-nx", Wait: "backoff", Keys: o.keys, Duration: o.duration, Warmup: o.warmup,
		BackoffMin: time.Millisecond, BackoffMax: 100 * time.Millisecond, IOTimeout: 3 * time.Second, Oracle: true, Server: "private",
		Load: spec.Load{Clients: o.clients, TTL: 30 * time.Second},
	}}
	m.server = results.Server{Name: "redis"}
	if driver == "memory" {
		// Its trials vary so little that shorter ones are enough.
		m.plan.Lock, m.plan.Server, m.plan.Duration, m.plan.Warmup = "mutex", "in-process", o.duration/4, o.warmup/4
		m.server = results.Server{Name: "memory"}
		return m, nil
	}
	s, err := servers.StartRedis(ctx, servers.RedisOptions{})
	if err != nil {
		return nil, err
	}
	m.addrs, m.close = []string{s.URL()}, func() { s.Close() }
	return m, nil
}

// trial runs one trial, with so many turns of spin added to each granted lock.
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
	r := workloads.Run{Plan: m.plan, Service: slow{svc, turns}, Prefix: prefix, Record: results.Record{
		Run: "alarms", Trial: 1, Server: m.server,
		Env: results.Env{Lockbench: "alarms", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH,
			CPUs: runtime.NumCPU(), GOMAXPROCS: runtime.GOMAXPROCS(0)},
	}}
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
	return rec, nil
}

// rounds runs the trials of all sides, each with its turns of spin. A round has one trial of each side, in random
// order.
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

// series runs the trials of n comparisons, one comparison after the other, and calls each with those of each
// comparison.
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

// calibrate finds the turns of spin that reduce throughput by each of the effects. The time of a lock grows in
// proportion to the turns, so calibrate measures a larger number of turns, which is easier to measure, and then again
// one near the effects, because idle time of processors hides the first turns. The table shows the effects measured
// afterwards. If noise hides the effect of the turns, why says so, and the turns are those for processors that are
// never idle.
func (m *machine) calibrate(ctx context.Context, effects []float64, rng *rand.Rand) (spins []int, why string, err error) {
	first, err := m.rounds(ctx, 3, []int{0}, rng)
	if err != nil {
		return nil, "", err
	}
	perLock := float64(runtime.GOMAXPROCS(0)) / throughput(first[0]) // seconds of all processors
	turns := perLock / turnTime().Seconds()                          // those that double the time of a lock
	for _, stage := range []struct {
		part  float64
		pairs int
	}{{0.25, 20}, {0.08, 40}} {
		sides, err := m.rounds(ctx, stage.pairs, []int{0, max(1, int(turns*stage.part))}, rng)
		if err != nil {
			return nil, "", err
		}
		if cost := slowed(sides[0], sides[1]); cost > stage.part/4 && cost < stage.part*4 {
			turns *= stage.part / cost
		} else {
			why = fmt.Sprintf("calibration is lost in the noise: what should have cost %.0f %% cost %.1f %%", 100*stage.part, 100*cost)
		}
	}
	for _, effect := range effects {
		spins = append(spins, max(1, int(turns*effect/(1-effect))))
	}
	return spins, why, nil
}

// slowed returns the increase of the time of a lock in head, as a share: the median over the rounds.
func slowed(base, head []*results.Record) float64 {
	ratios := make([]float64, len(base))
	for i := range base {
		ratios[i] = base[i].Throughput()/head[i].Throughput() - 1
	}
	return stats.Of(ratios).Median
}

// throughput returns the median throughput of the trials.
func throughput(trials []*results.Record) float64 {
	return stats.Trials(trials, (*results.Record).Throughput).Median
}

// slow is a service that works after every release, like a slower library or a slower caller.
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

// Release releases the lock before it works, so that other clients do not wait longer.
func (s slowSession) Release(ctx context.Context, l *drivers.Lease) (bool, error) {
	owned, err := s.Session.Release(ctx, l)
	runtime.KeepAlive(spin(s.turns))
	return owned, err
}

// spin keeps a processor busy. It counts turns instead of reading a clock, so that time off the processor does not
// count.
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

// turnTime returns the duration of one turn.
func turnTime() time.Duration {
	const turns = 10_000_000
	began := time.Now()
	runtime.KeepAlive(spin(turns))
	return max(time.Since(began)/turns, 1)
}
