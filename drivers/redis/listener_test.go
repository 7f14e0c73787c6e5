package redis

import (
	"context"
	"testing"

	"github.com/lockbench/lockbench/drivers"
)

// closingConn is a connection whose service is closed while it subscribes.
type closingConn struct {
	Conn
	close func()
	sub   *deafSubscription
}

func (c closingConn) Subscribe(context.Context, func(string, string)) (Subscription, error) {
	c.close()
	return c.sub, nil
}

func (c closingConn) Close() error { return nil }

type deafSubscription struct {
	Subscription
	done   chan struct{}
	closed bool
}

func (s *deafSubscription) Done() <-chan struct{} { return s.done }
func (s *deafSubscription) Close() error          { s.closed = true; return nil }

// TestListenWhileClosing leaves no subscription behind that nobody would close.
func TestListenWhileClosing(t *testing.T) {
	sub := &deafSubscription{done: make(chan struct{})}
	s := &service{names: &releasedChannels, listeners: map[*listener]struct{}{}}
	s.conn = closingConn{close: func() { s.Close() }, sub: sub}
	l, err := wakingService{s}.Listen(t.Context(), func(string) {})
	if err == nil {
		t.Cleanup(func() { l.Close() })
	}
	if drivers.ClassOf(err) != drivers.ClassClosed || !sub.closed {
		t.Errorf("Listen = %v, the subscription is closed: %v", err, sub.closed)
	}
}
