package alarm

// The bell: a timerfd(2) that wakes the network poller when a timer of the runtime is due.

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

	// grace is how much later than its timer the bell rings. By then a busy runtime has run the timer, and needs no
	// bell.
	grace = 5 * time.Microsecond

	// longestGap bounds the pauses of a bell that is not needed.
	longestGap = time.Millisecond
)

// bell wakes the poller when timers are due. The poller returns when the timerfd rings, and an idle processor runs the
// timers that are due, of all processors. Clients wait on timers of the runtime, so a bell that is late or silent
// leaves them with the runtime's own precision.
//
// A goroutine sets a bit when it goes to sleep and clears it when it is awake. All timers share one timerfd, which one
// goroutine sets to the next bit; that goroutine runs from the first sleep until there was none for some 100 ms.
//
// Where goroutines wait for a processor, due timers are noticed between any two of them, and a bell would only wake
// processors for nothing: with 512 clients over rueidis it kept both cores busy, and reduced holds of 200 µs from
// 149,000 to 126,000 locks/s. A bell that rings after its bit was cleared was not needed; then it pauses, twice as long
// each time, and half as long when it was needed.
type bell struct {
	set   [slots / 64]atomic.Uint64 // bit i is for all slots that are i modulo slots
	armed atomic.Int64              // the slot that the timerfd is set to; never if there is none
	aim   *aim

	mu   sync.Mutex // guards the timerfd, and writes of armed
	file *os.File   // nil while the goroutine does not run
	fd   int
	dead bool // this system has no timerfd
	used bool // the timerfd was set since the goroutine last set it
}

var poller = newBell(process)

func newBell(a *aim) *bell {
	b := &bell{aim: a}
	b.armed.Store(never)
	return b
}

func slotOf(at time.Duration) int64            { return int64(at) >> slotBits }
func startOf(slot int64) time.Duration         { return time.Duration(slot << slotBits) }
func (b *bell) word(slot int64) *atomic.Uint64 { return &b.set[slot%slots/64] }

// ringAt makes the bell ring soon after that time, and returns the argument for forget.
func (b *bell) ringAt(at time.Duration) (slot int64) {
	slot = slotOf(at+grace) + 1
	b.word(slot).Or(1 << (slot % 64))
	if slot < b.armed.Load() {
		b.sooner(slot)
	}
	return slot
}

// forget undoes ringAt, for all sleeps with the same slot: they are due at the same time, and the process is awake.
func (b *bell) forget(slot int64) { b.word(slot).And(^uint64(1 << (slot % 64))) }

// sooner sets the timerfd to an earlier slot.
func (b *bell) sooner(slot int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if slot >= b.armed.Load() || b.dead {
		return
	}
	if b.file == nil && !b.start() {
		b.dead = true
		return
	}
	b.used = true
	b.arm(slot, now(), 0)
}

// start makes the timerfd and the goroutine that waits for it.
func (b *bell) start() bool {
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
	b.file, b.fd = file, fd
	go b.run(conn, slotOf(now()))
	return true
}

// arm sets the timerfd to ring at a slot, but not before a pause.
func (b *bell) arm(slot int64, at, pause time.Duration) {
	b.armed.Store(slot)
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(max(startOf(slot)-at, pause, 1)))}
	_ = unix.TimerfdSettime(b.fd, 0, &spec, nil)
}

// run sets the timerfd again and again. Slots up to last have passed.
func (b *bell) run(conn syscall.RawConn, last int64) {
	// conn.Read calls rung before it waits and after: the timerfd may have rung before it began to wait.
	rung := func(uintptr) bool { return slotOf(now()) >= b.armed.Load() }
	var gap time.Duration
	quiet := false // the last time there was no sleeper, and none since the time before
	for {
		err := conn.Read(rung)
		b.mu.Lock()
		// From here on, a goroutine that sets a bit calls sooner, or has set it before the search begins.
		b.armed.Store(never)
		at := now()
		slot := slotOf(at)
		switch needed := b.clear(max(last, slot-slots)+1, slot); {
		case needed:
			gap /= 2
		case !quiet:
			gap = min(2*gap+time.Microsecond, longestGap)
		}
		last = slot
		next, found := b.next(slot + 1)
		wasQuiet := quiet
		quiet, b.used = !found && !b.used, false
		if err != nil || quiet && wasQuiet {
			b.dead = err != nil
			b.file.Close()
			b.file = nil
			b.mu.Unlock()
			return
		}
		if !found {
			next = slot + slots - 1
		}
		pause := gap
		if !b.aim.busy() {
			pause = 0
		}
		b.arm(next, at, pause)
		b.mu.Unlock()
	}
}

// clear clears the slots from first to last, and reports whether one was set.
func (b *bell) clear(first, last int64) (any bool) {
	for first <= last {
		n := min(64-first%64, last-first+1) // slots in this word
		mask := ^uint64(0) >> (64 - n) << (first % 64)
		if b.word(first).Load()&mask != 0 {
			b.word(first).And(^mask)
			any = true
		}
		first += n
	}
	return any
}

// next returns the first set slot from slot on.
func (b *bell) next(slot int64) (next int64, found bool) {
	for end := slot + slots; slot < end; slot += 64 - slot%64 {
		if w := b.word(slot).Load() >> (slot % 64); w != 0 {
			return slot + int64(bits.TrailingZeros64(w)), true
		}
	}
	return 0, false
}

// Rings reports whether timers of the system ring for the clock that the caller sees. They do not on the fake clock of
// package testing/synctest, and only on Linux.
func Rings() bool {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_REALTIME, &t) != nil {
		return false
	}
	return time.Since(time.Unix(t.Unix())).Abs() < time.Hour
}
