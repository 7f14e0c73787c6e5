// The connections of a client, owned by the driver, because the library's client can come back to life after its Close
// (v1.0.79, mux.go): a command whose context is over takes the closed connection for a broken one and makes the next
// command open a new one; and a connection that is being made during Close is used afterwards.
package rueidis

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"time"

	"github.com/redis/rueidis"
)

// Connections are all open connections of the clients of one ClientOption. Close them after the clients: then nothing
// is open, and nothing can be opened any more.
type Connections struct {
	mu     sync.Mutex
	open   map[*connection]struct{}
	closed bool
	empty  chan struct{} // closed when nothing is open any more; nil unless drain waits for it
}

// connection is an open one of them.
type connection struct {
	net.Conn
	of *Connections
}

// owning returns dial with its connections kept in c.
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

// keep adds a new connection, unless c is closed.
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

// Close closes all connections and forbids new ones.
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

// drain is Close for a client that closes its connections in the background: it would take those still open for broken
// and look for others.
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
