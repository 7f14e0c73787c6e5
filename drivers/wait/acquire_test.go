// The acquisition loop, with scripted sessions.

package wait_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/wait"
)

var errRefused = &drivers.Error{Class: drivers.ClassServer, Op: "test", Err: errors.New("out of memory")}

// scripted is a session and its waiter that follow a script, and count. Times pass inside the calls.
type scripted struct {
	answers []bool // of Try; after the last one, false
	tryErr  error  // of the try after the last answer
	trying  time.Duration
	waiting time.Duration // the duration of a Wait
	waitErr error
	inWait  func()

	leaveErr error
	tries    int
	waits    int
	leaves   int
	leaveCtx func(ctx context.Context)
}

func (s *scripted) Try(context.Context, *drivers.Lease) (bool, error) {
	time.Sleep(s.trying)
	s.tries++
	switch {
	case s.tries <= len(s.answers):
		return s.answers[s.tries-1], nil
	case s.tryErr != nil:
		return true, s.tryErr // true with an error must not count as held
	}
	return false, nil
}

func (s *scripted) Release(context.Context, *drivers.Lease) (bool, error) { return true, nil }

func (s *scripted) Wait(context.Context, *drivers.Lease) error {
	time.Sleep(s.waiting)
	s.waits++
	if s.inWait != nil {
		s.inWait()
	}
	return s.waitErr
}

func (s *scripted) Leave(ctx context.Context, _ *drivers.Lease) error {
	s.leaves++
	if s.leaveCtx != nil {
		s.leaveCtx(ctx)
	}
	return s.leaveErr
}

// acquire does a whole acquisition, including the first try.
func acquire(ctx context.Context, s drivers.Session, w drivers.Waiter, l *drivers.Lease, clock *drivers.Clock) (wait.Attempt, error) {
	held, err := s.Try(ctx, l)
	return wait.After(ctx, held, err, s, w, l, clock, nil)
}

func TestAcquire(t *testing.T) {
	for _, test := range []struct {
		name    string
		s       scripted
		timeout time.Duration // 0 for no deadline
		alone   bool          // without a waiter
		want    wait.Attempt
		err     error
	}{
		{"granted at once", scripted{answers: []bool{true}}, 0, false,
			wait.Attempt{Held: true, Tries: 1}, nil},
		{"granted after waiting", scripted{answers: []bool{false, false, true}, waiting: ms}, 0, false,
			wait.Attempt{Held: true, Tries: 3, Waits: 2}, nil},
		{"contended", scripted{}, 0, true,
			wait.Attempt{Tries: 1}, nil},
		{"timeout runs out while waiting", scripted{waiting: 10 * ms}, 25 * ms, false,
			wait.Attempt{Tries: 3, Waits: 3}, nil},
		{"timeout runs out exactly with the wait", scripted{waiting: 10 * ms}, 20 * ms, false,
			wait.Attempt{Tries: 2, Waits: 2}, nil},
		{"timeout runs out while trying", scripted{trying: 10 * ms, leaveErr: errBroken}, 5 * ms, false,
			wait.Attempt{Tries: 1, Leave: errBroken}, nil},
		{"granted late, but sent in time", scripted{answers: []bool{true}, trying: 10 * ms}, 5 * ms, false,
			wait.Attempt{Held: true, Tries: 1}, nil},
		{"first try fails", scripted{tryErr: errBroken}, 0, false,
			wait.Attempt{Tries: 1, Unknown: true}, errBroken},
		{"first try is refused", scripted{tryErr: errRefused}, 0, false,
			wait.Attempt{Tries: 1}, errRefused},
		{"later try fails", scripted{answers: []bool{false}, tryErr: errBroken, waiting: ms}, 0, false,
			wait.Attempt{Tries: 2, Waits: 1, Unknown: true}, errBroken},
		{"wait fails", scripted{waitErr: errBroken, waiting: ms}, 0, false,
			wait.Attempt{Tries: 1, Waits: 1}, errBroken},
		{"leave fails", scripted{answers: []bool{false, true}, waiting: ms, leaveErr: errBroken}, 0, false,
			wait.Attempt{Held: true, Tries: 2, Waits: 1, Leave: errBroken}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clock := drivers.NewClock()
				time.Sleep(time.Second)
				start := clock.Now()
				l := drivers.Lease{Key: "k"}
				if test.timeout > 0 {
					l.Deadline = clock.Time(start + test.timeout)
				}
				var w drivers.Waiter = &test.s
				if test.alone {
					w = nil
				}
				a, err := acquire(t.Context(), &test.s, w, &l, &clock)
				if waited := a.Asked - a.Began; a.Tries > 1 && (a.Began < start || waited < test.s.waiting) || a.Tries == 1 && a.Asked != 0 {
					t.Errorf("%d tries: the wait began at %v and the last Try at %v; start was at %v", a.Tries, a.Began, a.Asked, start)
				}
				a.Began, a.Asked = 0, 0
				if a != test.want || err != test.err {
					t.Errorf("got %+v, %v; want %+v, %v", a, err, test.want, test.err)
				}
				if test.s.tries != a.Tries || test.s.waits != a.Waits {
					t.Errorf("counted %d tries and %d waits of %d and %d", a.Tries, a.Waits, test.s.tries, test.s.waits)
				}
				leaves := 1
				if test.alone || a.Tries == 1 && (a.Held || a.Waits == 0 && err != nil) { // decided by the first try
					leaves = 0
				}
				if test.s.leaves != leaves {
					t.Errorf("left %d times after %d waits, want %d", test.s.leaves, a.Waits, leaves)
				}
			})
		})
	}
}

