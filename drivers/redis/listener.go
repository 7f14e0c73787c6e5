// Listening for releases: one connection, a channel for each key, and a new connection when the old one breaks.
package redis

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// Listen implements drivers.Subscriber.
func (s wakingService) Listen(ctx context.Context, wake func(key string)) (drivers.Listener, error) {
	message := func(channel, _ string) { wake(s.names.key(channel)) }
	l, err := s.listen(ctx, s.names.of, message, func() { wake("") })
	if err != nil {
		return nil, err // not l, which is a nil of another type
	}
	return l, nil
}

// listen opens a subscription whose messages go to message. channel returns the channel of an added key, and lost is
// called when messages may have been lost.
func (s *service) listen(ctx context.Context, channel func(key string) string, message func(channel, payload string),
	lost func()) (*listener, error) {
	l := &listener{
		conn:     s.conn,
		timeout:  s.cfg.IO(),
		channel:  channel,
		message:  message,
		turns:    map[string]*turn{},
		channels: map[string]struct{}{},
		ready:    make(chan struct{}),
		ended:    make(chan struct{}),
	}
	sub, err := l.conn.Subscribe(ctx, l.message)
	if err != nil {
		return nil, fail("listen", err)
	}
	l.set(sub)
	l.ctx, l.cancel = context.WithCancel(context.Background())
	l.closed = func() { s.forget(l) }
	go l.keep(sub, lost)
	if !s.remember(l) {
		l.Close()
		return nil, fail("listen", Closed)
	}
	return l, nil
}

type listener struct {
	conn    Conn
	timeout time.Duration // for one attempt to reconnect
	channel func(key string) string
	message func(channel, payload string)

	ctx    context.Context // done when the listener is closed
	cancel context.CancelFunc
	ended  chan struct{} // closed when keep has returned
	closed func()        // tells the service

	mu sync.Mutex
	// turns keep Add and Remove of one channel in the order in which they changed channels, so that the server and the
	// map agree in the end. An Add may keep its turn for as long as there is no connection.
	turns    map[string]*turn
	channels map[string]struct{} // to be subscribed
	sub      Subscription        // nil if there is none
	ready    chan struct{}       // closed when there is one
}

// Add implements drivers.Listener. Without a connection it waits for the next one.
func (l *listener) Add(ctx context.Context, key string) error {
	channel := l.channel(key)
	leave, err := l.enter(ctx, channel, nil)
	if err != nil {
		return fail("listen", err)
	}
	defer leave()
	l.mu.Lock()
	_, there := l.channels[channel]
	l.channels[channel] = struct{}{}
	l.mu.Unlock()
	if err := l.add(ctx, channel); err != nil {
		if !there {
			l.forget(channel)
		}
		return fail("listen", err)
	}
	return nil
}

func (l *listener) add(ctx context.Context, channel string) error {
	for {
		sub, err := l.current(ctx)
		if err != nil {
			return err
		}
		if err = sub.Add(ctx, channel); err == nil {
			return nil
		}
		if _, refused := asServerError(err); refused || ctx.Err() != nil {
			return err
		}
		select {
		case <-sub.Done(): // the connection is gone: try the next one
		case <-l.ctx.Done():
			return Closed
		case <-ctx.Done():
			return err
		case <-time.After(l.timeout):
			return err
		}
		l.lose(sub)
	}
}

// Remove implements drivers.Listener. It does not wait for the server.
func (l *listener) Remove(ctx context.Context, key string) error {
	channel := l.channel(key)
	leave, err := l.enter(ctx, channel, nil)
	if err != nil {
		return fail("unlisten", err)
	}
	defer leave()
	if sub := l.forget(channel); sub != nil {
		if err := sub.Remove(ctx, channel); err != nil {
			return fail("unlisten", err)
		}
	}
	return nil
}

// Close implements drivers.Listener. No wake-up follows it.
func (l *listener) Close() error {
	l.cancel()
	<-l.ended
	l.closed()
	return nil
}

