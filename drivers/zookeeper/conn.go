// One session with the service, over one connection at a time, and requests with time limits.
package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockbench/lockbench/drivers/traffic"
)

var (
	errClosed    = fmt.Errorf("the service is closed: %w", net.ErrClosed)
	errNoReply   = errors.New("no reply in time")
	errEarlier   = errors.New("an earlier request of the client is still under way")
	errHandshake = errors.New("the server ends the connection before it has greeted: it may not be ZooKeeper, want TLS, " +
		"be without a majority of its ensemble, or have as many connections from here as it takes (maxClientCnxns, by default 60)")
	errSilence error = silence{}
	errExpired       = errors.New("the session is another one by now")
)

// silence is a time-out of the greeting, although its class is connect: it keeps a clean-up from being retried again and
// again.
type silence struct{}

func (silence) Error() string { return "the server there has not greeted like ZooKeeper in time" }
func (silence) Timeout() bool { return true }

// endpoint is where sessions connect to, and how.
type endpoint struct {
	servers []string // host:port
	dial    func(ctx context.Context, address string) (net.Conn, error)
	timeout time.Duration // requested for sessions
	granted *atomic.Int64 // instead, in milliseconds; 0: unknown
	io      time.Duration
	auth    string // user:password; empty: none
	acl     []zk.ACL
	buffer  int // bytes of a request

	refused func(context.Context) error // why a server that ends connections takes no session, if it is known
}

// lasts returns how long the server lets a session live of which it does not hear.
func (e *endpoint) lasts() time.Duration { return time.Duration(e.granted.Load()) * time.Millisecond }

// tally is the traffic of connections.
type tally struct {
	sent    traffic.Counter // its requests are all writes but keep-alives
	notices atomic.Int64
}

// conn is a session of the library, which reconnects by itself and makes a new session when its own has expired. It
// adds what the library lacks: time limits for requests, and a request is sent on the connection for which it was made,
// or never.
type conn struct {
	to      *endpoint
	zk      *zk.Conn
	tally   *tally
	events  <-chan zk.Event
	closing context.Context
	stop    context.CancelFunc
	closed  sync.Once

	mu         sync.Mutex
	changed    chan struct{} // closed and replaced when there is a connection again, or there will be none any more
	ready      bool          // the session exists and is connected
	session    int64
	earlier    []int64 // sessions
	generation int     // of connections
	current    int     // requests made on this connection
	stale      int     // requests made on earlier ones that are still in the library
	attempts   int     // connection attempts since the last success
	lastErr    error   // why the last one failed
	refusal    error   // of endpoint.refused
	wire       *wire   // the present connection
}

// open begins a session; await waits for it.
func open(to *endpoint, t *tally) (*conn, error) {
	c := &conn{to: to, tally: t, changed: make(chan struct{})}
	c.closing, c.stop = context.WithCancel(context.Background())
	_, events, err := zk.Connect(to.servers, to.timeout,
		func(z *zk.Conn) { c.zk = z }, // before its goroutine starts
		zk.WithLogger(silent{}), zk.WithLogInfo(false), zk.WithHostProvider(&hosts{c: c}), zk.WithDialer(c.connect),
		zk.WithEventCallback(c.event), zk.WithMaxConnBufferSize(to.buffer))
	if err != nil {
		c.stop()
		return nil, err
	}
	c.events = events
	return c, nil
}

type silent struct{}

func (silent) Printf(string, ...any) {}

