// How many bytes a service has sent, as its server counts them: without TLS.
package redis

import (
	"net"
	"sync"
	"sync/atomic"
	"syscall"
)

// sent counts what connections send. Each has a counter to itself, so that those of many clients share none.
type sent struct {
	mu   sync.Mutex
	open map[*sender]struct{}
	past int64 // by connections that were closed
}

// total is what all connections have sent so far.
func (s *sent) total() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.past
	for one := range s.open {
		all += one.bytes.Load()
	}
	return all
}

// count makes a connection count what is written to it; s may be nil.
func (s *sent) count(conn net.Conn) net.Conn {
	if s == nil {
		return conn
	}
	one := &sender{Conn: conn, of: s}
	s.mu.Lock()
	s.open[one] = struct{}{}
	s.mu.Unlock()
	if raw, ok := conn.(syscall.Conn); ok {
		return plainSender{one, raw}
	}
	return one
}

// sender is a connection that counts.
type sender struct {
	net.Conn
	of    *sent
	bytes atomic.Int64
}

// plainSender is one without TLS, whose socket client libraries look at to see whether it is still open.
type plainSender struct {
	*sender
	syscall.Conn
}

// Write implements net.Conn. It counts first, since the server may have read what is written before Write returns.
func (s *sender) Write(b []byte) (int, error) {
	s.bytes.Add(int64(len(b)))
	n, err := s.Conn.Write(b)
	if n < len(b) {
		s.bytes.Add(int64(n - len(b)))
	}
	return n, err
}

// NetConn is the connection under it, as that of a tls.Conn.
func (s *sender) NetConn() net.Conn { return s.Conn }

// Close implements net.Conn.
func (s *sender) Close() error {
	err := s.Conn.Close()
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	if _, open := s.of.open[s]; open {
		delete(s.of.open, s)
		s.of.past += s.bytes.Load()
	}
	return err
}

// Sent implements drivers.Sender. What client libraries send by themselves counts as well.
func (s *service) Sent() int64 { return s.options.sent.total() }

// Sent implements drivers.Sender.
func (b *Beside) Sent() (all int64) {
	for _, n := range b.nodes {
		all += n.Sent()
	}
	return all
}
