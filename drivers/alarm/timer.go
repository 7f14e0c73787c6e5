// Package alarm has the timer on which simulated clients sleep in holds and thinks, and after errors. Between two tries they
// sleep like any Go program.
//
// A timer of the Go runtime is up to a millisecond late on Linux, because an idle process waits in the network
// poller, whose time-out is in whole milliseconds. A busy process looks at its timers between any two goroutines, and
// they are hardly late. So a hold of 200 µs lasts 0.2 to 1 ms, depending on how busy the client library keeps the
// process, and two libraries do not get the same load.
//
// A Timer is a timer of the runtime with two additions. A bell wakes the poller when the timer is due; see
// bell_linux.go. And the timer is set early by the usual lateness of timers, and the goroutine spins for the rest,
// unless others wait for the processor; see aim.go. On systems other than Linux, and on the fake clock of package
// testing/synctest, a Timer is a plain timer of the runtime.
//
// Medians of a hold of 50 µs, 200 µs, 900 µs and 2.1 ms over rueidis, on two cores that others used as well, at real-time
// priority: with one client 1,061, 1,063, 1,067 and 3,109 µs before and 51, 205, 913 and 2,122 µs with a Timer, on
// 0.56 and 0.91 cores for 200 µs, 0.25 and 0.23 for 2.1 ms. With 64 clients on keys of their own, which keep both cores
// busy, 57, 226, 1,236 and 2,658 µs and 57, 241, 938 and 2,144 µs: what is left is the wait for a processor.
//
// What did not work as well:
//
//   - A bell that each client sets itself, from a heap of all timers, when it falls asleep and wakes: a system call and
//     a lock per sleep. 64 clients that held for 50 µs made 36,000 locks/s instead of 87,000.
//   - A bell alone, without spinning: as late as an idle processor wakes up, which is 17 µs on a quiet machine and 35 to
//     80 µs on this one, so that a hold of 200 µs lasted 280 µs.
//   - A bell that always rings, and spinning whatever else runs: see bell and aim.busy.
//   - The same for the delays of poll and back-off. 512 clients that contended for 10 keys without a hold used 44 µs of
//     CPU time per lock instead of 33, and made fewer. There are many waiters, and exact delays wake each of them alone,
//     while the poller's milliseconds wake them together. They sleep like any Go program.
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
		t.timer.Reset(left) // before the bell, which must not ring before the timer is due
		slot := poller.ringAt(begun + left)
		rang := t.await(stop, wake)
		poller.forget(slot)
		if !rang {
			return false
		}
		at := now()
		process.woke(at, at-begun-left)
	}
	return spin(to, stop, wake)
}

// Doze is Sleep with a timer of the runtime alone: it may be late, and takes no processor meanwhile.
func (t *Timer) Doze(d time.Duration, stop, wake <-chan struct{}) bool {
	t.prepare()
	t.timer.Reset(d)
	return t.await(stop, wake)
}

func (t *Timer) prepare() {
	if t.timer == nil {
		t.timer = time.NewTimer(time.Hour)
		t.exact = Rings()
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
