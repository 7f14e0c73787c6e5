// The ways of waiting that try again after a delay, poll and backoff, and the timer under all of them; and the
// one that sleeps on the server until a release wakes it alone.

package wait

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// Delayer is a Waiter whose Wait does nothing but let time pass, for a harness that carries many clients in one goroutine.
type Delayer interface {
	// Delay returns how long the next Wait would take, which is not called then.
	Delay(l *drivers.Lease) time.Duration
}

// poller tries again at a fixed interval, which counts from the end of one try to the start of the next.
type poller struct {
	sleeper
	place
	every time.Duration
}

func (p *poller) Wait(ctx context.Context, l *drivers.Lease) error {
	_, err := p.sleep(ctx, p.Delay(l), nil)
	return err
}

// Delay implements Delayer.
func (p *poller) Delay(l *drivers.Lease) time.Duration { return min(p.every, left(l)) }

// backoff waits for a time drawn uniformly from [0, min(max, min·2ⁿ)) before try n+2 of an acquisition: the "full
// jitter" of M. Brooker, Exponential Backoff And Jitter, AWS Architecture Blog, 2015, which found that it needs the
// fewest tries. Every client has its own random sequence.
type backoff struct {
	sleeper
	place
	min, max time.Duration
	bound    time.Duration // of the next delay
	random   *rand.Rand
}

func (b *backoff) Wait(ctx context.Context, l *drivers.Lease) error {
	_, err := b.sleep(ctx, b.Delay(l), nil)
	return err
}

// Delay implements Delayer.
func (b *backoff) Delay(l *drivers.Lease) time.Duration {
	delay := time.Duration(b.random.Int64N(int64(b.bound)))
	if b.bound > b.max/2 { // and not 2·bound > max, which may overflow
		b.bound = b.max
	} else {
		b.bound *= 2
	}
	return min(delay, left(l))
}

// Leave makes the next acquisition start from the shortest delay again.
func (b *backoff) Leave(ctx context.Context, l *drivers.Lease) error {
	b.bound = b.min
	return b.place.Leave(ctx, l)
}

// place withdraws the place in line that the tries of a polling client may take on the server (drivers.Config.Polls). A
// client that gives up has to give up its place too: otherwise the server hands it the lock, which then stays held
// until the lease ends.
type place struct{ server drivers.Waiter } // nil if tries take no place

func (p place) Leave(ctx context.Context, l *drivers.Lease) error {
	if p.server == nil {
		return nil
	}
	return p.server.Leave(ctx, l)
}

// left returns the time until the deadline of l, or the longest duration if it has none.
func left(l *drivers.Lease) time.Duration {
	if l.Deadline.IsZero() {
		return math.MaxInt64
	}
	return time.Until(l.Deadline)
}

// reason says why a wait has ended without an error. A drivers.Waiter returns nil in every case, because the acquisition
// loop looks at the clock by itself; what waits for more than one thing must not take one for another.
type reason uint8

const (
	elapsed   reason = iota // the time for which it may last
	woken                   // by a message, or by another client of the room
	confirmed               // the subscription; the lock may have been released before
	expired                 // the holder's lease is over, or the key is free
	timedOut                // the deadline of the acquisition has passed: the client may not have joined anything
)

// slot wakes one client. A wake-up waits there until it is received, and another one adds nothing to it.
type slot chan struct{}

func newSlot() slot { return make(slot, 1) }

func (s slot) fill() {
	select {
	case s <- struct{}{}:
	default:
	}
}

func (s slot) drain() {
	select {
	case <-s:
	default:
	}
}

// sleeper sleeps on one timer that it reuses. It is the runtime's: an idle process on Linux looks at it in whole
// milliseconds, so that delays are up to a millisecond too long; package alarm says why it is not used here. It is made
// at the first sleep, because most clients of an uncontended run never need it.
type sleeper struct{ timer *time.Timer }

// short is the length up to which a sleep that nothing else can end uses time.Sleep, which needs neither a channel nor
// a select. The end of a run, which ends all waits, is up to that much later.
const short = 20 * time.Millisecond

// sleep returns elapsed after d, woken as soon as wake can be received from (nil is never), and ctx.Err() if ctx ends
// before that. A short sleep without wake always lasts for d.
func (s *sleeper) sleep(ctx context.Context, d time.Duration, wake <-chan struct{}) (reason, error) {
	if d <= 0 {
		return elapsed, ctx.Err()
	}
	if wake == nil && d <= short {
		time.Sleep(d)
		return elapsed, ctx.Err()
	}
	if s.timer == nil {
		s.timer = time.NewTimer(d)
	} else {
		s.timer.Reset(d) // since Go 1.23 no earlier tick can be left in the channel after this
	}
	select {
	case <-s.timer.C:
		return elapsed, nil
	case <-wake:
		s.timer.Stop()
		return woken, nil
	case <-ctx.Done():
		s.timer.Stop()
		return elapsed, ctx.Err()
	}
}

// blocked is the block waiter of one client. A release wakes one sleeper, which tries again; a client that arrives just
// then may be faster. A wake-up can be lost if the client that was woken dies, and nothing announces the end of a
// lease. So each sleep is bounded by the rest of the holder's lease, which costs one request before it.
//
// A client that gets the lock after a sleep may be the only one that knows how long its lease is. If that is less than
// the longest sleep, it wakes another client, which asks.
type blocked struct {
	server drivers.Blocker
	lease  drivers.Remainer // nil if leases do not end
	waited bool
	unused bool // it was woken and cannot use it, or may have been: Leave wakes another
}

func (b *blocked) Wait(ctx context.Context, l *drivers.Lease) error {
	if err := ctx.Err(); err != nil || left(l) <= 0 {
		return err
	}
	d := MaxSleep
	if b.lease != nil {
		var err error
		if d, err = rest(ctx, Block, b.lease, l); err != nil {
			return err
		}
	}
	b.waited = true
	if d = min(d, left(l)); d <= 0 {
		return nil
	}
	woken, err := b.server.Block(ctx, l, d)
	b.unused = ctx.Err() != nil || woken && left(l) <= 0
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return fmt.Errorf("wait: block: %w", err)
	}
	return nil
}

// Leave wakes another sleeper if this client was woken and did not use that, or if its lease may end before those who
// asked about an earlier one wake up.
func (b *blocked) Leave(ctx context.Context, l *drivers.Lease) error {
	wakes := b.unused || b.waited && b.lease != nil && l.TTL < MaxSleep
	b.unused, b.waited = false, false
	if !wakes {
		return nil
	}
	if err := b.server.Rouse(ctx, l); err != nil {
		return fmt.Errorf("wait: block: %w", err)
	}
	return nil
}
