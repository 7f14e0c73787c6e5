// Sleeping on a timerfd(2), since the runtime's own timers are up to a millisecond late.

package pace

import (
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lockbench/lockbench/drivers"
)

// alarm sleeps on a timerfd that the runtime's network poller watches: it has the kernel's precision, where the poller
// would round a timer of the runtime up to its millisecond, and like a wait for a connection it holds neither a thread
// nor a processor (P).
//
// What did not keep the schedule as well, with 64 clients on two cores, constant and Poisson arrivals alike (lag of the
// client that takes the arrival, p50/p99 at 1k, 10k and 50k arrivals a second; the timerfd has 17/37, 9/30, 8/24 µs on
// 0.03, 0.18, 0.60 cores):
//
//   - time.Sleep and timers: 500/1000 µs at any rate.
//   - clock_nanosleep on a locked thread (with PR_SET_TIMERSLACK 1 ns): 21/48, 12/40, 10/30 µs on 0.06, 0.16, 0.54 cores.
//     The client has to be woken on another thread. With GOMAXPROCS=1, or as soon as the clients have work for both
//     cores, the pacer waits for a processor: 138/9,000 µs at 50k with Redis behind it.
//   - The same as RawSyscall, which keeps the processor: no better, and a stop of the world waits for the sleep.
//   - The same without a thread of its own: 14/34, 8/26, 6/18 µs on 0.03, 0.16, 0.50 cores, the best of all as long as
//     nothing else runs. But sleeping it holds the processor until sysmon takes it away, up to 10 ms later; with
//     GOMAXPROCS=1 Redis seems to answer in 6–10 ms instead of 45 µs.
//   - Spinning the last 60 µs: 11/34, 10/85, 13/34 µs on 0.09, 0.56, 1.30 cores; it only keeps the pacer's own time, and
//     takes that of the clients.
//   - Waking at most every 50 µs, several arrivals at a time: 35/66 µs at 50k, on 0.31 cores.
type alarm struct {
	clock drivers.Clock
	file  *os.File
	conn  syscall.RawConn
	arm   func(fd uintptr) (rung bool) // what conn.Read calls before the wait, and after it
	left  time.Duration                // until it shall ring; 0 once it is armed
	over  chan struct{}                // closed by close, for…
	watch sync.WaitGroup               // …the goroutine that waits for stop
}

// newSleeper falls back on the runtime's timers on a clock that a test has made up, and where there are no timerfds.
func newSleeper(clock drivers.Clock, stop <-chan struct{}) sleeper {
	if !realClock() {
		return newTimer(clock, stop)
	}
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return newTimer(clock, stop)
	}
	a := &alarm{clock: clock, file: os.NewFile(uintptr(fd), "timerfd"), over: make(chan struct{})}
	a.arm = func(fd uintptr) (rung bool) {
		if a.left <= 0 {
			return true
		}
		spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(a.left))}
		a.left = 0
		return unix.TimerfdSettime(int(fd), 0, &spec, nil) != nil
	}
	if a.conn, err = a.file.SyscallConn(); err == nil {
		err = a.file.SetReadDeadline(time.Time{}) // an error if the poller does not take it
	}
	if err != nil {
		a.file.Close()
		return newTimer(clock, stop)
	}
	a.watch.Go(func() {
		select {
		case <-stop:
			_ = a.file.SetReadDeadline(time.Unix(1, 0)) // long ago: the wait ends
		case <-a.over:
		}
	})
	return a
}

// realClock tells a clock that a test has made up (package testing/synctest) from the system's.
func realClock() bool {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_REALTIME, &t) != nil {
		return false
	}
	return time.Since(time.Unix(t.Unix())).Abs() < time.Hour
}

func (a *alarm) sleep(to time.Duration) bool {
	for {
		if a.left = to - a.clock.Now(); a.left <= 0 {
			return true
		}
		if a.conn.Read(a.arm) != nil {
			return false
		}
	}
}

func (a *alarm) close() {
	close(a.over)
	a.watch.Wait()
	a.file.Close()
}
