package memory

// Wake-ups: a list of functions plays the role of a server's publish/subscribe.

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"

	"github.com/lockbench/lockbench/drivers"
)

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