// A client that is cancelled while it waits withdraws with a context that still works, though not for ever; while the
// caller's context lives, it is that one.
func TestAcquireLeavesAfterCancel(t *testing.T) {
	type key struct{}
	for _, cancelled := range []bool{true, false} {
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "kept"))
		defer cancel()
		s, clock := &scripted{answers: []bool{false, !cancelled}}, drivers.NewClock()
		if cancelled {
			s.inWait, s.waitErr = cancel, context.Canceled
		}
		s.leaveCtx = func(leaving context.Context) {
			end, bounded := leaving.Deadline()
			switch {
			case !cancelled && leaving != ctx:
				t.Error("Leave got another context")
			case leaving.Err() != nil || leaving.Value(key{}) != "kept":
				t.Errorf("Leave got a context with error %v and value %v", leaving.Err(), leaving.Value(key{}))
			case cancelled && (!bounded || time.Until(end) <= 0 || time.Until(end) > time.Minute):
				t.Errorf("Leave may take until %v", end)
			}
		}
		a, err := acquire(ctx, s, s, &drivers.Lease{}, &clock)
		if a.Held == cancelled || cancelled != errors.Is(err, context.Canceled) || s.leaves != 1 {
			t.Errorf("got %+v, %v after %d leaves", a, err, s.leaves)
		}
	}
}

// A wake-up and the end of the context that come together cause no further try: its outcome would be unknown.
func TestAcquireSendsNothingAfterCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s, clock := &scripted{answers: []bool{false, true}, inWait: cancel}, drivers.NewClock()
	a, err := acquire(ctx, s, s, &drivers.Lease{}, &clock)
	if a.Held || a.Tries != 1 || err != context.Canceled || s.leaves != 1 {
		t.Errorf("got %+v, %v after %d leaves", a, err, s.leaves)
	}
}

// Neither the loop nor a way of waiting allocates, with or without a wait, once timers and subscriptions exist. A client
// that need not wait asks the server for nothing but its lock.
func TestNothingIsAllocated(t *testing.T) {
	micro := wait.Options{Poll: time.Microsecond, BackoffMin: time.Microsecond, BackoffMax: 2 * time.Microsecond}
	for _, kind := range []string{wait.Poll, wait.Backoff, wait.PubSub, wait.Queue} {
		for _, tries := range []int{1, 3} {
			svc := newService()
			room := newRoom(t, kind, svc, micro)
			c := newClient(t, svc, room, 0, "k", func(s *session) drivers.Session { return s })
			svc.tried = func(s *session, _ bool) {
				if s.tries == tries-1 {
					svc.release("k")
				}
			}
			c.timeout(time.Hour)
			cycle := func() {
				if c.tries = 0; tries > 1 {
					svc.hold("k", time.Hour)
				}
				if a, err := c.acquire(t.Context()); !a.Held || a.Tries != tries || err != nil {
					t.Fatal(a, err)
				}
				c.free()
			}
			if n := testing.AllocsPerRun(100, cycle); n != 0 {
				t.Errorf("%s, %d tries: %v allocations", kind, tries, n)
			}
			if log := svc.noted(); tries == 1 && len(log) > 1 {
				t.Errorf("%s: the server was asked for %v", kind, log)
			}
			closeRoom(t, room)
		}
	}
}
