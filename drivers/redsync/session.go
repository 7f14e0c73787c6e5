// One client of redsync.
package redsync

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/go-redsync/redsync/v4"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/redis"
	"github.com/lockbench/lockbench/drivers/redis/goredis"
)

type session struct {
	service *service
	locker  *redsync.Redsync
	owners  drivers.Owners
	redis.WonLease
	drivers.Tally
}

// mutex returns the library's Mutex for a lease. The token is the lease's Owner, so it is known before anything is
// sent, and a lock without an answer can be released.
func (s *session) mutex(l *drivers.Lease) (*redsync.Mutex, error) {
	if m, ok := l.Aux.(*redsync.Mutex); ok && m.Name() == l.Key && m.Value() == l.Owner {
		return m, nil
	}
	ttl, err := redis.WholeMillis(l.TTL)
	if err != nil {
		return nil, err
	}
	owner := l.Owner
	own := [...]redsync.Option{
		redsync.WithExpiry(ttl), redsync.WithValue(owner),
		redsync.WithGenValueFunc(func() (string, error) { return owner, nil }),
	}
	return s.locker.NewMutex(l.Key, append(own[:], s.service.options...)...), nil
}

// Try implements drivers.Session with one attempt of the library.
func (s *session) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	if s.Confirm(l) {
		return true, nil
	}
	l.Reset()
	l.Aux = nil
	l.Owner = s.owners.Next()
	m, err := s.mutex(l)
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = m.TryLockContext(redis.Calling(ctx))
	}
	if err == nil {
		l.Aux, l.ValidUntil = m, m.Until()
		return true, nil
	}
	return false, fail("try", s.failed(ctx, l, err))
}

// failed returns nil if an attempt within ctx failed because others hold the lock, which is an answer, or because of the
// library's own limits, and the nodes confirm that it is undone. If it failed because too few nodes answered, it returns their
// errors.
func (s *session) failed(ctx context.Context, l *drivers.Lease, err error) error {
	err, late := s.unanswered(err)
	until, limited := ctx.Deadline() // requests may know of it earlier than ctx.Err
	switch {
	case late:
		if redis.Undo(ctx, s, l) == nil {
			return nil
		}
	case err == nil && s.service.nodes > 1 && (ctx.Err() != nil || limited && !time.Now().Before(until)):
		return redis.Undo(ctx, s, l) // ctx may have cut short the release with which the library undoes what a minority has granted
	}
	return err
}

// unanswered returns nil if the nodes have answered, or else the errors of those that have not. It is late if a majority would have,
// but for the library's limit of a request.
func (s *session) unanswered(err error) (_ error, late bool) {
	if _, taken := errors.AsType[*redsync.ErrTaken](err); taken {
		return nil, false // by a majority
	}
	if err == redsync.ErrFailed {
		return nil, false // granted too late, which the library has undone, or its tries are used up
	}
	failures := failuresOf(err)
	if len(failures) == 0 {
		if _, ofNode := errors.AsType[*redsync.ErrNodeTaken](err); ofNode {
			return nil, false
		}
		return err, false
	}
	if s.quorate(len(failures)) {
		return nil, false // the nodes that answered could have granted it
	}
	err = errors.Join(failures...)
	failures = slices.DeleteFunc(failures, func(err error) bool { return err == errLate })
	return err, s.quorate(len(failures))
}

// quorate reports whether the others are a majority of the nodes.
func (s *session) quorate(nodes int) bool { return s.service.nodes-nodes >= s.service.nodes/2+1 }

// failuresOf returns the errors of the nodes that did not answer, with their classes.
func failuresOf(err error) (failures []error) {
	for _, e := range leaves(err) {
		if ofNode, ok := e.(*redsync.RedisError); ok {
			failures = append(failures, goredis.Translate(ofNode.Err))
		}
	}
	return failures
}

