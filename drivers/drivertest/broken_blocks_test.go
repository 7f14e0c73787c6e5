package drivertest

// Sessions that sleep on the server, sound and broken.

import (
	"context"
	"sync"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// bed is where the clients of one service sleep: a slot for a token per key.
type bed struct {
	mu     sync.Mutex
	size   int // of the slots: 1, or it is broken
	tokens map[string]chan struct{}
}

func (b *bed) of(key string) chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tokens[key] == nil {
		b.tokens[key] = make(chan struct{}, b.size)
	}
	return b.tokens[key]
}

// rouse leaves as many tokens as there is room for, and one for a sleeping client if there is none.
func (b *bed) rouse(key string) {
	for range max(b.size, 1) {
		select {
		case b.of(key) <- struct{}{}:
		default:
		}
	}
}

type sleepingSession struct {
	drivers.Session
	bed   *bed
	block func(s sleepingSession, ctx context.Context, l *drivers.Lease, d time.Duration) (bool, error)
}

func (s sleepingSession) Unwrap() drivers.Session { return s.Session }

func (s sleepingSession) Release(ctx context.Context, l *drivers.Lease) (bool, error) {
	owned, err := s.Session.Release(ctx, l)
	if owned {
		s.bed.rouse(l.Key)
	}
	return owned, err
}

func (s sleepingSession) Block(ctx context.Context, l *drivers.Lease, d time.Duration) (bool, error) {
	return s.block(s, ctx, l, d)
}

func (s sleepingSession) Rouse(_ context.Context, l *drivers.Lease) error {
	s.bed.rouse(l.Key)
	return nil
}

// doze is the correct Block.
func doze(s sleepingSession, ctx context.Context, l *drivers.Lease, d time.Duration) (bool, error) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-s.bed.of(l.Key):
		return true, nil
	case <-timer.C:
		return false, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// sleeping returns a lock whose clients can sleep in a bed of that size.
func sleeping(size int, block func(sleepingSession, context.Context, *drivers.Lease, time.Duration) (bool, error)) drivers.Driver {
	return altered{
		Driver: faulty(),
		traits: func(t *drivers.Traits) { t.Blocks = true },
		session: func() func(drivers.Session, int) drivers.Session {
			b := &bed{size: size, tokens: map[string]chan struct{}{}}
			return func(s drivers.Session, _ int) drivers.Session { return sleepingSession{s, b, block} }
		},
	}
}

var brokenBlocking = []broken{
	{"claims to sleep and cannot", altered{Driver: faulty(), traits: func(t *drivers.Traits) { t.Blocks = true }}, "blocks"},
	{"sleeps through the release before", sleeping(0, doze), "blocks"},
	{"wakes two", sleeping(2, doze), "blocks"},
	{"sleeps on when cancelled", sleeping(1, func(s sleepingSession, ctx context.Context, l *drivers.Lease, d time.Duration) (bool, error) {
		return doze(s, context.WithoutCancel(ctx), l, d)
	}), "cancelled block"},
	{"passes a cancellation for the end of the time", sleeping(1,
		func(s sleepingSession, ctx context.Context, l *drivers.Lease, d time.Duration) (bool, error) {
			woken, _ := doze(s, ctx, l, d)
			return woken, nil
		}), "cancelled block"},
}
