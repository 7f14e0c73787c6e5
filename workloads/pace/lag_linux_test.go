package pace_test

// How late an arrival reaches its client, and what that costs.

import (
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/memory"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads/pace"
)

// BenchmarkLag reports the lag (from when an arrival is due to when a client has it) and the cores that the process
// uses, with 64 clients over the null driver. "bare" is the machine's own share of it: a thread that sleeps in
// clock_nanosleep(2), as late as it wakes by itself. Compare with that on a machine that does other things as well, and
// give it time for a p99 (-benchtime 5s).
func BenchmarkLag(b *testing.B) {
	for _, rate := range []string{"1k", "10k", "50k"} {
		for _, kind := range []string{spec.Constant, spec.Poisson} {
			b.Run(rate+"/"+kind, func(b *testing.B) { lag(b, arrivals(b, rate, kind), paced) })
		}
		b.Run(rate+"/bare", func(b *testing.B) { lag(b, arrivals(b, rate, spec.Constant), bare) })
	}
}

func arrivals(b *testing.B, rate, kind string) *limited {
	return &limited{pace.Arrivals(spec.Must(spec.ParseRate(rate)), kind, pace.Window{}, 1), b.N}
}

// limited is the first arrivals of a schedule.
type limited struct {
	pace.Schedule
	left int
}

func (l *limited) Next() (due time.Duration, ok bool) {
	if l.left--; l.left < 0 {
		return 0, false
	}
	return l.Schedule.Next()
}

// lag measures what a generator of arrivals answers: how late each was.
func lag(b *testing.B, s pace.Schedule, generate func(b *testing.B, s pace.Schedule) []time.Duration) {
	runtime.GC()
	before, began := processCPU(b), time.Now()
	lags := generate(b, s)
	used, elapsed := processCPU(b)-before, time.Since(began)
	slices.Sort(lags)
	if len(lags) != b.N {
		b.Fatalf("%d arrivals of %d", len(lags), b.N)
	}
	at := func(share float64) float64 { return float64(lags[int(share*float64(len(lags)-1))]) / 1e3 }
	b.ReportMetric(at(0.5), "lag-p50-us")
	b.ReportMetric(at(0.99), "lag-p99-us")
	b.ReportMetric(at(0.999), "lag-p99.9-us")
	b.ReportMetric(used.Seconds()/elapsed.Seconds(), "cores")
	b.ReportMetric(0, "ns/op") // which the schedule decides
}

func processCPU(b *testing.B) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// paced returns the whole chain: pacer, queue, client.
func paced(b *testing.B, s pace.Schedule) []time.Duration {
	const clients = 64
	svc, err := memory.Null{}.Open(b.Context(), drivers.Config{Lock: "none", Clients: clients})
	if err != nil {
		b.Fatal(err)
	}
	q := new(pace.Queue)
	clock := drivers.NewClock()
	lags := make([][]time.Duration, clients)
	var working sync.WaitGroup
	for client := range clients {
		session, err := svc.Session(b.Context(), client)
		if err != nil {
			b.Fatal(err)
		}
		lags[client] = make([]time.Duration, 0, b.N/clients*2+1)
		working.Go(func() {
			lease := drivers.Lease{Key: "key", TTL: time.Second}
			for at, _, ok := q.Take(); ok; at, _, ok = q.Take() {
				lags[client] = append(lags[client], clock.Now()-at)
				session.Try(b.Context(), &lease)
				session.Release(b.Context(), &lease)
			}
		})
	}
	pace.Run(clock, nil, pace.Lane{Schedule: s, Due: q.Put})
	for q.Len() > 0 {
		runtime.Gosched()
	}
	left := q.Close()
	working.Wait()
	return append(slices.Concat(lags...), left...)
}

// bare returns a thread that sleeps as well as the kernel lets it.
func bare(b *testing.B, s pace.Schedule) (lags []time.Duration) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0); err != nil {
		b.Fatal(err)
	}
	defer unix.Prctl(unix.PR_SET_TIMERSLACK, 0, 0, 0, 0) // the default
	lags = make([]time.Duration, 0, b.N)
	clock := drivers.NewClock()
	for due, ok := s.Next(); ok; due, ok = s.Next() {
		for left := due - clock.Now(); left > 0; left = due - clock.Now() {
			t := unix.NsecToTimespec(int64(left))
			_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &t, nil)
		}
		lags = append(lags, clock.Now()-due)
	}
	return lags
}
