package pace

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// The pacer has the precise timerfd on the system's clock, and never on one that a test has made up: it would not ring.
func TestSleeperFitsTheClock(t *testing.T) {
	s := newSleeper(drivers.NewClock(), nil)
	defer s.close()
	if _, ok := s.(*timerfd); !ok {
		t.Errorf("the sleeper on the system's clock is a %T", s)
	}
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(1000 * time.Hour)
		s := newSleeper(drivers.NewClock(), nil)
		defer s.close()
		if _, ok := s.(*timer); !ok {
			t.Errorf("the sleeper on a clock that a test has made up is a %T", s)
		}
	})
}

// Both kinds sleep until their time, not at all if it has passed, and not after stop, and can be used again.
func TestSleepers(t *testing.T) {
	for name, newOne := range map[string]func(drivers.Clock, <-chan struct{}) sleeper{
		"timerfd": newSleeper,
		"timer":   func(c drivers.Clock, stop <-chan struct{}) sleeper { return newTimer(c, stop) },
	} {
		clock, stop := drivers.NewClock(), make(chan struct{})
		s := newOne(clock, stop)
		for _, after := range []time.Duration{0, 1, time.Microsecond, time.Millisecond, 10 * time.Millisecond} {
			to := clock.Now() + after
			if ok, now := s.sleep(to), clock.Now(); !ok || now < to {
				t.Errorf("%s: slept until %v, %t, should be %v", name, now, ok, to)
			}
		}
		if !s.sleep(-time.Hour) {
			t.Errorf("%s: was stopped in the past", name)
		}
		close(stop)
		if s.sleep(clock.Now() + time.Hour) {
			t.Errorf("%s: slept for an hour though it was stopped", name)
		}
		s.close()
	}
}

func TestSleepAllocatesNothing(t *testing.T) {
	clock := drivers.NewClock()
	s := newSleeper(clock, nil)
	defer s.close()
	if n := testing.AllocsPerRun(200, func() { s.sleep(clock.Now() + 10*time.Microsecond) }); n != 0 {
		t.Errorf("a sleep allocates %v times", n)
	}
}
