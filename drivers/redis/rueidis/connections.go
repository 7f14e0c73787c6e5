// The connections of a client, owned by the driver, because the library's client can come back to life after its Close
// (v1.0.79, mux.go): a command whose context is over takes the closed connection for a broken one and makes the next
// command open a new one; and a connection that is being made during Close is used afterwards.
package rueidis

import (
	"context"
	"crypto/tls"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"
)

// Connections are all open connections of the clients of one ClientOption. Close them after the clients: then nothing
// is open, and nothing can be opened any more.
type Connections struct {
	mu      sync.Mutex
	open    map[*connection]struct{}
	closed  bool
	collect bool          // writers collect; see collector
	empty   chan struct{} // closed when nothing is open any more; nil unless drain waits for it
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
	if c.collect {
		return newCollector(owned), nil
	}
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

const (
	collectFor = 100 * time.Microsecond // how long a writer waits at most

	crowd    = 1 << 10 // bytes in a write, some eight commands, from which it pays to wait for more
	maySmall = 4       // so many writes after a wait may have less: of those whose answers came first
	askAgain = 128     // where it does not, one write in so many waits, in case that there are more clients by now

	// inParts is the size of a write to which the answers come in parts, because a Redis reads so much at a time. Then a writer
	// waits for the whole time, or else it would write again for the clients of the first part alone.
	inParts = 16 << 10
)

// collector is a connection that holds its writer back until answers to what it has sent have come, but no longer than collectFor:
// Nagle's algorithm (RFC 896) for commands. Meanwhile the library queues those of other clients, and then sends them in one write.
// Where few clients share the connection this is slower than to write at once, so that they do not wait.
//
// The library writes in one goroutine and reads in another. Until a connection has carried two commands at once, it does both in
// the client's: then nobody reads during a write, and the write does not wait.
type collector struct {
	net.Conn
	reading    atomic.Bool   // the library waits for answers; kept until background is true
	background atomic.Bool   // it reads and writes in goroutines of their own
	waiting    atomic.Bool   // the writer waits for answers
	read       chan struct{} // one slot: the answers that came have gone to their clients

	// The writer's:
	limit  *time.Timer
	writes int
	waited bool // after the last write
	small  int  // writes after a wait in a row in which there was no crowd
}

func newCollector(conn net.Conn) *collector {
	limit := time.NewTimer(0)
	limit.Stop()
	return &collector{Conn: conn, read: make(chan struct{}, 1), limit: limit}
}

// Read implements net.Conn. It begins when the answers of the one before have gone to their clients.
func (c *collector) Read(b []byte) (int, error) {
	if !c.background.Load() {
		c.reading.Store(true)
		defer c.reading.Store(false)
	}
	if c.waiting.Load() {
		select {
		case c.read <- struct{}{}:
		default:
		}
	}
	return c.Conn.Read(b)
}

// Write implements net.Conn.
func (c *collector) Write(b []byte) (int, error) {
	if !c.background.Load() {
		if !c.reading.Load() {
			return c.Conn.Write(b)
		}
		c.background.Store(true)
	}
	if !c.company(len(b)) {
		return c.Conn.Write(b)
	}
	select { // left from a wait that had reached its limit
	case <-c.read:
	default:
	}
	c.waiting.Store(true)
	defer c.waiting.Store(false)
	n, err := c.Conn.Write(b)
	if err == nil {
		c.wait(n)
	}
	return n, err
}

// wait lets the library queue commands after a write of n bytes.
func (c *collector) wait(n int) {
	c.waited = true
	read := c.read
	if n >= inParts {
		read = nil
	}
	c.limit.Reset(collectFor)
	select {
	case <-read:
		c.limit.Stop()
		runtime.Gosched() // those with an answer send their next command first
	case <-c.limit.C:
	}
}

// company reports whether to wait after the next write, of n bytes, which tells what the last wait has brought.
func (c *collector) company(n int) bool {
	if c.waited {
		c.waited = false
		if c.small++; n >= crowd {
			c.small = 0
		}
	}
	c.writes++
	return c.small < maySmall || c.writes%askAgain == 0
}
