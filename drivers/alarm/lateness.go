package alarm

// How early a timer is set, and whether a goroutine may spin for the rest.

import (
	"runtime/metrics"
	"sync/atomic"
	"time"
)

const (
	// maxEarly bounds how early a timer is set, and so how long a goroutine spins at the end of a sleep. An idle
	// processor of a virtual machine wakes up 20 to 80 µs after the timerfd; behind clients that are woken at the same
	// time, it is some 180 µs.
	maxEarly = 250 * time.Microsecond

	// minSleep is the shortest sleep that is worth a timer. A sleep shorter than the lateness of timers is not worth
	// one either, unless it would spin for more than maxSpin. Such a sleep only spins, except for one in exploring,
	// which keeps measuring the lateness.
	minSleep  = 10 * time.Microsecond
	maxSpin   = 100 * time.Microsecond
	exploring = 16

	// later and sooner say how the estimate changes: it rises by later if a timer was later than it, and falls by the
	// difference/sooner if not. It settles where the mean spin is the share of later timers, times later × sooner. So a
	// sleep spins for less than 96 µs on average, however much the lateness scatters. Less does not help: where 512
	// clients wait for one key, half of the holds of 200 µs lasted 226 µs or more with a bound of 8 µs, 207 µs with 32
	// and 202 µs with 96, on 0.92, 0.92 and 0.99 cores.
	later  = 3 * time.Microsecond
	sooner = 32

	// lookEvery is the time between two looks at the run queues, each of which takes the scheduler's lock for a
	// microsecond. The last 16 looks count most.
	lookEvery = 100 * time.Microsecond
	looks     = 16

	// crowded is the number of looks, of 1024, with a goroutine waiting for a processor, from which on no goroutine
	// spins. It is 10 to 80 with one client on two cores, 200 to 700 with 64 and 512 clients that contend for one key,
	// and 850 to 1,000 with clients that keep both cores busy.
	crowded = 800
)

// lateness is what a process has learned about its timers from its sleeps. It is shared because it is the same for all, and
// a goroutine that seldom sleeps would learn too slowly.
type lateness struct {
	early atomic.Int64 // how late timers usually are, in nanoseconds
	crowd atomic.Int64 // looks of 1024 that have lately found goroutines waiting for a processor

	explored atomic.Int64
	looked   atomic.Int64 // when the run queues were last looked at; math.MaxInt64 during a look
	queues   []metrics.Sample
}

var process = newLateness()

func newLateness() *lateness {
	l := &lateness{queues: []metrics.Sample{{Name: "/sched/goroutines/runnable:goroutines"}}}
	l.early.Store(int64(20 * time.Microsecond))
	return l
}

// busy reports whether goroutines wait for a processor. Spinning would take it from them and, on one machine, from the
// server (111,000 instead of 149,000 locks/s with 512 clients); so no goroutine spins then, and no timer is set early.
func (l *lateness) busy() bool { return l.crowd.Load() >= crowded }

// until returns the duration for the timer of a sleep of d; zero means to spin at once.
func (l *lateness) until(d time.Duration) time.Duration {
	if l.busy() {
		return d
	}
	early := time.Duration(l.early.Load())
	left := d - early
	switch {
	case left >= early && left >= minSleep:
		return left
	case d > maxSpin+minSleep:
		return max(left, minSleep)
	case l.explored.Add(1)%exploring == 0:
		return d / 2
	}
	return 0
}

// record records how late a timer was, at that time.
func (l *lateness) record(at, late time.Duration) {
	if last := l.looked.Load(); int64(at)-last >= int64(lookEvery) && l.looked.CompareAndSwap(last, looking) {
		metrics.Read(l.queues)
		l.recordQueue(l.queues[0].Value.Uint64() > 0)
		l.looked.Store(int64(at))
	}
	if l.busy() {
		return
	}
	early := time.Duration(l.early.Load())
	if late > early {
		early += later
	} else {
		early -= (early - late) / sooner
	}
	l.early.Store(int64(min(early, maxEarly)))
}

const looking = 1<<63 - 1

// recordQueue records whether a goroutine was waiting for a processor.
func (l *lateness) recordQueue(found bool) {
	crowd := l.crowd.Load()
	if found {
		crowd += (1024 - crowd) / looks
	} else {
		crowd -= crowd / looks
	}
	l.crowd.Store(crowd)
}
