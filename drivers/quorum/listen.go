// Listening at all nodes for one lock.
package quorum

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/lockbench/lockbench/drivers"
)

// Listen implements drivers.Subscriber. It opens one subscription per node, and needs those of a majority.
func (s wakingService) Listen(ctx context.Context, wake func(key string)) (drivers.Listener, error) {
	l := &listener{s: s.service, wake: wake, keys: map[string]set{}, nodes: make([]drivers.Listener, len(s.nodes))}
	subscribe := func(ctx context.Context, node int, sub drivers.Subscriber) (err error) {
		l.nodes[node], err = sub.Listen(ctx, func(key string) { l.announced(key, 1<<node) })
		return err
	}
	err := each(ctx, s.service, s.cfg.IO(), s.alive(), subscribe)
	if err == nil || len(l.open()) >= s.majority {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.closed {
			s.listeners[l] = struct{}{}
			return l, nil
		}
		err = errClosed
	}
	drivers.CloseAll(slices.Values(l.open()))
	return nil, fail("listen", err)
}

// listener is a subscription at every open node. It wakes when a majority of the nodes have announced a release of the
// key since the last wake-up. Fewer are useless, and worse: each waiter that tries without success gives back the few
// votes that it got, which is announced as well, so waiters would keep each other awake while the holder has a bare
// majority.
//
// No wake-up is lost. After a wake-up all waiters try again and give back what they got without success, so those nodes
// count from then on. The other nodes have refused. For a majority to become free, some of those must release, which
// they announce, unless the lease ends there, which bounds every wait. A node that has failed instead of refusing
// counts as well, and so does one that registers the key after the others: it may have been released there before.
type listener struct {
	s     *service
	wake  func(key string)
	nodes []drivers.Listener // nil for those that are not open; constant

	mu   sync.Mutex
	keys map[string]set // added keys, with the nodes that have announced a release
}

func (l *listener) open() []drivers.Listener {
	return slices.DeleteFunc(slices.Clone(l.nodes), func(n drivers.Listener) bool { return n == nil })
}

// announced counts nodes at which a key is free, perhaps.
func (l *listener) announced(key string, at set) {
	if key == "" {
		l.wake("")
		return
	}
	l.mu.Lock()
	heard, added := l.keys[key]
	heard |= at
	enough := heard.size() >= l.s.majority
	if enough {
		heard = 0
	}
	if added {
		l.keys[key] = heard
	}
	l.mu.Unlock()
	if added && enough {
		l.wake(key)
	}
}

// Add implements drivers.Listener. It needs a majority of the nodes, and does not wait for others.
func (l *listener) Add(ctx context.Context, key string) error {
	l.mu.Lock()
	l.keys[key] |= 0
	l.mu.Unlock()
	err := l.follow(ctx, key)
	if err != nil {
		l.forget(key)
	}
	return fail("listen", err)
}

// Remove implements drivers.Listener.
func (l *listener) Remove(ctx context.Context, key string) error {
	l.forget(key)
	return fail("unlisten", l.follow(ctx, key))
}

func (l *listener) forget(key string) {
	l.mu.Lock()
	delete(l.keys, key)
	l.mu.Unlock()
}

func (l *listener) added(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, added := l.keys[key]
	return added
}

// follow makes the nodes register a key that is added, and forget one that is not. Requests of several calls may
// overtake each other on their way to a slow node, so each of them looks again when it has been answered: the last one
// to have an effect finds what was wanted last.
func (l *listener) follow(ctx context.Context, key string) error {
	adding := l.added(key)
	var late atomic.Bool // a majority has registered it
	register := func(ctx context.Context, node int, _ drivers.Subscriber) (err error) {
		n := l.nodes[node]
		for {
			added := l.added(key)
			switch {
			case n == nil:
				return errNotOpen
			case added:
				err = n.Add(ctx, key)
			default:
				err = n.Remove(ctx, key)
			}
			if err != nil || l.added(key) == added {
				if added && err == nil && (late.Load() || !adding) {
					l.announced(key, 1<<node)
				}
				return err
			}
		}
	}
	err := each(ctx, l.s, l.s.cfg.IO(), l.s.majority, register)
	late.Store(true)
	return err
}

// Close implements drivers.Listener.
func (l *listener) Close() error {
	l.s.mu.Lock()
	delete(l.s.listeners, l)
	l.s.mu.Unlock()
	return drivers.CloseAll(slices.Values(l.open()))
}

// announced counts nodes that have not answered an attempt as if they had announced a release.
func (s *service) announced(key string, at set) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for l := range s.listeners {
		l.announced(key, at)
	}
}
