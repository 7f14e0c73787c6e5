// The pacer: one goroutine that lets the arrivals of all schedules go when they are due.

package pace

import (
	"runtime"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// Run lets the arrivals of all lanes go until they end or stop is closed; it returns then, at once. The clock's 0 is
// the load's begin. It works on the fake clock of package testing/synctest too, where nothing is ever late.
func Run(clock drivers.Clock, stop <-chan struct{}, lanes ...Lane) {
	s := newSleeper(clock, stop)
	defer s.close()
	m := merge(lanes)
	for {
		select {
		case <-stop:
			return
		default:
		}
		due, ok := m.dispatch(clock.Now())
		if !ok {
			return
		}
		// The clients that have arrivals now are next on this processor, before the pacer's sleep and without waking
		// another thread for them: a few microseconds less lag, and less CPU time.
		runtime.Gosched()
		if !s.sleep(due) {
			return
		}
	}
}

// most arrivals that go between two looks at stop.
const batch = 1024

// merged is the lanes, each with its next arrival.
type merged struct {
	lanes []Lane
	due   []time.Duration
}

func merge(lanes []Lane) *merged {
	m := &merged{}
	for _, l := range lanes {
		if due, ok := l.Schedule.Next(); ok {
			m.lanes = append(m.lanes, l)
			m.due = append(m.due, due)
		}
	}
	return m
}

// dispatch hands out a batch of arrivals that are due at now, and returns when the next one is; false if there is none. There
// are few lanes: the earliest is found by looking at all.
func (m *merged) dispatch(now time.Duration) (due time.Duration, ok bool) {
	for range batch {
		i := m.earliest()
		if i < 0 {
			return 0, false
		}
		if m.due[i] > now {
			return m.due[i], true
		}
		m.lanes[i].Due(m.due[i])
		if m.due[i], ok = m.lanes[i].Schedule.Next(); !ok {
			m.remove(i)
		}
	}
	return now, true
}

// earliest returns the lane whose arrival is due first, the first one of several; negative if there is none.
func (m *merged) earliest() int {
	first := -1
	for i, due := range m.due {
		if first < 0 || due < m.due[first] {
			first = i
		}
	}
	return first
}

func (m *merged) remove(i int) {
	m.lanes = append(m.lanes[:i], m.lanes[i+1:]...)
	m.due = append(m.due[:i], m.due[i+1:]...)
}
