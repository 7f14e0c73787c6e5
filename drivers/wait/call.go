// Libraries that wait by themselves.

package wait

import (
	"context"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// called is a client of a library that waits by itself: an acquisition is one call of the library, so the Try before
// the Wait sends nothing.
type called struct {
	drivers.Session
	waiter drivers.Caller
	ready  bool // a Wait is over, or the lock held: a Try is one

	observer Observer
	clock    *drivers.Clock
	refused  time.Duration // when the first refusal of the acquisition was read; 0: there was none
}

func newCalled(s drivers.Session, w drivers.Caller) *called {
	c := &called{Session: s, waiter: w}
	w.Tallied().Refused = func() {
		if c.refused == 0 {
			c.refused = c.clock.Now()
		}
		if c.observer != nil {
			c.observer.ServiceRefused()
		}
	}
	return c
}

// Unwrap implements drivers.Unwrapper.
func (c *called) Unwrap() drivers.Session { return c.Session }

// Try implements drivers.Session. A holder that enters again sends it.
func (c *called) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	if !c.ready {
		l.Reset()
		return false, nil
	}
	return c.now(ctx, l)
}

func (c *called) now(ctx context.Context, l *drivers.Lease) (held bool, err error) {
	held, err = c.Session.Try(ctx, l)
	c.ready = held && err == nil
	return held, err
}

// Release implements drivers.Session.
func (c *called) Release(ctx context.Context, l *drivers.Lease) (owned bool, err error) {
	c.ready = false
	return c.Session.Release(ctx, l)
}

// Wait implements drivers.Waiter.
func (c *called) Wait(ctx context.Context, l *drivers.Lease) error {
	err := c.waiter.Wait(ctx, l)
	c.ready = err == nil
	return err
}

// Leave implements drivers.Waiter.
func (c *called) Leave(ctx context.Context, l *drivers.Lease) error { return c.waiter.Leave(ctx, l) }

// calledBack counts a call of the library that has returned err. The client has waited from its first refusal on, and
// not at all if its only request was granted.
func (a *attempting) calledBack(err error) {
	sent := a.call.waiter.Tallied().Sent
	if sent < 0 {
		sent, a.Guessed = 1, true
	}
	a.Tries += sent
	if a.call.refused > 0 {
		a.Began = a.call.refused
	} else if sent == 1 && err == nil && !a.Guessed {
		a.Began, a.Waits = 0, a.Waits-1
	}
}
