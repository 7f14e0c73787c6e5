// Package alarm has the timer on which simulated clients sleep in holds and thinks, and after errors. Between two tries they
// sleep like any Go program.
//
// A timer of the Go runtime is up to a millisecond late on Linux, because an idle process waits in the network
// poller, whose time-out is in whole milliseconds. A busy process looks at its timers between any two goroutines, and
// they are hardly late. So a hold of 200 µs lasts 0.2 to 1 ms, depending on how busy the client library keeps the
// process, and two libraries do not get the same load.
//
// A Timer is a timer of the runtime with two additions. A timerfd wakes the poller when the timer is due; see
// waker_linux.go. And the timer is set early by the usual lateness of timers, and the goroutine spins for the rest,
// unless others wait for the processor; see lateness.go. On systems other than Linux, and on the fake clock of package
// testing/synctest, a Timer is a plain timer of the runtime.
//
// What did not do: a timerfd for each client costs a system call and a lock per sleep; one without spinning
// is as late as an idle processor wakes up; and exact delays of poll and back-off wake each of many waiters alone.
package alarm

import "time"

// horizon is the longest sleep that is made exact. A longer one may be a millisecond late, which is 2 % of it.
const horizon = 50 * time.Millisecond

// Timer sleeps for one goroutine, repeatedly. The zero value is ready to use.
type Timer struct {
	timer *time.Timer
	exact bool // otherwise only the runtime's timer is used
}

// base is the zero point of all readings.
var base = time.Now()

// now returns the monotonic time since base.
func now() time.Duration { return time.Since(base) }

// Sleep returns true after d, never earlier, or false as soon as stop or wake can be received from. Either may be nil.
// Only the first call allocates.
func (t *Timer) Sleep(d time.Duration, stop, wake <-chan struct{}) bool {
	if d <= 0 {
		return true
	}
	if t.prepare(); !t.exact || d > horizon {
		return t.Doze(d, stop, wake)
	}
	begun := now()
	to := begun + d
	if left := process.until(d); left > 0 {
		t.timer.Reset(left) // first: the poller must not wake before the timer is due
		slot := poller.wakeAt(begun + left)
		expired := t.await(stop, wake)
		poller.cancel(slot)
		if !expired {
			return false
		}
		at := now()
		process.record(at, at-begun-left)
	}
	return spin(to, stop, wake)
}

// Doze is Sleep with a timer of the runtime alone. It may be late, and does not spin.
func (t *Timer) Doze(d time.Duration, stop, wake <-chan struct{}) bool {
	t.prepare()
	t.timer.Reset(d)
	return t.await(stop, wake)
}

func (t *Timer) prepare() {
	if t.timer == nil {
		t.timer = time.NewTimer(time.Hour)
		t.exact = Exact()
	}
}

// await waits for the timer, which is set. Since Go 1.23 no earlier tick can be left in its channel.
func (t *Timer) await(stop, wake <-chan struct{}) bool {
	select {
	case <-t.timer.C:
		return true
	case <-stop:
	case <-wake:
	}
	t.timer.Stop()
	return false
}

// spin spins until the time has come.
func spin(to time.Duration, stop, wake <-chan struct{}) bool {
	for now() < to {
		select {
		case <-stop:
			return false
		case <-wake:
			return false
		default:
		}
	}
	return true
}
