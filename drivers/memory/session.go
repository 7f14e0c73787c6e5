package memory

// The client side of the in-process lock. For wake-ups, a list of functions plays the role of a server's publish/subscribe.

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

type session struct {
	service *service
	owners  drivers.Owners
}

// Try takes the key if it is free, or if this session holds it and the design is reentrant. With a TTL of zero or less
// the lease never ends.
func (s *session) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	l.Reset()
	l.Owner = s.owners.Next()
	if err := s.service.check(ctx, "memory: try"); err != nil {
		return false, err
	}
	now := s.service.clock.Now()
	sh := s.service.shard(l.Key)
	sh.mu.Lock()
	e := sh.entry(l.Key)
	switch {
	case !e.held(now):
		e.owner, e.session, e.more = l.Owner, s, 0
	case e.session == s && s.service.traits.Reentrant:
		l.Owner = e.owner
		e.more++
	default:
		sh.mu.Unlock()
		return false, nil
	}
	e.until = end(now, l.TTL)
	e.fence++
	l.Fence = e.fence
	sh.mu.Unlock()
	return true, nil
}

// Adopt makes owner the Owner of the next Try.
func (s *session) Adopt(owner string) { s.owners.Adopt(owner) }

// Release frees the key if this very acquisition still holds it, and then wakes the listeners.
func (s *session) Release(ctx context.Context, l *drivers.Lease) (bool, error) {
	if err := s.service.check(ctx, "memory: release"); err != nil {
		return false, err
	}
	now := s.service.clock.Now()
	sh := s.service.shard(l.Key)
	sh.mu.Lock()
	e := sh.keys[l.Key]
	if e == nil || !e.mine(l, now) {
		sh.mu.Unlock()
		return false, nil
	}
	if e.more > 0 {
		e.more--
		sh.mu.Unlock()
		return true, nil
	}
	e.owner = ""
	listeners := e.listeners
	sh.mu.Unlock()
	// Outside the mutex, because wake may take a lock that is held while keys are added or removed.
	for _, listener := range listeners {
		listener.wake(l.Key)
	}
	return true, nil
}

func (e *entry) mine(l *drivers.Lease, now time.Duration) bool {
	return l.Owner != "" && e.owner == l.Owner && e.held(now)
}

// Renew extends the lease to l.TTL from now.
func (s *session) Renew(ctx context.Context, l *drivers.Lease) (bool, error) {
	if err := s.service.check(ctx, "memory: renew"); err != nil {
		return false, err
	}
	now := s.service.clock.Now()
	sh := s.service.shard(l.Key)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	e := sh.keys[l.Key]
	if e == nil || !e.mine(l, now) {
		return false, nil
	}
	e.until = end(now, l.TTL)
	return true, nil
}

// Remaining returns the rest of the present holder's lease.
func (s *session) Remaining(ctx context.Context, l *drivers.Lease) (time.Duration, error) {
	if err := s.service.check(ctx, "memory: remaining"); err != nil {
		return 0, err
	}
	now := s.service.clock.Now()
	sh := s.service.shard(l.Key)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	e := sh.keys[l.Key]
	switch {
	case e == nil || !e.held(now):
		return 0, nil
	case e.until == 0:
		return -1, nil
	}
	return e.until - now, nil
}

type listener struct {
	service *service
	wake    func(key string)

	mu   sync.Mutex
	keys map[string]struct{} // nil once closed
}

// Listen makes the releasing goroutine call wake after each release of an added key. The service must have been opened
// with Config.Wakes.
func (s *service) Listen(ctx context.Context, wake func(key string)) (drivers.Listener, error) {
	if err := s.check(ctx, "memory: listen"); err != nil {
		return nil, err
	}
	if !s.traits.Wakes {
		return nil, errors.New("memory: listen: the service was opened without Config.Wakes")
	}
	return &listener{service: s, wake: wake, keys: map[string]struct{}{}}, nil
}

func (l *listener) Add(ctx context.Context, key string) error {
	if err := l.service.check(ctx, "memory: listener"); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.keys == nil {
		return &drivers.Error{Class: drivers.ClassClosed, Op: "memory: listener", Err: net.ErrClosed}
	}
	if _, added := l.keys[key]; added {
		return nil
	}
	l.keys[key] = struct{}{}
	sh := l.service.shard(key)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	e := sh.entry(key)
	e.listeners = append(e.listeners, l)
	return nil
}

func (l *listener) Remove(_ context.Context, key string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, added := l.keys[key]; added {
		delete(l.keys, key)
		l.withdraw(key)
	}
	return nil
}

// Close ends the subscription. A release under way may still wake once.
func (l *listener) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key := range l.keys {
		l.withdraw(key)
	}
	l.keys = nil
	return nil
}

func (l *listener) withdraw(key string) {
	sh := l.service.shard(key)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	e := sh.entry(key)
	e.listeners = slices.DeleteFunc(slices.Clone(e.listeners), func(x *listener) bool { return x == l })
	if e.blank() {
		delete(sh.keys, key)
	}
}
