package alarm

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

// The waker's goroutine ends by itself when there are no sleepers any more.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// On a test's fake clock a timer is exact by itself. It must not spin there, because that time only passes while all
// goroutines sleep.
func TestFakeClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var timer Timer
		for _, d := range []time.Duration{1, 50 * time.Microsecond, time.Millisecond, time.Hour} {
			begun := time.Now()
			if !timer.Sleep(d, nil, nil) {
				t.Errorf("a sleep of %v was ended", d)
			}
			if slept := time.Since(begun); slept != d {
				t.Errorf("slept for %v, want %v", slept, d)
			}
		}
	})
}

// A sleep ends as soon as either channel is ready, whatever the clock, and while it spins as well.
func TestSleepEnds(t *testing.T) {
	ends := func(t *testing.T) {
		for _, d := range []time.Duration{30 * time.Millisecond, time.Hour} { // exact, and not
			var timer Timer
			ended := make(chan struct{})
			close(ended)
			if spin(now()+time.Hour, ended, nil) || spin(now()+time.Hour, nil, ended) {
				t.Error("spun for an hour though it was stopped")
			}
			begun := time.Now()
			for range 100 {
				// Both may be ready at once, and the longest of the sleeps cannot be over.
				if full := timer.Sleep(d, ended, nil); full && time.Since(begun) < d {
					t.Errorf("a sleep of %v went on though it was stopped", d)
				}
				if full := timer.Sleep(d, nil, ended); full && time.Since(begun) < d {
					t.Errorf("a sleep of %v went on though it was woken", d)
				}
			}
		}
	}
	t.Run("system", ends)
	t.Run("fake", func(t *testing.T) { synctest.Test(t, ends) })
}

// Many timers share one timerfd, and none ends early.
func TestNeverEarly(t *testing.T) {
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			var timer Timer
			for n := range 20 {
				d := time.Duration(1+i*n) * time.Microsecond
				begun := time.Now()
				if !timer.Sleep(d, nil, nil) {
					t.Errorf("a sleep of %v was ended", d)
				}
				if slept := time.Since(begun); slept < d {
					t.Errorf("slept for %v, want at least %v", slept, d)
				}
			}
		})
	}
	all.Wait()
}

func TestSleepAllocatesNothing(t *testing.T) {
	var timer Timer
	for _, d := range []time.Duration{5 * time.Microsecond, 300 * time.Microsecond} {
		timer.Sleep(d, nil, nil)
		if n := testing.AllocsPerRun(200, func() { timer.Sleep(d, nil, nil) }); n != 0 {
			t.Errorf("a sleep of %v allocates %v times", d, n)
		}
	}
}
