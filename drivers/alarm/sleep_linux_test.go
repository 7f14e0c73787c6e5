package alarm

// How exact sleeps are, and what that costs.

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// BenchmarkSleep reports by how much sleeps are too long, in percent of the requested time, and the cores that the
// process uses, with timers of the runtime and with these. A sleeper does nothing between two sleeps.
func BenchmarkSleep(b *testing.B) {
	for _, micros := range []time.Duration{50, 200, 900, 2100} {
		d := micros * time.Microsecond
		for _, sleepers := range []int{1, 8, 64} {
			for _, exact := range []bool{false, true} {
				name := map[bool]string{false: "runtime", true: "alarm"}[exact]
				b.Run(fmt.Sprintf("%v/%d/%s", d, sleepers, name), func(b *testing.B) { benchmark(b, d, sleepers, exact) })
			}
		}
	}
}

func benchmark(b *testing.B, d time.Duration, sleepers int, exact bool) {
	slept := make([][]time.Duration, sleepers)
	for i := range slept {
		slept[i] = make([]time.Duration, 0, b.N/sleepers+1)
	}
	runtime.GC()
	before, began := processCPU(b), time.Now()
	var all sync.WaitGroup
	for i := range slept {
		all.Go(func() {
			timer := Timer{timer: time.NewTimer(time.Hour), exact: exact}
			for range cap(slept[i]) {
				begun := now()
				timer.Sleep(d, nil, nil)
				slept[i] = append(slept[i], now()-begun)
			}
		})
	}
	all.Wait()
	used, elapsed := processCPU(b)-before, time.Since(began)
	overlong := slices.Concat(slept...)
	slices.Sort(overlong)
	at := func(share float64) float64 {
		return 100 * (float64(overlong[int(share*float64(len(overlong)-1))])/float64(d) - 1)
	}
	b.ReportMetric(at(0.5), "p50-%over")
	b.ReportMetric(at(0.99), "p99-%over")
	b.ReportMetric(used.Seconds()/elapsed.Seconds(), "cores")
	b.ReportMetric(0, "ns/op") // the sleep decides it
}

func processCPU(b *testing.B) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
