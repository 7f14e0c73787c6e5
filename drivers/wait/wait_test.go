// What NewRoom and Waiter reject, and that the list of ways of waiting is complete.

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

func TestFindKnowsEveryKind(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range wait.Kinds() {
		found, err := wait.Find(k.Name)
		if err != nil || found != k {
			t.Errorf("Find(%q) = %v, %v", k.Name, found, err)
		}
		if k.Text == "" || strings.Contains(k.Text, "\n") || seen[k.Name] {
			t.Errorf("kind %q has no single line of text, or is listed twice", k.Name)
		}
		seen[k.Name] = true
	}
	for _, name := range []string{wait.None, wait.Poll, wait.Backoff, wait.PubSub, wait.Native} {
		if !seen[name] {
			t.Errorf("kind %q is not listed", name)
		}
	}
}

func TestNewRoomRefuses(t *testing.T) {
	silent := newService()
	silent.traits.Wakes = false
	broken := newService()
	broken.listen = func() error { return errors.New("no such host") }
	for _, test := range []struct {
		name    string
		kind    string
		svc     drivers.Service
		options wait.Options
		want    []string // in the error
	}{
		{"unknown kind", "polling", newService(), wait.Options{}, []string{`"polling"`, "none, poll, backoff, pubsub, queue, block, native"}},
		{"no kind", "", newService(), wait.Options{}, []string{`""`, "none, poll"}},
		{"negative poll", wait.Poll, newService(), wait.Options{Poll: -1}, []string{"poll interval -1ns"}},
		{"negative min", wait.Backoff, newService(), wait.Options{BackoffMin: -time.Second}, []string{"least back-off -1s"}},
		{"negative max", wait.Backoff, newService(), wait.Options{BackoffMax: -time.Second}, []string{"greatest back-off -1s"}},
		{"min above max", wait.Backoff, newService(), wait.Options{BackoffMin: 2 * time.Second, BackoffMax: time.Second},
			[]string{"2s", "1s"}},
		{"min above the usual max", wait.Backoff, newService(), wait.Options{BackoffMin: time.Second}, []string{"1s", "100ms"}},
		{"not published", wait.PubSub, silent, wait.Options{}, []string{"pubsub", "wake no waiters", "none, poll and backoff", "native"}},
		{"no subscriber", wait.PubSub, deaf{newService()}, wait.Options{}, []string{"pubsub", "cannot be listened to", "none, poll and backoff"}},
		{"no connection", wait.PubSub, broken, wait.Options{}, []string{"pubsub", "open the subscription", "no such host"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			room, err := wait.NewRoom(t.Context(), test.kind, test.svc, test.options)
			if err == nil || room != nil {
				t.Fatalf("got %v, %v; want an error", room, err)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not mention %q", err, want)
				}
			}
		})
	}
}

// A room that waits without messages sends nothing to the service.
func TestNewRoomOfAnyService(t *testing.T) {
	for _, kind := range []string{wait.None, wait.Poll, wait.Backoff, wait.Native} {
		svc := newService()
		svc.traits = drivers.Traits{}
		room := newRoom(t, kind, deaf{svc}, wait.Options{})
		closeRoom(t, room)
		if log := svc.noted(); len(log) > 0 {
			t.Errorf("%s: the service was asked for %v", kind, log)
		}
	}
}

// never is a session whose own wait never succeeds.
type never struct{ drivers.Session }

func (never) Wait(ctx context.Context, _ *drivers.Lease) error { <-ctx.Done(); return ctx.Err() }
func (never) Leave(context.Context, *drivers.Lease) error      { return nil }

func TestWaiterOfASession(t *testing.T) {
	expiring, lasting := newService(), newService()
	lasting.traits.Expires = false
	for _, test := range []struct {
		name    string
		kind    string
		svc     *service
		session func(*session) drivers.Session
		want    string // in the error; empty for none
	}{
		{"native without", wait.Native, expiring, func(s *session) drivers.Session { return s }, "no way of waiting of their own"},
		{"native", wait.Native, expiring, func(s *session) drivers.Session { return never{s} }, ""},
		{"native, wrapped", wait.Native, expiring, func(s *session) drivers.Session { return wrapped{never{s}} }, ""},
		{"pubsub", wait.PubSub, expiring, func(s *session) drivers.Session { return s }, ""},
		{"pubsub, wrapped", wait.PubSub, expiring, func(s *session) drivers.Session { return wrapped{s} }, ""},
		{"pubsub, rest unknown", wait.PubSub, expiring, func(s *session) drivers.Session { return bare{s} }, "how long the holder's lease"},
		{"pubsub, lasting lease", wait.PubSub, lasting, func(s *session) drivers.Session { return bare{s} }, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			room := newRoom(t, test.kind, test.svc, wait.Options{})
			defer closeRoom(t, room)
			_, w, err := room.Client(test.session(&session{svc: test.svc}), 0)
			switch {
			case test.want == "" && (err != nil || w == nil):
				t.Errorf("got %v, %v", w, err)
			case test.want != "" && (err == nil || w != nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("got %v, %v; want an error with %q", w, err, test.want)
			}
		})
	}
}

// The waiter of none is a nil interface, not an interface that holds a nil.
func TestNoneHasNoWaiter(t *testing.T) {
	room := newRoom(t, wait.None, newService(), wait.Options{})
	if _, w, err := room.Client(&session{}, 0); w != nil || err != nil {
		t.Fatalf("got %v, %v", w, err)
	}
	closeRoom(t, room)
}
