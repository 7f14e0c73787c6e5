//go:build unix

package renew

// The cost of the watchdog: for a hold that is never renewed, and for ten thousand that are.

import (
	"context"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// nothing is a session whose renewals cost nothing.
type nothing struct{}

func (nothing) Renew(context.Context, *drivers.Lease) (bool, error) { return true, nil }

// BenchmarkHold starts and stops a hold that ends long before its first renewal.
func BenchmarkHold(b *testing.B) {
	s := New(Options{Clock: drivers.NewClock()})
	defer s.Close()
	l := &drivers.Lease{TTL: 30 * time.Second}
	b.Run("one", func(b *testing.B) {
		h := NewHold(nothing{})
		b.ReportAllocs()
		for b.Loop() {
			s.Start(h, l, s.clock.Now())
			s.Stop(h)
		}
	})
	b.Run("one, given the time", func(b *testing.B) {
		h, now := NewHold(nothing{}), s.clock.Now()
		b.ReportAllocs()
		for b.Loop() {
			s.Start(h, l, now)
			s.Stop(h)
		}
	})
	b.Run("each its own", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			h, now := NewHold(nothing{}), s.clock.Now()
			for pb.Next() {
				s.Start(h, l, now)
				s.Stop(h)
			}
		})
	})
}

// BenchmarkTenThousandHolds renews 10,000 leases of 30 s, spread over the period, in real time. It reports the share of
// one core that the whole process uses for that, and the renewals per second. One op is a tenth of a second.
func BenchmarkTenThousandHolds(b *testing.B) {
	const (
		holds = 10_000
		ttl   = 30 * time.Second
		op    = 100 * time.Millisecond
	)
	var answered atomic.Int64
	s := New(Options{Clock: drivers.NewClock(), Renewed: func(Renewal) { answered.Add(1) }})
	defer s.Close()
	all := make([]*Hold, holds)
	for i := range all {
		all[i] = NewHold(nothing{})
		s.Start(all[i], &drivers.Lease{TTL: ttl}, -ttl/periods*time.Duration(i)/holds)
	}
	before, cpu, began := answered.Load(), used(b), time.Now()
	b.ResetTimer()
	time.Sleep(time.Duration(b.N) * op)
	b.StopTimer()
	wall := time.Since(began).Seconds()
	b.ReportMetric(100*(used(b)-cpu).Seconds()/wall, "core-%")
	b.ReportMetric(float64(answered.Load()-before)/wall, "renewals/s")
	for _, h := range all {
		s.Stop(h)
	}
}

// BenchmarkBurst renews 10,000 leases that started together, over a server that answers after a millisecond.
func BenchmarkBurst(b *testing.B) {
	const holds, ttl = 10_000, 3 * time.Second
	for b.Loop() {
		var answered sync.WaitGroup
		answered.Add(holds)
		s := New(Options{Clock: drivers.NewClock(), Renewed: func(Renewal) { answered.Done() }})
		all := make([]*Hold, holds)
		for i := range all {
			all[i] = NewHold(distant{})
			s.Start(all[i], &drivers.Lease{TTL: ttl}, s.clock.Now()-ttl/periods)
		}
		answered.Wait()
		for _, h := range all {
			s.Stop(h)
		}
		s.Close()
	}
}

type distant struct{}

func (distant) Renew(context.Context, *drivers.Lease) (bool, error) {
	time.Sleep(time.Millisecond)
	return true, nil
}

// used returns the CPU time of the process.
func used(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