// turn is the turn of one channel.
type turn struct {
	taken chan struct{} // holds an element while somebody has the turn
	users int           // who have it or wait for it
}

// enter waits for the channel's turn, unless broken is closed; the caller must call leave.
func (l *listener) enter(ctx context.Context, channel string, broken <-chan struct{}) (leave func(), err error) {
	l.mu.Lock()
	t := l.turns[channel]
	if t == nil {
		t = &turn{taken: make(chan struct{}, 1)}
		l.turns[channel] = t
	}
	t.users++
	l.mu.Unlock()
	select {
	case t.taken <- struct{}{}:
		return func() { <-t.taken; l.done(channel, t) }, nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-broken:
		err = Closed
	case <-l.ctx.Done():
		err = Closed
	}
	l.done(channel, t)
	return nil, err
}

// done drops the turn of a channel that nobody uses any more.
func (l *listener) done(channel string, t *turn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t.users--; t.users == 0 {
		delete(l.turns, channel)
	}
}

// current returns the subscription, once there is one.
func (l *listener) current(ctx context.Context) (Subscription, error) {
	for {
		l.mu.Lock()
		sub, ready := l.sub, l.ready
		l.mu.Unlock()
		if sub != nil {
			return sub, nil
		}
		select {
		case <-ready:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-l.ctx.Done():
			return nil, Closed
		}
	}
}

func (l *listener) set(sub Subscription) {
	l.mu.Lock()
	l.sub = sub
	close(l.ready)
	l.mu.Unlock()
}

// lose records that sub is broken.
func (l *listener) lose(sub Subscription) {
	l.mu.Lock()
	if l.sub == sub {
		l.sub, l.ready = nil, make(chan struct{})
	}
	l.mu.Unlock()
}

// forget drops a channel and returns the subscription that it may have been on.
func (l *listener) forget(channel string) Subscription {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.channels, channel)
	return l.sub
}

// keep replaces the subscription whenever it breaks, until the listener is closed. It calls lost afterwards, because
// publications in between were missed.
func (l *listener) keep(sub Subscription, lost func()) {
	defer close(l.ended)
	for {
		select {
		case <-l.ctx.Done():
			sub.Close()
			return
		case <-sub.Done():
		}
		l.lose(sub)
		sub.Close()
		if sub = l.renew(); sub == nil {
			return
		}
		lost()
	}
}

// renew subscribes to everything again on a new connection. It returns nil when the listener is closed.
func (l *listener) renew() Subscription {
	const shortest, longest = 5 * time.Millisecond, time.Second
	for pause := shortest; ; pause = min(2*pause, longest) {
		if sub, err := l.resubscribe(); err == nil {
			return sub
		}
		select {
		case <-l.ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

func (l *listener) resubscribe() (Subscription, error) {
	ctx, cancel := context.WithTimeout(l.ctx, l.timeout)
	defer cancel()
	sub, err := l.conn.Subscribe(ctx, l.message)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	wanted := slices.Collect(maps.Keys(l.channels))
	l.mu.Unlock()
	if len(wanted) > 0 {
		if err := sub.Add(ctx, wanted...); err != nil {
			sub.Close()
			return nil, err
		}
	}
	l.set(sub)
	// Channels that were removed meanwhile could not be removed from a connection.
	for _, channel := range wanted {
		l.drop(ctx, sub, channel)
	}
	return sub, nil
}

// drop unsubscribes from a channel that is no longer wanted. It does not wait for its turn once sub is broken: the
// turn's owner may be waiting for the next connection.
func (l *listener) drop(ctx context.Context, sub Subscription, channel string) {
	leave, err := l.enter(ctx, channel, sub.Done())
	if err != nil {
		return
	}
	defer leave()
	l.mu.Lock()
	_, wanted := l.channels[channel]
	l.mu.Unlock()
	if !wanted {
		sub.Remove(ctx, channel)
	}
}
