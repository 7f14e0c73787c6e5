package drivers_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

type session struct{}

func (session) Try(context.Context, *drivers.Lease) (bool, error)     { return true, nil }
func (session) Release(context.Context, *drivers.Lease) (bool, error) { return true, nil }

// renewing is a session with a capability, and a mark to distinguish two of them.
type renewing struct {
	drivers.Session
	mark int
}

func (renewing) Renew(context.Context, *drivers.Lease) (bool, error) { return true, nil }

type wrapper struct{ drivers.Session }

func (w wrapper) Unwrap() drivers.Session { return w.Session }

type renewingWrapper struct{ renewing }

func (w renewingWrapper) Unwrap() drivers.Session { return w.Session }

func TestAs(t *testing.T) {
	inner := renewing{session{}, 1}
	for _, test := range []struct {
		name string
		s    drivers.Session
		mark int // 0: none
	}{
		{"none", session{}, 0},
		{"itself", inner, 1},
		{"behind one", wrapper{inner}, 1},
		{"behind three", wrapper{wrapper{wrapper{inner}}}, 1},
		{"behind three, none", wrapper{wrapper{wrapper{session{}}}}, 0},
		{"the outer one", renewingWrapper{renewing{inner, 2}}, 2},
		{"the outer one that has it", wrapper{renewingWrapper{renewing{inner, 2}}}, 2},
		{"hidden by one without Unwrap", struct{ drivers.Session }{inner}, 0},
		{"no session", nil, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, ok := drivers.As[drivers.Renewer](test.s)
			mark := 0
			switch found := r.(type) {
			case renewing:
				mark = found.mark
			case renewingWrapper:
				mark = found.mark
			}
			if ok != (test.mark != 0) || mark != test.mark {
				t.Errorf("As found %d, %v; want %d", mark, ok, test.mark)
			}
			if w, ok := drivers.As[drivers.Waiter](test.s); ok {
				t.Errorf("As found a Waiter, %v, where there is none", w)
			}
		})
	}
}

func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := drivers.NewClock()
		start := time.Now()
		if got := c.Now(); got != 0 {
			t.Errorf("a new clock reads %v", got)
		}
		time.Sleep(90 * time.Minute)
		if got := c.Now(); got != 90*time.Minute {
			t.Errorf("the clock reads %v after 90 minutes", got)
		}
		if got := c.Time(c.Now()); !got.Equal(time.Now()) {
			t.Errorf("the reading is %v, want %v", got, time.Now())
		}
		if got := c.Time(time.Second); !got.Equal(start.Add(time.Second)) {
			t.Errorf("Time(1s) is %v after the start", got.Sub(start))
		}
	})
	c := drivers.NewClock()
	if n := testing.AllocsPerRun(100, func() { c.Now() }); n != 0 {
		t.Errorf("a reading costs %v allocations", n)
	}
}
