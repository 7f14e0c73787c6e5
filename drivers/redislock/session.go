// One client of redislock.
package redislock

import (
	"context"
	"errors"
	"time"

	"github.com/bsm/redislock"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/redis"
)

type session struct {
	locker
	owners drivers.Owners
}

// Try implements drivers.Session with one Obtain. It chooses the token, so that it is known before anything is sent;
// the library's tokens are of the same kind and length.
func (s *session) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	l.Reset()
	l.Aux = nil
	l.Owner = s.owners.Next()
	lock, err := s.obtain(redis.Calling(ctx), l, nil)
	switch {
	case err == nil:
		l.Aux = lock
		return true, nil
	case errors.Is(err, redislock.ErrNotObtained):
		return false, nil
	}
	return false, fail("try", err)
}

func (s *session) obtain(ctx context.Context, l *drivers.Lease, retry redislock.RetryStrategy) (*redislock.Lock, error) {
	ttl, err := redis.WholeMillis(l.TTL)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return s.Obtain(ctx, l.Key, ttl, &redislock.Options{Token: l.Owner, RetryStrategy: retry})
}

// Release implements drivers.Session.
func (s *session) Release(ctx context.Context, l *drivers.Lease) (bool, error) {
	lock, err := s.lock(l)
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = lock.Release(redis.Calling(ctx))
	}
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, redislock.ErrLockNotHeld):
		return false, nil
	}
	return false, fail("release", err)
}

// Renew implements drivers.Renewer.
func (s *session) Renew(ctx context.Context, l *drivers.Lease) (bool, error) {
	ttl, err := redis.WholeMillis(l.TTL)
	if err != nil {
		return false, fail("renew", err)
	}
	lock, err := s.lock(l)
	sent := time.Now()
	if err == nil {
		err = lock.Refresh(redis.Calling(ctx), ttl, nil)
	}
	switch {
	case err == nil:
		l.ValidUntil = sent.Add(l.TTL) // Wait has set an earlier one
		return true, nil
	case errors.Is(err, redislock.ErrNotObtained):
		return false, nil
	}
	return false, fail("renew", err)
}

// waiter is a session with a retry strategy, so it can wait.
type waiter struct {
	*session
	retry func() redislock.RetryStrategy
	won   drivers.Lease // won by Wait, for the next Try to confirm; its Key is empty if there is none
}

// Wait implements drivers.Waiter with one Obtain that retries for as long as the library does: until the strategy gives
// up, until the deadline, or for a TTL if there is none.
func (w *waiter) Wait(ctx context.Context, l *drivers.Lease) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	limited, cancel, over := redis.UntilDeadline(ctx, l)
	if over {
		return nil
	}
	defer cancel()
	own := drivers.Lease{Key: l.Key, TTL: l.TTL, Owner: w.owners.Next()}
	retry := &timed{w.retry(), time.Now()}
	lock, err := w.obtain(limited, &own, retry)
	switch {
	case err == nil:
		own.Aux, own.ValidUntil = lock, retry.next.Add(l.TTL)
		w.won = own
		return nil
	case errors.Is(err, redislock.ErrNotObtained), err == context.DeadlineExceeded && ctx.Err() == nil:
		return nil // it has given up between two requests
	}
	w.giveUp(ctx, &own)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fail("wait", err)
}

// timed is a strategy that notes when the library's next attempt begins at the earliest.
type timed struct {
	redislock.RetryStrategy
	next time.Time
}

func (t *timed) NextBackoff() time.Duration {
	d := t.RetryStrategy.NextBackoff()
	t.next = time.Now().Add(d)
	return d
}

// giveUp releases what may or may not be held, best effort.
func (w *waiter) giveUp(ctx context.Context, l *drivers.Lease) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drivers.DefaultIOTimeout)
	defer cancel()
	_, err := w.Release(ctx, l)
	return err
}

// Try implements drivers.Session: it confirms what Wait has won.
func (w *waiter) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	if w.won.Key != l.Key || l.Key == "" {
		return w.session.Try(ctx, l)
	}
	l.Reset()
	l.Owner, l.ValidUntil, l.Aux = w.won.Owner, w.won.ValidUntil, w.won.Aux
	w.won = drivers.Lease{}
	return true, nil
}

// Leave implements drivers.Waiter: it releases what Wait has won and no Try has confirmed.
func (w *waiter) Leave(ctx context.Context, l *drivers.Lease) error {
	if w.won.Key == "" {
		return nil
	}
	won := w.won
	w.won = drivers.Lease{}
	_, err := w.Release(ctx, &won)
	return err
}
