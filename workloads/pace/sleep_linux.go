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

// timerfd sleeps on a timerfd(2) that the runtime's network poller watches. It has the kernel's precision, and like a
// wait for a connection it holds neither a thread nor a processor (P). Neither clock_nanosleep, nor spinning at the end of
// a sleep, nor leaving out runtime.Gosched after arrivals did better; see scripts/recorded/pace.txt.
type timerfd struct {
	clock drivers.Clock
	file  *os.File
	conn  syscall.RawConn
	arm   func(fd uintptr) (expired bool) // what conn.Read calls before the wait, and after it
	left  time.Duration                   // until it expires; 0 once it is armed
	over  chan struct{}                   // closed by close, for…
	watch sync.WaitGroup                  // …the goroutine that waits for stop
}

// nap is the shortest sleep: what comes due meanwhile goes together. It bounds what a high rate costs (0.43 cores at
// 50,000 arrivals a second, 0.60 without it), and takes a quarter of the 100 µs that the lag may be.
const nap = 25 * time.Microsecond

// newSleeper falls back on the runtime's timers on a clock that a test has made up, and where there are no timerfds.
func newSleeper(clock drivers.Clock, stop <-chan struct{}) sleeper {
	if !alarm.Exact() {
		return newTimer(clock, stop)
	}
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return newTimer(clock, stop)
	}
	a := &timerfd{clock: clock, file: os.NewFile(uintptr(fd), "timerfd"), over: make(chan struct{})}
	a.arm = func(fd uintptr) (expired bool) {
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