// without returns how many nodes have answered that they do not have the lock.
func without(err error) (n int) {
	for _, e := range leaves(err) {
		switch e := e.(type) {
		case *redsync.ErrTaken:
			n += len(e.Nodes)
		case *redsync.ErrNodeTaken:
			n++
		default:
			if e == redsync.ErrLockAlreadyExpired {
				n++
			}
		}
	}
	return n
}

// leaves returns the errors that the library has joined, which are those of nodes.
func leaves(err error) (list []error) {
	several, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	for _, e := range several.Unwrap() {
		list = append(list, leaves(e)...)
	}
	return list
}

// Release implements drivers.Session. The lock was lost if so many nodes do not have it that the others are no majority, whatever
// those would say that have not answered.
func (s *session) Release(ctx context.Context, l *drivers.Lease) (bool, error) {
	return s.ask("release", ctx, l, (*redsync.Mutex).UnlockContext)
}

// Renew implements drivers.Renewer.
func (s *session) Renew(ctx context.Context, l *drivers.Lease) (bool, error) {
	if m, ok := l.Aux.(*redsync.Mutex); ok && m.Name() == l.Key {
		l.Aux = nil // it has the TTL of the acquisition, and the lease may have another
	}
	return s.ask("renew", ctx, l, func(m *redsync.Mutex, ctx context.Context) (bool, error) {
		owned, err := m.ExtendContext(ctx)
		if owned {
			l.Aux, l.ValidUntil = m, m.Until()
		}
		return owned, err
	})
}

func (s *session) ask(
	op string, ctx context.Context, l *drivers.Lease, do func(*redsync.Mutex, context.Context) (bool, error),
) (bool, error) {
	m, err := s.mutex(l)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return false, fail(op, err)
	}
	owned, err := do(m, redis.Calling(ctx))
	if owned {
		return true, nil
	}
	failures := failuresOf(err)
	if len(failures) == 0 || !s.quorate(without(err)) {
		return false, nil
	}
	return false, fail(op, errors.Join(failures...))
}

// Wait implements drivers.Waiter with the library's own loop, which ends after its tries, and at the deadline.
func (s *session) Wait(ctx context.Context, l *drivers.Lease) error {
	return s.Calls(func() error { return s.call(ctx, l) })
}

func (s *session) call(ctx context.Context, l *drivers.Lease) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	limited, cancel, over := redis.UntilDeadline(ctx, l)
	if over {
		return nil
	}
	defer cancel()
	own := drivers.Lease{Key: l.Key, TTL: l.TTL, Owner: s.owners.Next()}
	m, err := s.mutex(&own)
	if err != nil {
		return fail("wait", err)
	}
	a := &attempt{}
	s.observe(m, a)
	err = m.LockContext(context.WithValue(limited, attemptKey{}, a))
	s.count(a)
	if err == nil {
		own.Aux, own.ValidUntil = m, m.Until()
		s.Win(own)
		return nil
	}
	err = s.failed(limited, &own, err)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err == nil && limited.Err() == nil {
		return drivers.ErrGaveUp
	}
	return fail("wait", err)
}

// count counts an attempt that was sent.
func (s *session) count(a *attempt) {
	if a.sent.Swap(false) {
		s.Asked(!s.quorate(int(a.taken.Swap(0))))
	}
}

// observe counts the attempts of a call before the delay that follows each. It draws the library's own delays, unless a
// parameter has chosen another.
func (s *session) observe(m *redsync.Mutex, a *attempt) {
	redsync.WithRetryDelayFunc(func(int) time.Duration {
		s.count(a)
		if s.service.delay > 0 {
			return s.service.delay
		}
		return 50*time.Millisecond + time.Duration(rand.IntN(200))*time.Millisecond
	}).Apply(m)
}

// Leave implements drivers.Waiter: it releases what Wait has won and no Try has confirmed.
func (s *session) Leave(ctx context.Context, _ *drivers.Lease) error { return s.GiveBack(ctx, s) }
