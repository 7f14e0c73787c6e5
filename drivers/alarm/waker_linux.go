package alarm

// A timerfd(2) that wakes the network poller when a timer of the runtime is due.

import (
	"math/bits"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	slotBits = 11      // a slot is 2 µs
	slots    = 1 << 15 // 67 ms, which must be more than the horizon
	never    = 1<<63 - 1

	// grace is how much later than its timer the timerfd expires. By then a busy runtime has run the timer, and the slot
	// is cleared.
	grace = 5 * time.Microsecond

	// longestGap bounds the pauses of a timerfd that is not needed.
	longestGap = time.Millisecond
)

// waker wakes the poller when timers are due. The poller returns when the timerfd expires, and an idle processor runs
// the timers that are due, of all processors. Clients wait on timers of the runtime, so a waker that is late or fails
// leaves them with the runtime's own precision.
//
// A goroutine sets a bit when it goes to sleep and clears it when it is awake. All timers share one timerfd, which one
// goroutine sets to the next bit; that goroutine runs from the first sleep until there was none for some 100 ms.
//
// Where goroutines wait for a processor, due timers are noticed between any two of them, and the timerfd would only wake
// processors for nothing. If its bit is clear when it expires, it was not needed; then it pauses, twice as long each
// time, and half as long when it was needed.
type waker struct {
	set      [slots / 64]atomic.Uint64 // bit i is for all slots that are i modulo slots
	armed    atomic.Int64              // the slot that the timerfd is set to; never if there is none
	lateness *lateness

	mu   sync.Mutex // guards the timerfd, and writes of armed
	file *os.File   // nil while the goroutine does not run
	fd   int
	dead bool // this system has no timerfd
	used bool // the timerfd was set since the goroutine last set it
}

var poller = newWaker(process)

func newWaker(l *lateness) *waker {
	w := &waker{lateness: l}
	w.armed.Store(never)
	return w
}

func slotOf(at time.Duration) int64             { return int64(at) >> slotBits }
func startOf(slot int64) time.Duration          { return time.Duration(slot << slotBits) }
func (w *waker) word(slot int64) *atomic.Uint64 { return &w.set[slot%slots/64] }

// wakeAt makes the poller wake up soon after that time, and returns the argument for cancel.
func (w *waker) wakeAt(at time.Duration) (slot int64) {
	slot = slotOf(at+grace) + 1
	w.word(slot).Or(1 << (slot % 64))
	if slot < w.armed.Load() {
		w.sooner(slot)
	}
	return slot
}

// cancel undoes wakeAt, for all sleeps with the same slot: they are due at the same time, and the process is awake.
func (w *waker) cancel(slot int64) { w.word(slot).And(^uint64(1 << (slot % 64))) }

// sooner sets the timerfd to an earlier slot.
func (w *waker) sooner(slot int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if slot >= w.armed.Load() || w.dead {
		return
	}
	if w.file == nil && !w.start() {
		w.dead = true
		return
	}
	w.used = true
	w.arm(slot, now(), 0)
}

// start makes the timerfd and the goroutine that waits for it.
func (w *waker) start() bool {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return false
	}
	file := os.NewFile(uintptr(fd), "timerfd")
	conn, err := file.SyscallConn()
	if err != nil {
		file.Close()
		return false
	}
	w.file, w.fd = file, fd
	go w.run(conn, slotOf(now()))
	return true
}

// arm sets the timerfd to a slot, but not before a pause.
func (w *waker) arm(slot int64, at, pause time.Duration) {
	w.armed.Store(slot)
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(max(startOf(slot)-at, pause, 1)))}
	_ = unix.TimerfdSettime(w.fd, 0, &spec, nil)
}

// run sets the timerfd again and again. Slots up to last have passed.
func (w *waker) run(conn syscall.RawConn, last int64) {
	// conn.Read calls expired before it waits and after: the timerfd may have expired before it began to wait.
	expired := func(uintptr) bool { return slotOf(now()) >= w.armed.Load() }
	var gap time.Duration
	quiet := false // the last time there was no sleeper, and none since the time before
	for {
		err := conn.Read(expired)
		w.mu.Lock()
		// From here on, a goroutine that sets a bit calls sooner, or has set it before the search begins.
		w.armed.Store(never)
		at := now()
		slot := slotOf(at)
		switch needed := w.clear(max(last, slot-slots)+1, slot); {
		case needed:
			gap /= 2
		case !quiet:
			gap = min(2*gap+time.Microsecond, longestGap)
		}
		last = slot
		next, found := w.next(slot + 1)
		wasQuiet := quiet
		quiet, w.used = !found && !w.used, false
		if err != nil || quiet && wasQuiet {
			w.dead = err != nil
			w.file.Close()
			w.file = nil
			w.mu.Unlock()
			return
		}
		if !found {
			next = slot + slots - 1
		}
		pause := gap
		if !w.lateness.busy() {
			pause = 0
		}
		w.arm(next, at, pause)
		w.mu.Unlock()
	}
}

// clear clears the slots from first to last, and reports whether one was set.
func (w *waker) clear(first, last int64) (any bool) {
	for first <= last {
		n := min(64-first%64, last-first+1) // slots in this word
		if mask := ^uint64(0) >> (64 - n) << (first % 64); w.word(first).Load()&mask != 0 {
			w.word(first).And(^mask)
			any = true
		}
		first += n
	}
	return any
}

// next returns the first set slot from slot on.
func (w *waker) next(slot int64) (next int64, found bool) {
	for end := slot + slots; slot < end; slot += 64 - slot%64 {
		if word := w.word(slot).Load() >> (slot % 64); word != 0 {
			return slot + int64(bits.TrailingZeros64(word)), true
		}
	}
	return 0, false
}

// Exact reports whether timers are more exact than the runtime's, which takes Linux and the system's clock: they are not
// on the fake clock of package testing/synctest.
func Exact() bool {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_REALTIME, &t) != nil {
		return false
	}
	return time.Since(time.Unix(t.Unix())).Abs() < time.Hour
}
