package redis

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// TestListenBreaksAgain breaks the new connection on an Add that has waited for it. That Add keeps its channel's turn
// and waits for the next connection, which must not be late because of that.
func TestListenBreaksAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, added, next := adding(t)
		defer l.Close()
		second, third := newSubscription(), newSubscription()
		second.lasts = 1 // the request of the listener, not that of Add
		start := time.Now()
		next <- second
		next <- third
		if err := <-added; err != nil {
			t.Error(err)
		}
		if late := time.Since(start); late > 0 {
			t.Errorf("the next connection is %v late", late)
		}
		if second.asked != 2 || third.asked == 0 {
			t.Errorf("%d requests on the connection that breaks, %d on the next, want 2 and some", second.asked, third.asked)
		}
	})
}

// TestListenRemovesWithoutServer removes channels while another one's Add waits for the next connection.
func TestListenRemovesWithoutServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, added, _ := adding(t)
		defer l.Close()
		for i := range 1000 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if l.Remove(ctx, fmt.Sprint("other", i)); ctx.Err() != nil {
				t.Fatalf("the removal of channel %d waits for the Add of another one", i)
			}
			cancel()
		}
		if l.Close(); <-added == nil {
			t.Error("a key was added without a server")
		}
		if len(l.turns) != 0 {
			t.Errorf("%d turns are left", len(l.turns))
		}
	})
}

// adding returns a listener that has lost its connection, to which a key is being added, and what takes the next connections.
func adding(t *testing.T) (l *listener, added chan error, next chan *fakeSubscription) {
	t.Helper()
	conn := dialled{next: make(chan *fakeSubscription, 1)}
	s := &service{conn: conn, listeners: map[*listener]struct{}{}}
	first := newSubscription()
	conn.next <- first
	l, err := s.listen(t.Context(), func(key string) string { return key }, nil, func() {})
	if err != nil {
		t.Fatal(err)
	}
	first.Close()
	synctest.Wait() // the listener dials
	added = make(chan error, 1)
	go func() { added <- l.Add(t.Context(), "key") }()
	synctest.Wait() // Add waits for the connection
	return l, added, conn.next
}

// dialled is a Conn whose connections come from the test.
type dialled struct {
	Conn
	next chan *fakeSubscription
}

func (c dialled) Subscribe(ctx context.Context, _ func(channel, payload string)) (Subscription, error) {
	select {
	case sub := <-c.next:
		return sub, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// fakeSubscription breaks after a number of requests.
type fakeSubscription struct {
	asked, lasts int
	ctx          context.Context
	end          context.CancelFunc
}

func newSubscription() *fakeSubscription {
	s := &fakeSubscription{lasts: 10}
	s.ctx, s.end = context.WithCancel(context.Background())
	return s
}

func (s *fakeSubscription) Add(context.Context, ...string) error {
	if s.asked++; s.asked > s.lasts {
		s.end()
		return errors.New("the connection is broken")
	}
	return nil
}

func (s *fakeSubscription) Remove(context.Context, ...string) error { return nil }
func (s *fakeSubscription) Done() <-chan struct{}                   { return s.ctx.Done() }
func (s *fakeSubscription) Close() error                            { s.end(); return nil }
