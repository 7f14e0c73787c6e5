// Package traffic counts what the clients of a service send: requests, and the writes that carry them.
package traffic

import (
	"net"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/lockbench/lockbench/drivers"
)

// Counter counts what its connections send. Its zero value has none. Each connection has its own counts, so that many
// clients do not share a cache line.
type Counter struct {
	mu   sync.Mutex
	open map[*conn]struct{}
	past drivers.Sent // over closed connections
}

// Sent returns what all connections have sent so far.
func (c *Counter) Sent() drivers.Sent {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.past
	for one := range c.open {
		all = all.Plus(one.sent())
	}
	return all
}

// Count returns a connection that counts what is written to it, until it is closed. requests returns how many requests
// end in the next piece of the stream; nil means that each write is one. A nil Counter counts nothing.
func (c *Counter) Count(below net.Conn, requests func([]byte) int64) net.Conn {
	if c == nil {
		return below
	}
	if requests == nil {
		requests = func([]byte) int64 { return 1 }
	}
	one := &conn{Conn: below, of: c, ended: requests}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open == nil {
		c.open = map[*conn]struct{}{}
	}
	c.open[one] = struct{}{}
	if socket, ok := below.(syscall.Conn); ok {
		return struct { // client libraries ask the socket whether the server has hung up
			*conn
			syscall.Conn
		}{one, socket}
	}
	return one
}

// conn is a connection that counts. One goroutine at a time writes to it.
type conn struct {
	net.Conn
	of       *Counter
	ended    func([]byte) int64
	requests atomic.Int64
	writes   atomic.Int64
}

// Write implements net.Conn. It counts before the server can answer.
func (c *conn) Write(b []byte) (int, error) {
	c.requests.Store(c.requests.Load() + c.ended(b))
	c.writes.Store(c.writes.Load() + 1)
	return c.Conn.Write(b)
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.of.mu.Lock()
	if _, open := c.of.open[c]; open {
		delete(c.of.open, c)
		c.of.past = c.of.past.Plus(c.sent())
	}
	c.of.mu.Unlock()
	return c.Conn.Close()
}

func (c *conn) sent() drivers.Sent {
	return drivers.Sent{Requests: c.requests.Load(), Writes: c.writes.Load()}
}

// Commands returns a function that counts the commands in a stream to a Redis server, each an array of strings.
func Commands() func([]byte) int64 { return new(commands).count }

// commands is the state within a stream.
type commands struct {
	args, rest, number int // strings to come, bytes of the present one to come, and the number in the present head
	kind               byte
}

func (s *commands) count(b []byte) (ended int64) {
	args, rest, number, kind := s.args, s.rest, s.number, s.kind
	for i := 0; i < len(b); {
		if rest > 0 {
			n := min(rest, len(b)-i)
			i += n
			if rest -= n; rest == 0 {
				if args--; args == 0 {
					ended++
				}
			}
			continue
		}
		c := b[i]
		i++
		switch {
		case c >= '0':
			for number = 10*number + int(c-'0'); i < len(b) && b[i] >= '0'; i++ {
				number = 10*number + int(b[i]-'0')
			}
		case c == '\n' && kind == '*':
			args = number
		case c == '\n':
			rest = number + len("\r\n")
		case c != '\r':
			kind, number = c, 0
		}
	}
	s.args, s.rest, s.number, s.kind = args, rest, number, kind
	return ended
}
