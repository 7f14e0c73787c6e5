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

// BenchmarkLag reports the lag (from when an arrival is due to when a client has it) of 64 clients over the null driver,
// and beside it what the machine itself is late by at that time: "bare" is a thread that sleeps in clock_nanosleep(2)
// and does nothing else. An operation is a second of each, in turn. Each figure is the median of the operations, so
// that seven or more of them (-benchtime 7x) tell the two apart on a machine that does other things as well.
func BenchmarkLag(b *testing.B) {
	for _, rate := range []string{"1k", "10k", "50k"} {
		for _, kind := range []string{spec.Constant, spec.Poisson} {
			b.Run(rate+"/"+kind, func(b *testing.B) { benchmarkLag(b, spec.Must(spec.ParseRate(rate)), kind) })
		}
	}
}

func benchmarkLag(b *testing.B, rate spec.Rate, kind string) {
	sides := []struct {
		name     string
		generate func(b *testing.B, s pace.Schedule, most int) []time.Duration
	}{{"", paced}, {"bare-", bare}}
	figures := make(map[string][]float64) // one of each operation
	for round := range b.N {
		for i := range sides {
			side := sides[(i+round)%len(sides)]
			runtime.GC()
			s := pace.Arrivals(rate, kind, pace.Window{Duration: time.Second}, uint64(round))
			before := processCPU(b)
			lags := side.generate(b, s, int(2*rate.Mean(time.Second)))
			used := processCPU(b) - before
			slices.Sort(lags)
			add := func(unit string, x float64) { figures[side.name+unit] = append(figures[side.name+unit], x) }
			at := func(share float64) float64 { return float64(lags[int(share*float64(len(lags)-1))]) / 1e3 }
			add("p50-us", at(0.5))
			add("p99-us", at(0.99))
			add("p99.9-us", at(0.999))
			add("cpu-us", float64(used)/float64(len(lags))/1e3) // of the process, per arrival
		}
	}
	for unit, list := range figures {
		slices.Sort(list)
		b.ReportMetric(list[len(list)/2], unit)
	}
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
func paced(b *testing.B, s pace.Schedule, most int) []time.Duration {
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
		lags[client] = make([]time.Duration, 0, most/clients*2+1)
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
func bare(b *testing.B, s pace.Schedule, most int) (lags []time.Duration) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0); err != nil {
		b.Fatal(err)
	}
	defer unix.Prctl(unix.PR_SET_TIMERSLACK, 0, 0, 0, 0) // the default
	lags = make([]time.Duration, 0, most)
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
