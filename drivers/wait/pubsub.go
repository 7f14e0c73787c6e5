// The waiter that sleeps until the release is published.

package wait

import (
	"context"
	"fmt"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

const (
	// Grace is added to what is left of the holder's lease. Redis answers PTTL in whole milliseconds of a clock that
	// it reads in whole milliseconds, and expires a key only once that clock is past the end: the true end is up to
	// 1 ms later than the answer says, and a try before it would be in vain.
	Grace = time.Millisecond

	// MaxSleep bounds a sleep in pubsub, also while the holder's lease is longer or never ends. A published message is
	// delivered at most once. A driver that had to connect anew wakes everybody, so nothing is lost where the break
	// was seen; a connection that dies silently is what this bound is for. It costs a waiter one try in 5 s.
	MaxSleep = 5 * time.Second
)

// subscriber is the pubsub waiter of one client. Its first Wait of an acquisition registers and returns at once,
// since the release may have come before the registration; each later one sleeps until the next message, the end of
// the holder's lease, the deadline or MaxSleep.
//
// The end of the lease is one waiter's business, the keeper's: it asks the server for the rest of the lease and, if
// no message comes first, wakes the others. If all of them asked, a herd would send twice the commands.
//
// The deadline does not cut off a Remaining on its way, just as it does not cut off a Try: both end by the driver's own
// I/O time-out. Waiting for a subscription to be confirmed does end at the deadline.
type subscriber struct {
	sleeper
	hub   *hub
	lease drivers.Remainer // nil if leases do not end
	woken chan struct{}    // one slot: a wake-up that comes while the client tries waits there for its next Wait

	topic *topic          // what it has joined, from the first Wait of an acquisition until Leave
	at    int             // its place in topic.waiters; the hub's lock guards it
	ready <-chan struct{} // of topic; nil once this client has seen the confirmation
}

func (s *subscriber) Wait(ctx context.Context, l *drivers.Lease) error {
	if err := ctx.Err(); err != nil || left(l) <= 0 {
		return err
	}
	if s.topic == nil {
		if err := s.hub.join(s, l.Key); err != nil {
			return err
		}
	}
	if s.ready != nil {
		return s.confirm(ctx, l)
	}
	select {
	case <-s.woken:
		return nil
	default:
	}
	if s.lease == nil || !s.hub.keep(s) {
		return s.sleep(ctx, min(MaxSleep, left(l)), s.woken)
	}
	rest, err := s.rest(ctx, l)
	if err != nil {
		return err
	}
	if err := s.sleep(ctx, min(rest, left(l)), s.woken); err != nil {
		return err
	}
	if left(l) > 0 { // else it has given up, and Leave passes the duty on
		s.hub.expire(s)
	}
	return nil
}

// confirm returns when the server has confirmed the subscription: the caller tries once more, and may sleep after
// that. If the confirmation takes too long it returns without, and the next Wait goes on waiting for it.
func (s *subscriber) confirm(ctx context.Context, l *drivers.Lease) error {
	if !closed(s.ready) {
		err := s.sleep(ctx, min(MaxSleep, left(l)), s.ready)
		if err != nil || !closed(s.ready) {
			return err
		}
	}
	if s.topic.err != nil {
		return s.topic.err
	}
	s.ready = nil
	select {
	case <-s.woken: // whatever was released so far, the next try sees it
	default:
	}
	return nil
}

// rest is how long the keeper sleeps at the most if no message comes.
func (s *subscriber) rest(ctx context.Context, l *drivers.Lease) (time.Duration, error) {
	d, err := s.lease.Remaining(ctx, l)
	switch {
	case ctx.Err() != nil:
		return 0, ctx.Err()
	case err != nil:
		return 0, fmt.Errorf("wait: pubsub: ask for the rest of the holder's lease: %w", err)
	case d < 0 || d >= MaxSleep:
		return MaxSleep, nil
	case d == 0:
		return 0, nil // free by now
	}
	return d + Grace, nil
}

func (s *subscriber) Leave(context.Context, *drivers.Lease) error {
	if s.topic != nil {
		s.hub.leave(s)
	}
	return nil
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
