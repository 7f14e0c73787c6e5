package deploy

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// sweeper is a driver whose sweeps each return the next error, after the time that this takes. The last one is repeated.
type sweeper struct {
	attempts []attempt
	calls    int
}

type attempt struct {
	takes time.Duration
	err   error
}

func (s *sweeper) Sweep(context.Context, drivers.Config, bool) ([]string, error) {
	a := s.attempts[min(s.calls, len(s.attempts)-1)]
	s.calls++
	time.Sleep(a.takes)
	return nil, a.err
}

// TestSweepPatiently gives up on a server that hangs after two time-outs in a row, and not on one that comes back.
func TestSweepPatiently(t *testing.T) {
	const io = 3 * time.Second
	timeout := attempt{io, &drivers.Error{Class: drivers.ClassTimeout, Op: "sweep", Err: context.DeadlineExceeded}}
	dial := attempt{io, &drivers.Error{Class: drivers.ClassConnect, Op: "connect", Err: context.DeadlineExceeded}}
	loading := attempt{0, errors.New("LOADING Redis is loading the dataset in memory")}
	refused := attempt{0, &drivers.Error{Class: drivers.ClassConnect, Op: "connect", Err: syscall.ECONNREFUSED}}
	auth := attempt{0, &drivers.Error{Class: drivers.ClassAuth, Op: "sweep", Err: errors.New("WRONGPASS")}}
	loads := func(n int, then ...attempt) (list []attempt) {
		for range n {
			list = append(list, loading)
		}
		return append(list, then...)
	}
	for _, c := range []struct {
		name     string
		attempts []attempt
		calls    int // 0: until the time is over
		ok       bool
	}{
		{"success", []attempt{{}}, 1, true},
		{"hangs", []attempt{timeout}, 2, false},
		{"accepts no connection", []attempt{dial}, 2, false},
		{"hangs while it loads", loads(3, timeout, loading, timeout, timeout, attempt{}), 7, false},
		{"slow at first", []attempt{timeout, {}}, 2, true},
		{"loads for long", loads(12, attempt{}), 13, true},
		{"restarts", []attempt{refused, refused, refused, loading, {}}, 5, true},
		{"never comes back", []attempt{refused}, 0, false},
		{"rejects the login", []attempt{auth, {}}, 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, s := time.Now(), &sweeper{attempts: c.attempts}
				err := SweepPatiently(s, drivers.Config{})
				if c.ok != (err == nil) || c.calls != 0 && s.calls != c.calls {
					t.Errorf("%d attempts, want %d, and then %v", s.calls, c.calls, err)
				}
				if took := time.Since(began); c.calls == 0 && (took != sweepTimeout || s.calls < 10) {
					t.Errorf("it gave up after %v and %d attempts, want %v", took, s.calls, sweepTimeout)
				}
			})
		})
	}
}
