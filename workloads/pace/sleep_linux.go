// Sleeping on a thread of its own, since the runtime's timers are up to a millisecond late.

package pace

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lockbench/lockbench/drivers"
)

// thread is a sleeper that sleeps the last part in clock_nanosleep(2) on a thread of its own.
type thread struct {
	timer
	real   bool          // the clock is that of the system
	offset time.Duration // CLOCK_MONOTONIC less the clock
}

// fine is how much of a sleep is slept in the system call, which nothing can end before its time.
const fine = 2 * time.Millisecond

func newSleeper(clock drivers.Clock, stop <-chan struct{}) *thread {
	s := &thread{timer: *newTimer(clock, stop), real: realClock()}
	if !s.real {
		return s
	}
	runtime.LockOSThread()
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	s.offset = monotonic() - clock.Now()
	return s
}

// realClock tells a clock that a test has made up (package testing/synctest) from the system's.
func realClock() bool {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_REALTIME, &t) != nil {
		return false
	}
	return time.Since(time.Unix(t.Unix())).Abs() < time.Minute
}

func monotonic() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t)
	return time.Duration(t.Nano())
}

func (s *thread) sleep(to time.Duration) bool {
	if !s.real {
		return s.timer.sleep(to)
	}
	if to-s.clock.Now() > fine {
		if !s.timer.sleep(to - fine) {
			return false
		}
	}
	t := unix.NsecToTimespec(int64(to + s.offset))
	for s.clock.Now() < to {
		_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &t, nil)
	}
	select {
	case <-s.stop:
		return false
	default:
		return true
	}
}

func (s *thread) close() {
	s.timer.close()
	if s.real {
		runtime.UnlockOSThread() // the slack stays: with 1 ns the thread only keeps better time
	}
}
