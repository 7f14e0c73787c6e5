// The connections of a client, in its owner's hands, because the library's client can come back to life after its
// Close (v1.0.79, mux.go). A command whose context is over takes the closed connection for a broken one, and has the
// next command make a new one; and a connection that is being made when Close passes by takes its place afterwards.
package rueidis

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"time"

	"github.com/redis/rueidis"
)

// Connections are all that the clients of one ClientOption have open. Whoever closes the clients closes these next:
// nothing is open after that, and nothing is opened any more.
type Connections struct {
	mu     sync.Mutex
	open   map[*connection]struct{}
	closed bool
	empty  chan struct{} // closed when nothing is open any more; nil unless somebody waits for it
}

// connection is one of them, until somebody closes it.
type connection struct {
	net.Conn
	of *Connections
}

// owning makes a client's way to connect out of one that nobody owns.
func (c *Connections) owning(dial func(ctx context.Context, addr string) (net.Conn, error),
) func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error) {
	return func(ctx context.Context, addr string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
		c.mu.Lock()
		closed := c.closed
		c.mu.Unlock()
		if closed {
			return nil, rueidis.ErrClosing
		}
		conn, err := dial(ctx, addr)
		if err != nil {
			return nil, err
		}
		return c.keep(conn)
	}
}

// keep takes a new connection in, unless Close came first.
func (c *Connections) keep(conn net.Conn) (net.Conn, error) {
	owned := &connection{conn, c}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		conn.Close()
		return nil, rueidis.ErrClosing
	}
	c.open[owned] = struct{}{}
	return owned, nil
}

// Close closes whatever is open, and forbids more.
func (c *Connections) Close() {
	c.mu.Lock()
	c.closed = true
	open := c.open
	c.open = map[*connection]struct{}{}
	c.mu.Unlock()
	for conn := range open {
		conn.Conn.Close()
	}
}

// drain is Close for a client that closes its connections in the background: it would take those that it has not come
// to for broken, and look for others.
func (c *Connections) drain(limit time.Duration) {
	defer c.Close()
	c.mu.Lock()
	c.closed = true
	if len(c.open) == 0 {
		c.mu.Unlock()
		return
	}
	empty := make(chan struct{})
	c.empty = empty
	c.mu.Unlock()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-empty:
	case <-timer.C:
	}
}

// Close implements net.Conn.
func (c *connection) Close() error {
	of := c.of
	of.mu.Lock()
	delete(of.open, c)
	if len(of.open) == 0 && of.empty != nil {
		close(of.empty)
		of.empty = nil
	}
	of.mu.Unlock()
	return c.Conn.Close()
}
