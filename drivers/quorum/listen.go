// Listening at all nodes for one lock.
package quorum

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/lockbench/lockbench/drivers"
)

// Listen implements drivers.Subscriber. It opens one subscription per node, and needs those of a majority.
func (s wakingService) Listen(ctx context.Context, wake func(key string)) (drivers.Listener, error) {
	l := &listener{s: s.service, wake: wake, keys: map[string]set{}, nodes: map[*node]drivers.Listener{}}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, fail("listen", errClosed)
	}
	s.listeners[l] = struct{}{}
	s.mu.Unlock()
	err := s.ask(ctx, s.cfg.IO(), len(s.nodes), l.open)
	l.mu.Lock()
	open := len(l.nodes)
	l.mu.Unlock()
	if open < s.majority {
		l.Close()
		return nil, fail("listen", err)
	}
	return l, nil
}

// listener is a subscription at every open node. It wakes when a majority of the nodes have announced a release of the
// key since the last wake-up. Fewer are useless, and worse: each waiter that tries without success gives back the few
// votes that it got, which is announced as well, so waiters would keep each other awake while the holder has a bare
// majority.
//
// No wake-up is lost. After a wake-up all waiters try again and give back what they got without success, so those nodes
// count from then on. The other nodes have refused. For a majority to become free, some of those must release, which
// they announce, unless the lease ends there, which bounds every wait. A node that has failed instead of refusing
// counts as well; see failing.
type listener struct {
	s    *service
	wake func(key string)

	mu     sync.Mutex
	closed bool
	keys   map[string]set // added keys, with the nodes that have announced a release
	nodes  map[*node]drivers.Listener
}

// open subscribes at one node, also to the keys that were added before.
func (l *listener) open(ctx context.Context, n *node, svc drivers.Service) error {
	sub, ok := drivers.As[drivers.Subscriber](svc)
	if !ok {
		return errors.ErrUnsupported
	}
	inner, err := sub.Listen(ctx, func(key string) { l.announced(n, key) })
	if err != nil {
		return err
	}
	l.mu.Lock()
	var keys []string
	late := l.closed || l.nodes[n] != nil
	if !late {
		l.nodes[n] = inner
		keys = slices.Collect(maps.Keys(l.keys))
	}
	l.mu.Unlock()
	if late {
		return inner.Close()
	}
	for _, key := range keys {
		_, keyErr := l.settle(ctx, n, key)
		err = errors.Join(err, keyErr)
	}
	return err
}

// announced is called by the node's listener.
func (l *listener) announced(n *node, key string) {
	if key == "" {
		l.wake("")
		return
	}
	l.mu.Lock()
	heard, added := l.keys[key]
	heard.add(n.number - 1)
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

// Add implements drivers.Listener. It needs a majority of the nodes, and does not wait for others. A node that registers the key
// later counts as if it had announced a release: it may have been released there before, and its waiters have tried before.
func (l *listener) Add(ctx context.Context, key string) error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return fail("listen", errClosed)
	}
	if _, added := l.keys[key]; !added {
		l.keys[key] = 0
	}
	l.mu.Unlock()
	var returned atomic.Bool
	err := l.s.ask(ctx, l.s.cfg.IO(), l.s.majority, func(ctx context.Context, n *node, _ drivers.Service) error {
		registered, err := l.settle(ctx, n, key)
		if registered && returned.Load() {
			l.announced(n, key)
		}
		return err
	})
	returned.Store(true)
	if err != nil {
		l.forget(key)
		return fail("listen", err)
	}
	return nil
}

// Remove implements drivers.Listener.
func (l *listener) Remove(ctx context.Context, key string) error {
	l.forget(key)
	err := l.s.ask(ctx, l.s.cfg.IO(), l.s.majority, func(ctx context.Context, n *node, _ drivers.Service) error {
		registered, err := l.settle(ctx, n, key)
		if registered { // it was added again meanwhile, and this may have come after that
			l.announced(n, key)
		}
		return err
	})
	return fail("unlisten", err)
}

// settle makes a node register a key that is added, and forget one that is not. Requests of several calls may overtake each
// other on their way to a slow node, so each of them looks again when it has been answered: the last one to have an effect finds
// what was wanted last.
func (l *listener) settle(ctx context.Context, n *node, key string) (registered bool, err error) {
	for {
		inner, added := l.at(n, key)
		switch {
		case inner == nil:
			return false, errNotOpen
		case added:
			err = inner.Add(ctx, key)
		default:
			err = inner.Remove(ctx, key)
		}
		if _, still := l.at(n, key); err != nil || still == added {
			return added && err == nil, err
		}
	}
}

// at returns the subscription at a node, nil if there is none, and whether a key is added.
func (l *listener) at(n *node, key string) (inner drivers.Listener, added bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, added = l.keys[key]
	return l.nodes[n], added
}

func (l *listener) forget(key string) {
	l.mu.Lock()
	delete(l.keys, key)
	l.mu.Unlock()
}

// Close implements drivers.Listener.
func (l *listener) Close() error {
	l.mu.Lock()
	l.closed = true
	nodes := l.nodes
	l.nodes = nil
	l.mu.Unlock()
	l.s.mu.Lock()
	delete(l.s.listeners, l)
	l.s.mu.Unlock()
	return drivers.CloseAll(maps.Values(nodes))
}

// join makes every listener subscribe at a node that was down until now. Then all waiters have to look.
func (s *service) join(ctx context.Context, n *node, svc drivers.Service) {
	for _, l := range s.open() {
		if l.open(ctx, n, svc) == nil {
			l.wake("")
		}
	}
}

// failing counts nodes that have not answered an attempt as if they had announced a release: the key may be
// free there.
func (s *service) failing(key string, silent set) {
	for _, l := range s.open() {
		l.mu.Lock()
		if heard, added := l.keys[key]; added {
			l.keys[key] = heard.with(silent)
		}
		l.mu.Unlock()
	}
}

func (s *service) open() []*listener {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.listeners))
}
