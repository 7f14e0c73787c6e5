package pace_test

import (
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads/pace"
)

// list is a schedule of these times.
type list []time.Duration

func (l *list) Next() (due time.Duration, ok bool) {
	if len(*l) == 0 {
		return 0, false
	}
	due, *l = (*l)[0], (*l)[1:]
	return due, true
}

// event is an arrival that was let go.
type event struct {
	lane    int
	at, now time.Duration
}

// On a clock that a test makes up, each arrival goes at its very time, those of all lanes in the order of time.
func TestRunOnAFakeClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := drivers.NewClock()
		var events []event
		lane := func(i int, times ...time.Duration) pace.Lane {
			l := list(times)
			return pace.Lane{Schedule: &l, Due: func(at time.Duration) {
				events = append(events, event{i, at, clock.Now()})
			}}
		}
		pace.Run(clock, nil)
		pace.Run(clock, nil,
			lane(0, 0, 1, time.Second, time.Hour),
			lane(1, 1, 2, time.Second),
			lane(2),
			lane(3, time.Second, time.Second, 2*time.Hour))
		s, h := time.Second, time.Hour
		want := []event{{0, 0, 0}, {0, 1, 1}, {1, 1, 1}, {1, 2, 2}, {0, s, s}, {1, s, s}, {3, s, s}, {3, s, s},
			{0, h, h}, {3, 2 * h, 2 * h}}
		if !slices.Equal(events, want) {
			t.Errorf("%v, want\n%v", events, want)
		}
	})
}

// A consumer that blocks makes the arrivals behind it late, and none is skipped.
func TestRunCatchesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := drivers.NewClock()
		var events []event
		pace.Run(clock, nil, pace.Lane{
			Schedule: pace.Arrivals(spec.Must(spec.ParseRate("1k")), spec.Constant, pace.Window{Duration: 10 * time.Second}, 1),
			Due: func(at time.Duration) {
				if len(events) == 2000 {
					time.Sleep(5 * time.Second)
				}
				events = append(events, event{0, at, clock.Now()})
			},
		})
		if len(events) != 10_000 {
			t.Fatalf("%d arrivals, want 10000", len(events))
		}
		for i, e := range events {
			late := e.now - e.at
			switch {
			case i < 2000 || i > 7000:
				if late != 0 {
					t.Fatalf("arrival %d is %v late", i, late)
				}
			case late != events[2000].now-e.at:
				t.Fatalf("arrival %d goes at %v, want %v", i, e.now, events[2000].now)
			}
		}
	})
}

// Stop ends a sleep, however long it would be, on the fake clock…
func TestRunStopsOnAFakeClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := drivers.NewClock()
		stop := make(chan struct{})
		go func() {
			time.Sleep(1500 * time.Millisecond)
			close(stop)
		}()
		n := 0
		pace.Run(clock, stop, pace.Lane{Schedule: &list{0, time.Second, time.Hour}, Due: func(time.Duration) { n++ }})
		if n != 2 || clock.Now() != 1500*time.Millisecond {
			t.Errorf("stopped at %v after %d arrivals, want 1.5s and 2", clock.Now(), n)
		}
	})
}

// …and on the real one; a rate that the pacer never catches up with can be stopped too, and so can a stop that was
// there before.
func TestRunStops(t *testing.T) {
	for _, tt := range []struct {
		name     string
		schedule pace.Schedule
		stopAt   int // arrivals
	}{
		{"next in an hour", &list{0, time.Hour}, 1},
		{"in the past", pace.Bursts(1_000_000_000, time.Hour, pace.Window{}), 5000},
		{"busy", pace.Arrivals(spec.Must(spec.ParseRate("20k")), spec.Constant, pace.Window{}, 1), 100},
		{"before", &list{time.Hour}, 0},
	} {
		stop := make(chan struct{})
		n := 0
		if tt.stopAt == 0 {
			close(stop)
		}
		pace.Run(drivers.NewClock(), stop, pace.Lane{Schedule: tt.schedule, Due: func(time.Duration) {
			if n++; n == tt.stopAt {
				close(stop)
			}
		}})
		if n < tt.stopAt || n > tt.stopAt+5000 {
			t.Errorf("%s: %d arrivals, want to stop after %d", tt.name, n, tt.stopAt)
		}
	}
}

// On the real clock no arrival goes before its time, they keep their order, and their number is the rate's.
func TestRunIsNeverEarly(t *testing.T) {
	for _, procs := range []int{1, runtime.GOMAXPROCS(0)} {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
		clock := drivers.NewClock()
		w := pace.Window{Duration: 200 * time.Millisecond}
		last, n := time.Duration(0), 0
		due := func(at time.Duration) {
			n++
			if now := clock.Now(); now < at {
				t.Errorf("an arrival due at %v goes at %v", at, now)
			}
			if at < last {
				t.Errorf("an arrival due at %v goes after one due at %v", at, last)
			}
			last = at
		}
		pace.Run(clock, nil,
			pace.Lane{Schedule: pace.Arrivals(spec.Must(spec.ParseRate("5k")), spec.Constant, w, 1), Due: due},
			pace.Lane{Schedule: pace.Arrivals(spec.Must(spec.ParseRate("100")), spec.Constant, w, 2), Due: due},
			pace.Lane{Schedule: pace.Bursts(10, 20*time.Millisecond, w), Due: due})
		if n != 1000+20+100 {
			t.Errorf("GOMAXPROCS %d: %d arrivals, want 1120", procs, n)
		}
	}
}
