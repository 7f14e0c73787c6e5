package guard

// The number of bytes that a service has sent, as its server counts them: without TLS.

import (
	"net"
	"sync"
	"sync/atomic"
)

// Sent counts what connections send. Each has its own counter, so that many clients do not share one.
type Sent struct {
	mu   sync.Mutex
	open map[*counter]struct{}
	past int64 // by closed connections
}

// Total returns what all connections have sent so far.
func (s *Sent) Total() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.past
	for one := range s.open {
		all += one.bytes.Load()
	}
	return all
}

// NewSent returns a count of nothing.
func NewSent() *Sent { return &Sent{open: map[*counter]struct{}{}} }

// counter counts what one connection sends.
type counter struct {
	of    *Sent // nil: not counted
	bytes atomic.Int64
}

// start adds the counter to s.
func (c *counter) start(s *Sent) {
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

// Count makes a connection count what is written to it.
func (s *Sent) Count(conn net.Conn) net.Conn {
	one := &sender{Conn: conn}
	one.start(s)
	return one
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
