package alarm

// How much early a timer is set, and whether the processor may be kept for the rest.

import (
	"runtime/metrics"
	"sync/atomic"
	"time"
)

const (
	// mostEarly bounds how much early a timer is set, and so how long a goroutine spins at the end of a sleep. An idle
	// processor of a virtual machine wakes up 20 to 80 µs after the bell, and where 512 clients wait for one key half of
	// the holds end behind clients that are woken at the same time, by some 180 µs.
	mostEarly = 250 * time.Microsecond

	// leastSleep is the shortest sleep that is worth a timer, and one that is shorter than the timers are late is not worth
	// it either, unless it would have to spin for more than mostSpun. A goroutine spins for the whole of those, but for
	// one in exploring, so that the lateness is still measured.
	leastSleep = 10 * time.Microsecond
	mostSpun   = 100 * time.Microsecond
	exploring  = 16

	// later and sooner are how much the estimate moves when a timer was later than that, and by which part of the
	// difference when it was not. The estimate comes to rest where the mean spin is the share of timers that are later,
	// times later × sooner. So a sleep spins for less than 96 µs on average, however much the lateness scatters.
	// Where 512 clients wait for one key, half of the holds of 200 µs lasted 226 µs or more with a bound of 8 µs, 207 µs
	// with 32 and 202 µs with 96, on 0.92, 0.92 and 0.99 cores, and half of those of 900 µs 988, 986 and 953 µs. 64 clients
	// on 10 keys, which leave the cores little time to spin, made 0.93 of the locks/s with holds of 50 µs that lasted 56 µs
	// in place of 77 µs.
	later  = 3 * time.Microsecond
	sooner = 32

	// lookEvery is how often the run queues are looked at, which takes the scheduler's lock for a microsecond. The last
	// 16 looks count most.
	lookEvery = 100 * time.Microsecond
	looks     = 16

	// crowded is the number of looks, of 1024, that have found a goroutine waiting for a processor, from which on nobody
	// spins. It was 10 to 80 with one client over rueidis on two cores, 200 to 700 with 64 and 512 that contend for one
	// key, and 850 to 1,000 with as many on keys of their own, which keep both cores busy.
	crowded = 800
)

// aim is what the sleeps of a process have taught about its timers. It is shared, because it is the same for all, and
// one that sleeps seldom would learn too slowly.
type aim struct {
	early atomic.Int64 // how late timers usually are, in nanoseconds
	crowd atomic.Int64 // how many looks of 1024 have found goroutines that wait for a processor, lately

	explored atomic.Int64
	looked   atomic.Int64 // when the run queues were looked at last; math.MaxInt64 while somebody does
	queues   []metrics.Sample
}

var process = newAim()

func newAim() *aim {
	a := &aim{queues: []metrics.Sample{{Name: "/sched/goroutines/runnable:goroutines"}}}
	a.early.Store(int64(20 * time.Microsecond))
	return a
}

// busy reports whether goroutines wait for a processor. Spinning would take it from them and, on one machine, from the
// server, so nobody spins then, and no timer is set early. 512 clients over rueidis that spun nevertheless made 111,000
// locks/s instead of 149,000, and their holds of 200 µs lasted 305 µs instead of 203.
func (a *aim) busy() bool { return a.crowd.Load() >= crowded }

// until is for how long a timer is set that is to end after d; zero means to spin at once.
func (a *aim) until(d time.Duration) time.Duration {
	if a.busy() {
		return d
	}
	early := time.Duration(a.early.Load())
	left := d - early
	switch {
	case left >= early && left >= leastSleep:
		return left
	case d > mostSpun+leastSleep:
		return max(left, leastSleep)
	case a.explored.Add(1)%exploring == 0:
		return d / 2
	}
	return 0
}

// woke takes down that a timer was late by so much, at that time.
func (a *aim) woke(at, late time.Duration) {
	if last := a.looked.Load(); int64(at)-last >= int64(lookEvery) && a.looked.CompareAndSwap(last, looking) {
		metrics.Read(a.queues)
		a.look(a.queues[0].Value.Uint64() > 0)
		a.looked.Store(int64(at))
	}
	if a.busy() {
		return
	}
	early := time.Duration(a.early.Load())
	if late > early {
		early += later
	} else {
		early -= (early - late) / sooner
	}
	a.early.Store(int64(min(early, mostEarly)))
}

const looking = 1<<63 - 1

// look takes down whether a goroutine was found that waits for a processor.
func (a *aim) look(found bool) {
	crowd := a.crowd.Load()
	if found {
		crowd += (1024 - crowd) / looks
	} else {
		crowd -= crowd / looks
	}
	a.crowd.Store(crowd)
}
