// Sleeping on a timerfd(2), since the runtime's own timers are up to a millisecond late.

package pace

import (
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/alarm"
)

// timerfd sleeps on a timerfd(2) that the runtime's network poller watches: it has the kernel's precision, where the poller
// would round a timer of the runtime up to its millisecond, and like a wait for a connection it holds neither a thread
// nor a processor (P).
//
// What did not do as well, with 64 clients on two cores that do next to nothing with an arrival. The lag is that of the
// client that takes it, p50/p99 in µs at 1,000, 10,000 and 50,000 Poisson arrivals a second, and the cores are those of
// the whole process. A timerfd without the nap has 17/37, 9/30, 8/24 on 0.03, 0.18, 0.60; with it, 50,000 a second have
// 15/38 on 0.43. A bare loop over clock_nanosleep has 9/283, 5/16, 4/13 on 0.05, 0.13, 0.24. These are medians of three
// runs, taken in turn at real-time priority while others used the machine: p50 and cores came out the same in each
// series, the p99 moved by a factor of ten and more at 1,000 a second (28 to 306 for the bare loop).
//
//   - time.Sleep and timers: 500/1000 at any rate (measured before, in the pacer alone).
//   - clock_nanosleep on a locked thread (PR_SET_TIMERSLACK 1 ns): 22/329, 12/38, 10/30 on 0.07, 0.16, 0.54. The client
//     has to be woken on another thread, and as soon as the clients have work for all processors, the pacer waits for
//     one of them: 138/9,000 at 50,000 a second over Redis with GOMAXPROCS=1, where a timerfd has 6/25.
//   - The same as RawSyscall, which keeps the processor: 26/107, 19/55, 17/30 on 0.09, 0.18, 0.60, and whatever stops
//     the world waits for the sleep.
//   - The same without a thread of its own: 14/34, 8/26, 6/18 on 0.03, 0.16, 0.50, the best of all as long as nothing
//     else runs. But a system call holds its processor until sysmon takes it away, up to 10 ms later: with
//     GOMAXPROCS=1, Redis seems to answer in 6 to 10 ms instead of 45 µs.
//   - Spinning for the last 60 µs: 11/34, 10/85, 13/34 on 0.09, 0.56, 1.30. It keeps the pacer's own time only, and
//     takes that of the clients.
//   - No runtime.Gosched after arrivals: 18/56, 11/30, 10/27 on 0.04, 0.19, 0.62; the client has to be woken elsewhere.
//   - No nap: 9/20 on 0.82 at 50,000 constant arrivals a second, each of which costs a sleep then. A nap of 20 µs has
//     18/41 on 0.56, one of 30 µs 25/51 on 0.43, one of 40 µs 30/61 on 0.36.
//
// The tail (p99.9) moves with the machine: BenchmarkLag shows that of a bare thread beside it, recorded in
// scripts/recorded/pace.txt. On two idle virtual cores both have one or two stalls of 0.5 to 2 ms a second, and one such stall
// decides the p99.9 of a second at 10,000 arrivals: in 8 s of each, 9 of the bare thread and 16 of a pacer without clients were
// longer than 0.5 ms. They are below the Go scheduler, which let no goroutine wait for more than 0.3 ms meanwhile
// (/sched/latencies), and mostly below the kernel's: a thread that spins at real-time priority lost its core for more than
// 100 µs 24 and 40 times in 3.2 s, of which 1 to 5 % was waiting for a core. Where other programs keep both cores busy, waiting
// for one is 66 to 98 % of what the late sleeps of the bare thread lose, and both are late by 1 to 200 ms.
//
// What did not help: one processor (GOMAXPROCS=1); a locked thread, which is worse (p99.9 1,189 µs instead of 650, medians of nine
// rounds in turn); no garbage collector (290 µs instead of 340); loops of the idle class (SCHED_IDLE) that keep the cores from
// halting, which make half of the seconds better and the others worse, with stalls of up to 4 ms; a shorter slice
// (sched_setattr, 0.1 ms). Not the cause: the hand-over to a client, which adds 5 to 25 µs. Several pacers were not tried.
//
// What it costs: a pacer that sleeps in a system call keeps a processor from the runtime, which then wakes fewer
// threads for nothing. Over Redis on the same two cores, a PING took 33 to 39 µs with it and 46 to 50 µs with a timerfd
// at 1,000 a second, 19 to 23 µs and 24 to 26 µs at 10,000.
type timerfd struct {
	clock drivers.Clock
	file  *os.File
	conn  syscall.RawConn
	arm   func(fd uintptr) (rung bool) // what conn.Read calls before the wait, and after it
	left  time.Duration                // until it shall ring; 0 once it is armed
	over  chan struct{}                // closed by close, for…
	watch sync.WaitGroup               // …the goroutine that waits for stop
}

// nap is the least time to sleep: what comes due meanwhile goes together. It bounds what a high rate costs, and takes
// no more than a quarter of the 100 µs that are the bar for the lag.
const nap = 25 * time.Microsecond

// newSleeper falls back on the runtime's timers on a clock that a test has made up, and where there are no timerfds.
func newSleeper(clock drivers.Clock, stop <-chan struct{}) sleeper {
	if !alarm.Rings() {
		return newTimer(clock, stop)
	}
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return newTimer(clock, stop)
	}
	a := &timerfd{clock: clock, file: os.NewFile(uintptr(fd), "timerfd"), over: make(chan struct{})}
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

func (a *timerfd) sleep(to time.Duration) bool {
	now := a.clock.Now()
	if to <= now {
		return true
	}
	for to = max(to, now+nap); now < to; now = a.clock.Now() {
		a.left = to - now
		if a.conn.Read(a.arm) != nil {
			return false
		}
	}
	return true
}

func (a *timerfd) close() {
	close(a.over)
	a.watch.Wait()
	a.file.Close()
}