// event is called by the library: for changes of its state by the goroutine that connects, and for watch events by the
// one that reads.
func (c *conn) event(e zk.Event) {
	if e.Type != zk.EventSession {
		if e.Type != zk.EventNotWatching {
			c.tally.notices.Add(1)
		}
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch e.State {
	case zk.StateHasSession:
		id := c.zk.SessionID()
		if c.session != 0 && c.session != id {
			c.earlier = append(c.earlier, c.session)
		}
		c.ready, c.session, c.attempts, c.lastErr = true, id, 0, nil
		if c.wire != nil {
			c.wire.open = true
		}
		c.signal()
	case zk.StateDisconnected:
		c.ready = false
	}
}

// signal announces a change. The caller holds the mutex.
func (c *conn) signal() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// await waits until a request can be made, and enters it. The entry's changed is closed when the connection may be another
// one.
func (c *conn) await(ctx context.Context, timer *time.Timer, within int64) (e entry, err error) {
	for {
		c.mu.Lock()
		changed := c.changed
		switch {
		case c.closing.Err() != nil:
			err = errClosed
		case c.refusal != nil:
			err = c.refusal
		case c.ready && c.stale == 0 && within != 0 && within != c.session:
			err = errExpired
		case c.ready && c.stale == 0:
			c.current++
			e = entry{c.session, c.generation, changed}
			c.mu.Unlock()
			return e, nil
		}
		c.mu.Unlock()
		if err != nil {
			return e, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return e, ctx.Err()
		case <-timer.C:
			c.mu.Lock()
			defer c.mu.Unlock()
			return e, &unconnected{c.lastErr}
		}
	}
}

// entry is a request under way.
type entry struct {
	session    int64
	generation int
	changed    <-chan struct{}
}

// isCurrent reports whether the session is the present one, and connected, as far as known.
func (c *conn) isCurrent(session int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ready && c.session == session
}

// wasSession reports whether the session is an earlier one.
func (c *conn) wasSession(session int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Contains(c.earlier, session)
}

func (c *conn) done(e entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e.generation == c.generation {
		c.current--
		return
	}
	if c.stale--; c.stale == 0 {
		c.signal()
	}
}

// cut breaks the connection of a request without a reply, so that the library reconnects.
func (c *conn) cut(generation int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.wire != nil && c.generation == generation {
		c.wire.Close()
	}
}

// close ends the session, also on the server if that answers within a second, and with it all that it holds.
func (c *conn) close() {
	c.closed.Do(func() {
		c.mu.Lock()
		ready := c.ready
		c.mu.Unlock()
		if !ready {
			c.shut()
		}
		c.zk.Close()
		c.shut()
		for range c.events { // until the library's goroutines have ended
		}
	})
}

// crash breaks the connection for good without telling the server: there the session lasts until its time-out. The rest
// is up to close.
func (c *conn) crash() { c.shut() }

// shut rejects further requests and breaks the connection.
func (c *conn) shut() {
	c.stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.wire != nil {
		c.wire.Close()
	}
	c.signal()
}

// unconnected is the error of a request that was not sent.
type unconnected struct{ reason error }

func (e *unconnected) Error() string {
	if e.reason == nil {
		return "there is no connection"
	}
	return "there is no connection: " + e.reason.Error()
}
func (e *unconnected) Unwrap() error { return e.reason }

// caller makes one request at a time. Several callers may share a conn.
type caller struct {
	c     *conn
	timer *time.Timer
	last  entry         // the last request
	busy  chan struct{} // closed when the library is done with it; nil before the first
}

// result is the result of a request.
type result[T any] struct {
	value T
	err   error
}

// ask makes a request. It returns when that is answered, after the endpoint's time limit, or when ctx is done,
// whichever comes first. The caller's next request waits until the library is done with this one, so that it sees its
// effect. within, unless 0, is the session for the request: it is not made in another one.
func ask[T any](ctx context.Context, k *caller, within int64, request func(*zk.Conn) (T, error)) (T, error) {
	var none T
	if err := ctx.Err(); err != nil {
		return none, err
	}
	if k.timer == nil {
		k.timer = time.NewTimer(k.c.to.io)
	} else {
		k.timer.Reset(k.c.to.io)
	}
	defer k.timer.Stop()
	if err := k.waitIdle(ctx); err != nil {
		return none, err
	}
	e, err := k.c.await(ctx, k.timer, within)
	if err != nil {
		return none, err
	}
	k.last, k.busy = e, make(chan struct{})
	r, done := &result[T]{}, k.busy
	go func() {
		r.value, r.err = request(k.c.zk)
		k.c.done(e)
		close(done)
	}()
	select {
	case <-done:
		return r.value, r.err
	case <-k.timer.C:
		k.c.cut(e.generation)
		return none, errNoReply
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

// exists, children, delete and multi are the requests that need nothing else of their answers. within is that of ask.
func (k *caller) exists(ctx context.Context, node string) (bool, error) {
	return ask(ctx, k, 0, func(z *zk.Conn) (bool, error) {
		found, _, err := z.Exists(node)
		return found, err
	})
}

func (k *caller) children(ctx context.Context, within int64, node string) ([]string, error) {
	return ask(ctx, k, within, func(z *zk.Conn) ([]string, error) {
		names, _, err := z.Children(node)
		return names, err
	})
}

func (k *caller) delete(ctx context.Context, within int64, node string) error {
	_, err := ask(ctx, k, within, func(z *zk.Conn) (bool, error) { return true, z.Delete(node, -1) })
	return err
}

func (k *caller) multi(ctx context.Context, ops ...any) ([]zk.MultiResponse, error) {
	return ask(ctx, k, 0, func(z *zk.Conn) ([]zk.MultiResponse, error) { return z.Multi(ops...) })
}

// waitIdle waits until the library is done with the last request, which may have been given up.
func (k *caller) waitIdle(ctx context.Context) error {
	if k.busy == nil {
		return nil
	}
	select {
	case <-k.busy:
		return nil
	default:
	}
	select {
	case <-k.busy:
		return nil
	case <-k.timer.C:
		k.c.cut(k.last.generation)
		return errEarlier
	case <-ctx.Done():
		return ctx.Err()
	}
}
