// The waiter that sleeps until the release is published.

package wait

import (
	"context"
	"fmt"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

const (
	// Grace is added to what is left of the holder's lease. Redis answers PTTL in whole milliseconds of a clock that it
	// reads in whole milliseconds, and expires a key only once that clock is past the end. So the lease ends up to 1 ms
	// later than the answer says, and a try before that would fail.
	Grace = time.Millisecond

	// MaxSleep bounds a sleep in pubsub, even if the holder's lease is longer or never ends. A published message is
	// delivered at most once. A driver that had to reconnect wakes all waiters, so nothing is lost where the break was
	// seen; the bound is for connections that die silently. It costs a waiter one try every 5 s.
	MaxSleep = 5 * time.Second
)

// subscriber is the pubsub waiter of one client. Its first Wait of an acquisition subscribes and returns at once,
// because the release may have come before the subscription. Each later Wait sleeps until the next message, the end of
// the holder's lease, the deadline or MaxSleep.
//
// Only one waiter of a key, the keeper, watches the end of the lease: it asks the server for the rest of the lease and,
// if no message comes first, wakes the others. If all of them asked, a herd would send twice the commands.
//
// Where several nodes vote, the waiters that one message wakes would each get the votes of a few nodes, give them back,
// and be woken by that again, for seconds on end. So each of them first waits for a random delay, as the algorithm asks
// ("in order to try to desynchronize multiple clients", S. Sanfilippo, Distributed Locks with Redis). Its bound doubles
// with each unsuccessful wake-up, from DefaultBackoffMin to DefaultBackoffMax.
//
// The deadline does not cut off a Remaining under way, as it does not cut off a Try: both end by the driver's own I/O
// time-out. Waiting for a subscription to be confirmed does end at the deadline.
type subscriber struct {
	sleeper
	hub    *hub
	lease  drivers.Remainer // nil if leases do not end
	jitter *backoff         // random delays; nil unless several nodes vote
	woken  slot             // a wake-up that comes while the client tries waits there for its next Wait

	topic *topic          // what it has joined, from the first Wait of an acquisition until Leave
	at    int             // its place in topic.waiters; the hub's lock guards it
	seen  int             // the topic's turns when it was asked last whether it is too early; -1: not yet
	asks  int             // how often it still has to find the lock free before it may try
	ready <-chan struct{} // of topic; nil once this client has seen the confirmation
}

func (s *subscriber) Wait(ctx context.Context, l *drivers.Lease) error {
	_, err := s.await(ctx, l)
	return err
}

// await is Wait with the reason. Unless that is timedOut or there is an error, s has joined the key's topic.
func (s *subscriber) await(ctx context.Context, l *drivers.Lease) (reason, error) {
	if err := ctx.Err(); err != nil || left(l) <= 0 {
		return timedOut, err
	}
	if s.topic == nil {
		if err := s.hub.join(s, l.Key); err != nil {
			return elapsed, err
		}
	}
	if s.ready != nil {
		return s.confirm(ctx, l)
	}
	why, err := s.listen(ctx, l)
	if err != nil || why == timedOut || s.jitter == nil {
		return why, err
	}
	if err := s.jitter.Wait(ctx, l); err != nil {
		return elapsed, err
	}
	s.woken.drain() // the next try sees whatever was released so far
	return why, nil
}

// listen sleeps until the next message, or until the lease is over.
func (s *subscriber) listen(ctx context.Context, l *drivers.Lease) (reason, error) {
	select {
	case <-s.woken:
		return woken, nil
	default:
	}
	if s.lease == nil || !s.hub.keep(s) {
		return s.sleepFor(ctx, l, MaxSleep, s.woken)
	}
	d, err := rest(ctx, PubSub, s.lease, l)
	if err != nil {
		return elapsed, err
	}
	why, err := s.sleepFor(ctx, l, d, s.woken)
	if err == nil && why == elapsed { // after its deadline, Leave makes another waiter the keeper
		s.hub.expire(s)
		why = expired
	}
	return why, err
}

// sleepFor sleeps for d, or until the deadline of l.
func (s *subscriber) sleepFor(ctx context.Context, l *drivers.Lease, d time.Duration, wake <-chan struct{}) (reason, error) {
	why, err := s.sleep(ctx, min(d, left(l)), wake)
	if why == elapsed && left(l) <= 0 {
		why = timedOut
	}
	return why, err
}

// confirm returns when the server has confirmed the subscription. The caller then tries once more and may sleep after
// that. If the confirmation takes too long, confirm returns without it, and the next Wait goes on waiting for it.
func (s *subscriber) confirm(ctx context.Context, l *drivers.Lease) (reason, error) {
	if !closed(s.ready) {
		if why, err := s.sleepFor(ctx, l, MaxSleep, s.ready); err != nil || why != woken {
			return why, err
		}
	}
	if s.topic.err != nil {
		return elapsed, s.topic.err
	}
	s.ready = nil
	s.woken.drain()
	return confirmed, nil
}

// rest returns how long a waiter may sleep that nothing wakes: until the holder's lease ends, and MaxSleep at most.
func rest(ctx context.Context, way string, lease drivers.Remainer, l *drivers.Lease) (time.Duration, error) {
	d, err := lease.Remaining(ctx, l)
	switch {
	case ctx.Err() != nil:
		return 0, ctx.Err()
	case err != nil:
		return 0, fmt.Errorf("wait: %s: ask for the rest of the holder's lease: %w", way, err)
	case d < 0 || d >= MaxSleep:
		return MaxSleep, nil
	case d == 0:
		return 0, nil // free by now
	}
	return d + Grace, nil
}

func (s *subscriber) Leave(ctx context.Context, l *drivers.Lease) error {
	if s.topic != nil {
		s.hub.leave(s)
	}
	if s.jitter != nil {
		return s.jitter.Leave(ctx, l)
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
