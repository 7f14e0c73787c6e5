// The number of bytes that a service has sent, as its server counts them: without TLS.
package redis

import (
	"net"
	"sync"
	"sync/atomic"
)

// sent counts what connections send. Each has its own counter, so that many clients do not share one.
type sent struct {
	mu   sync.Mutex
	open map[*counter]struct{}
	past int64 // by closed connections
}

// total returns what all connections have sent so far.
func (s *sent) total() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.past
	for one := range s.open {
		all += one.bytes.Load()
	}
	return all
}

// counter counts what one connection sends.
type counter struct {
	of    *sent // nil: not counted
	bytes atomic.Int64
}

// start adds the counter to s.
func (c *counter) start(s *sent) {
	if c.of = s; s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[c] = struct{}{}
}

// end must follow the last Write.
func (c *counter) end() {
	if c.of == nil {
		return
	}
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	if _, open := c.of.open[c]; open {
		delete(c.of.open, c)
		c.of.past += c.bytes.Load()
	}
}

// sender is a connection that only counts.
type sender struct {
	net.Conn
	counter
}

// counted makes a connection count what is written to it.
func (o Options) counted(conn net.Conn) net.Conn {
	s := &sender{Conn: conn}
	s.start(o.sent)
	return s
}

// Write implements net.Conn. It counts first, because the server may read the bytes before Write returns.
func (s *sender) Write(b []byte) (int, error) {
	s.bytes.Add(int64(len(b)))
	n, err := s.Conn.Write(b)
	s.bytes.Add(int64(n - len(b)))
	return n, err
}

// Close implements net.Conn.
func (s *sender) Close() error {
	defer s.end()
	return s.Conn.Close()
}

// Sent implements drivers.Sender. It includes what client libraries send by themselves.
func (s *service) Sent() int64 { return s.options.sent.total() }

// Sent implements drivers.Sender.
func (b *Base) Sent() (all int64) {
	for _, n := range b.nodes {
		all += n.Sent()
	}
	return all
}
