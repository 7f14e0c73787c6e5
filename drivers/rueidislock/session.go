// One client of rueidislock.
package rueidislock

import (
	"context"
	"encoding/hex"
	"errors"
	"time"

	rueidislib "github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"github.com/lockbench/lockbench/drivers"
)

// session is not a drivers.Crasher: its Locker renews what all its clients hold, as long as it lives.
type session struct {
	locker
	service *service
	won     *hold // won by Wait, for the next Try to confirm
	key     string
	drivers.Tally
}

// acquisition is a function of the library: TryWithContext or WithContext.
type acquisition func(ctx context.Context, name string) (context.Context, context.CancelFunc, error)

// acquire calls do. The library holds a lock as long as the context that it was acquired with, so the hold has its own
// context: the caller's context and the deadline end it until the lock is held, but not afterwards.
func (s *session) acquire(ctx context.Context, deadline time.Time, l *drivers.Lease, do acquisition, asked func(bool)) (*hold, error) {
	h := &hold{asked: asked}
	own, cancel := context.WithCancel(context.WithValue(context.Background(), holdOf{}, h))
	stop := func() bool { return true }
	if ctx.Done() != nil {
		stop = context.AfterFunc(ctx, cancel)
	}
	var timer *time.Timer
	if !deadline.IsZero() {
		timer = time.AfterFunc(time.Until(deadline), cancel)
	}
	held, release, err := do(own, l.Key)
	inTime := stop()
	if timer != nil {
		inTime = timer.Stop() && inTime
	}
	if err != nil {
		s.interceptor.forget(h)
		cancel()
		return h, err
	}
	h.ctx, h.end = held, func() { release(); cancel() }
	if !inTime { // granted at the last moment: undo it
		_, err := s.giveUp(ctx, l.Key, h)
		return h, errors.Join(context.Canceled, err)
	}
	return h, nil
}

// giveUp releases a hold and reports whether it was still held. When end returns, the library has sent the release, unless
// the TTL was over, and has waited for the answer until then.
func (s *session) giveUp(ctx context.Context, key string, h *hold) (owned bool, err error) {
	lost := h.ctx.Err() != nil
	h.end()
	s.interceptor.forget(h)
	_, removed, err := h.answer()
	if ended(err) && !removed {
		removed, err = s.remove(ctx, key, h.owner())
	}
	if removed {
		return !lost, nil
	}
	return false, err
}

// Try implements drivers.Session. It confirms what Wait has won, unless that is lost meanwhile. The lease is
// Config.TTL, whatever l.TTL is, because the library fixes it at set-up. If a live server does not answer within the
// library's own time-out (try-next-after, or the TTL), the library counts that as a no, and it is one once it is undone.
func (s *session) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	l.Reset()
	l.Aux = nil
	if won := s.won; won != nil && s.key == l.Key && won.ctx.Err() == nil {
		s.won = nil
		l.Owner, l.Aux = text(won.owner()), won
		return true, nil
	}
	if err := ctx.Err(); err != nil {
		return false, fail("try", err)
	}
	h, err := s.acquire(ctx, time.Time{}, l, s.TryWithContext, func(bool) {})
	l.Owner = text(h.owner())
	switch {
	case err == nil:
		l.Aux = h
		return true, nil
	case errors.Is(err, rueidislock.ErrNotLocked):
		return false, nil
	case ctx.Err() != nil:
		err = ctx.Err()
	case ended(err):
		if err = s.undo(ctx, l.Key, h); err == nil {
			return false, nil
		}
	}
	return false, fail("try", err)
}

// text returns the library's token, which is bytes, as an owner, and token the reverse. An owner that is not in
// hexadecimal stays as it is.
func text(token string) (owner string) { return hex.EncodeToString([]byte(token)) }

func token(owner string) string {
	raw, err := hex.DecodeString(owner)
	if err != nil {
		return owner
	}
	return string(raw)
}

// ended reports whether a limit ended an attempt that its caller has not cancelled: try-next-after or the TTL, which are the
// library's, or the end of a wait.
func ended(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// undo makes sure that nothing is left of an attempt that a limit has ended.
func (s *session) undo(ctx context.Context, name string, h *hold) error {
	if heard, _, err := h.answer(); heard && err == nil { // the server has confirmed it
		return nil
	}
	_, err := s.remove(ctx, name, h.owner())
	return err
}

// compareAndDelete is the library's own script, for locks of which it has no hold any more.
var compareAndDelete = rueidislib.NewLuaScript(
	`if redis.call("GET",KEYS[1]) == ARGV[1] then return redis.call("DEL",KEYS[1]) end;return 0`)

// Release implements drivers.Session. If the lock is held, the library releases it. The library has already released an
// attempt without an answer, perhaps without an answer again: then it is released once more, like a lease that was
// never tried.
func (s *session) Release(ctx context.Context, l *drivers.Lease) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, fail("release", err)
	}
	if h, ok := l.Aux.(*hold); ok && text(h.owner()) == l.Owner {
		l.Aux = nil
		owned, err := s.giveUp(ctx, l.Key, h)
		return owned && err == nil, fail("release", err)
	}
	removed, err := s.remove(ctx, l.Key, token(l.Owner))
	return removed, fail("release", err)
}

// remove deletes what is left of an attempt or a hold, and reports whether there was something.
func (s *session) remove(ctx context.Context, name, owner string) (removed bool, err error) {
	n, err := compareAndDelete.Exec(ctx, s.interceptor.Client, []string{s.service.key(name)}, []string{owner}).AsInt64()
	return n > 0 && err == nil, err
}

// Wait implements drivers.Waiter with the library's queue. It ends after a TTL at the latest, because the queue may
// lose a wake-up: a failed attempt can count itself out of it twice, and a client in a queue that the library takes for
// empty is not woken any more (v1.0.79, 23 of 6,000 waiters in a test of the library alone).
func (s *session) Wait(ctx context.Context, l *drivers.Lease) error {
	s.Sent = 0
	if err := ctx.Err(); err != nil {
		return err
	}
	if !l.Deadline.IsZero() && !time.Now().Before(l.Deadline) {
		return nil
	}
	end := time.Now().Add(s.service.ttl)
	if !l.Deadline.IsZero() && l.Deadline.Before(end) {
		end = l.Deadline
	}
	h, err := s.acquire(ctx, end, l, s.WithContext, s.Asked)
	switch {
	case err == nil:
		s.won, s.key = h, l.Key
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case ended(err):
		if _, _, unheard := h.answer(); unheard == nil { // the last attempt was refused, or undone
			return nil
		}
		if err = s.undo(ctx, l.Key, h); err == nil {
			return nil
		}
	}
	return fail("wait", err)
}

// Leave implements drivers.Waiter: it releases what Wait has won and no Try has confirmed.
func (s *session) Leave(ctx context.Context, _ *drivers.Lease) error {
	won := s.won
	if won == nil {
		return nil
	}
	s.won = nil
	_, err := s.giveUp(ctx, s.key, won)
	return fail("leave", err)
}
