// Sleeping: what the pacer needs, and how the runtime's timers do it.

package pace

import (
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/alarm"
)

// sleeper sleeps for one goroutine.
type sleeper interface {
	// sleep sleeps until the clock reads to, or not at all if it does already. It answers false when stop is closed.
	sleep(to time.Duration) bool
	close()
}

// timer sleeps on a timer of the runtime, which keeps time as well as the system's poller does (to about a millisecond), ends at
// once when stop is closed, and knows the fake clock of package testing/synctest.
type timer struct {
	clock drivers.Clock
	stop  <-chan struct{}
	timer alarm.Timer
}

func newTimer(clock drivers.Clock, stop <-chan struct{}) *timer {
	return &timer{clock: clock, stop: stop}
}

func (t *timer) sleep(to time.Duration) bool {
	for left := to - t.clock.Now(); left > 0; left = to - t.clock.Now() {
		if !t.timer.Doze(left, t.stop, nil) {
			return false
		}
	}
	return true
}

func (t *timer) close() {}
