// What NewRoom and Client reject, what they need, and that the list of ways of waiting is complete.

package wait_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/wait"
)

func TestKinds(t *testing.T) {
	var names []string
	for _, k := range wait.Kinds() {
		if found, err := wait.Find(k.Name); err != nil || found != k || k.Text == "" || strings.Contains(k.Text, "\n") {
			t.Errorf("Find(%q) = %v, %v", k.Name, found, err)
		}
		names = append(names, k.Name)
	}
	if got := strings.Join(names, " "); got != "none poll backoff pubsub queue block native" {
		t.Errorf("the kinds are %s", got)
	}
}

func TestNewRoomRefuses(t *testing.T) {
	silent, broken := newService(), newService()
	silent.traits.Wakes = false
	broken.listen = func() error { return errBroken }
	const sec = time.Second
	for _, test := range []struct {
		kind    string
		svc     drivers.Service
		options wait.Options
		want    string // in the error
	}{
		{"polling", newService(), wait.Options{}, `"polling"; there are none, poll, backoff, pubsub, queue, block, native`},
		{wait.Poll, newService(), wait.Options{Poll: -1}, "poll interval -1ns"},
		{wait.Backoff, newService(), wait.Options{BackoffMin: -sec}, "least back-off -1s"},
		{wait.Backoff, newService(), wait.Options{BackoffMax: -sec}, "greatest back-off -1s"},
		{wait.Backoff, newService(), wait.Options{BackoffMin: 2 * sec, BackoffMax: sec}, "2s is above the greatest, 1s"},
		{wait.Backoff, newService(), wait.Options{BackoffMin: sec}, "1s is above the greatest, 100ms"},
		{wait.PubSub, silent, wait.Options{}, "wake no waiters; none, poll and backoff"},
		{wait.PubSub, deaf{newService()}, wait.Options{}, "cannot be listened to; none, poll and backoff"},
		{wait.PubSub, broken, wait.Options{}, "open the subscription: connection reset"},
		{wait.Queue, newService(), wait.Options{Handover: "throw"}, `"throw"; there are release, swap`},
		{wait.Block, newService(), wait.Options{}, "do not wake clients that sleep on the server"},
	} {
		room, err := wait.NewRoom(t.Context(), test.kind, test.svc, test.options)
		if err == nil || room != nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, %v; want an error with %q", test.kind, room, err, test.want)
		}
	}
}

// never is a session whose own wait never succeeds.
type never struct{ drivers.Session }

func (never) Wait(ctx context.Context, _ *drivers.Lease) error { <-ctx.Done(); return ctx.Err() }
func (never) Leave(context.Context, *drivers.Lease) error      { return nil }

// TestClient makes clients of sessions with and without what their way of waiting needs, also below a wrapper, whose other
// capabilities stay in sight.
func TestClient(t *testing.T) {
	plain := func(s *session) drivers.Session { return s }
	hidden := func(s *session) drivers.Session { return bare{s} }
	waits := func(s *session) drivers.Session { return never{s} }
	for _, test := range []struct {
		kind, handover string
		endless        bool
		session        func(*session) drivers.Session
		want           string // in the error; empty for none
	}{
		{wait.Native, "", false, plain, "no way of waiting of their own"},
		{wait.Native, "", false, waits, ""},
		{wait.PubSub, "", false, plain, ""},
		{wait.PubSub, "", false, hidden, "how long the holder's lease"},
		{wait.PubSub, "", true, hidden, ""},
		{wait.Queue, wait.HandoverRelease, true, hidden, ""},
		{wait.Queue, wait.HandoverSwap, true, hidden, "cannot pass it on"},
		{wait.Queue, wait.HandoverSwap, true, plain, ""},
		{wait.Block, "", false, plain, "cannot sleep on the server"},
		{wait.Block, "", false, func(s *session) drivers.Session { return sleeper{s, &bed{}} }, ""},
	} {
		svc := newService()
		svc.traits.Expires, svc.traits.Blocks = !test.endless, true
		room := newRoom(t, test.kind, svc, wait.Options{Handover: test.handover})
		inner := &session{svc: svc}
		for _, s := range []drivers.Session{test.session(inner), wrapped{test.session(inner)}} {
			use, w, err := room.Client(s, 0)
			switch {
			case test.want != "" && (err == nil || w != nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("%s: %v, %v; want an error with %q", test.kind, w, err, test.want)
			case test.want == "" && (err != nil || w == nil):
				t.Errorf("%s: %v, %v", test.kind, w, err)
			}
			_, before := drivers.As[drivers.Remainer](s)
			if _, after := drivers.As[drivers.Remainer](use); err == nil && before != after {
				t.Errorf("%s: the session hides what it wraps", test.kind)
			}
		}
		closeRoom(t, room)
	}
}

// mortal is a session that records its end.
type mortal struct {
	*session
	crashes int
}

func (m *mortal) Crash() { m.crashes++ }

// A room that waits without messages sends nothing to the service. The waiter of none is a nil interface, not an interface
// that holds a nil. A crash reaches the session below in each way of waiting, and a waiter may leave at any time.
func TestEveryWay(t *testing.T) {
	for _, kind := range wait.Kinds() {
		if kind.Native || kind.Blocks {
			continue // the session itself waits, or it is not wrapped, as in poll
		}
		svc := newService()
		var service drivers.Service = svc
		if !kind.Wakes {
			service = deaf{svc}
		}
		room := newRoom(t, kind.Name, service, wait.Options{})
		if log := svc.noted(); !kind.Wakes && len(log) > 0 {
			t.Errorf("%s: the service was asked for %v", kind.Name, log)
		}
		inner := &mortal{session: &session{svc: svc}}
		use, w, err := room.Client(wrapped{inner}, 0)
		if err != nil || (w == nil) != (kind.Name == wait.None) {
			t.Fatalf("%s: %v, %v", kind.Name, w, err)
		}
		for range 2 {
			if w == nil {
				break
			} else if err := w.Leave(t.Context(), &drivers.Lease{Key: "k"}); err != nil {
				t.Errorf("%s: Leave without a Wait: %v", kind.Name, err)
			}
		}
		if crasher, ok := drivers.As[drivers.Crasher](use); ok {
			crasher.Crash()
		}
		if inner.crashes != 1 {
			t.Errorf("%s: the session has crashed %d times", kind.Name, inner.crashes)
		}
		closeRoom(t, room)
	}
}

var errBroken = errors.New("connection reset")
