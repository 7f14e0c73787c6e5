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

var (
	errBroken  = errors.New("connection reset")
	errRefused = &drivers.Error{Class: drivers.ClassServer, Op: "test", Err: errors.New("out of memory")}
)

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
	const ms = time.Millisecond
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

// A client that is cancelled while it waits withdraws with a context that still works, though not for ever.
func TestAcquireLeavesAfterCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "kept"))
		s, clock := &scripted{waiting: time.Millisecond, waitErr: context.Canceled, inWait: cancel}, drivers.NewClock()
		s.leaveCtx = func(ctx context.Context) {
			if ctx.Err() != nil || ctx.Value(key{}) != "kept" {
				t.Errorf("Leave got a context with error %v and value %v", ctx.Err(), ctx.Value(key{}))
			}
			if end, bounded := ctx.Deadline(); !bounded || time.Until(end) <= 0 || time.Until(end) > time.Minute {
				t.Errorf("Leave may take until %v", end)
			}
		}
		a, err := acquire(ctx, s, s, &drivers.Lease{}, &clock)
		if a.Held || !errors.Is(err, context.Canceled) || s.leaves != 1 {
			t.Errorf("got %+v, %v after %d leaves", a, err, s.leaves)
		}
	})
}

// While the caller's context lives, Leave gets it, with its values and its end.
func TestAcquireLeavesWithCallersContext(t *testing.T) {
	s, clock := &scripted{answers: []bool{false, true}}, drivers.NewClock()
	s.leaveCtx = func(ctx context.Context) {
		if ctx != t.Context() {
			t.Error("Leave got another context")
		}
	}
	if a, err := acquire(t.Context(), s, s, &drivers.Lease{}, &clock); !a.Held || err != nil || s.leaves != 1 {
		t.Errorf("got %+v, %v after %d leaves", a, err, s.leaves)
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

func TestAcquireAllocatesNothing(t *testing.T) {
	s := &scripted{answers: []bool{true}}
	l := drivers.Lease{Key: "k", Deadline: time.Now().Add(time.Hour)}
	clock := drivers.NewClock()
	ctx := t.Context()
	for _, test := range []struct {
		name    string
		answers []bool
	}{
		{"uncontended", []bool{true}},
		{"contended", []bool{false, false, true}},
	} {
		s.answers = test.answers
		if n := testing.AllocsPerRun(1000, func() {
			s.tries = 0
			if a, err := acquire(ctx, s, s, &l, &clock); !a.Held || err != nil {
				t.Fatal(a, err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", test.name, n)
		}
	}
}

func BenchmarkAcquireUncontended(b *testing.B) {
	s := &scripted{answers: []bool{true}}
	l := drivers.Lease{Key: "k"}
	clock := drivers.NewClock()
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		s.tries = 0
		if a, err := acquire(ctx, s, s, &l, &clock); !a.Held || err != nil {
			b.Fatal(a, err)
		}
	}
}
