package drivers_test

import (
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"testing"

	"github.com/lockbench/lockbench/drivers"
)

// Lockers that are woken in one order reach the lock in any order.
func TestShuffle(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const lockers, rounds = 4, 400
	firsts := func(shuffled int) (n [lockers]int) {
		for range rounds {
			var woken [lockers]chan struct{}
			first := make(chan int, lockers)
			var all sync.WaitGroup
			for i := range woken {
				woken[i] = make(chan struct{})
				all.Go(func() {
					<-woken[i]
					drivers.Shuffle(shuffled)
					first <- i
				})
			}
			runtime.Gosched()
			for _, w := range woken {
				close(w)
			}
			all.Wait()
			n[<-first]++
		}
		return n
	}
	if n := firsts(1); !raceDetector() && slices.Max(n[:]) < rounds*9/10 {
		t.Errorf("without a shuffle one is first nearly always, or this test shows nothing; they were first %v times", n)
	}
	if n := firsts(lockers); slices.Min(n[:]) < rounds/20 {
		t.Errorf("the lockers were first %v times", n)
	}
}

// raceDetector reports whether the race detector is on. It shuffles by itself.
func raceDetector() bool {
	info, _ := debug.ReadBuildInfo()
	return info != nil && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}
