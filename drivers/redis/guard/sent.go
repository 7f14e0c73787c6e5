package guard

// What a service has exchanged with its server, as the server counts it: without TLS.

import (
	"net"
	"sync"
	"sync/atomic"
)

// Sent counts what connections exchange. Each has its own counts, so that many clients do not share one.
type Sent struct {
	mu   sync.Mutex
	open map[counted]struct{}
	past Total // of closed connections
}

// Total is what connections have exchanged with a server so far.
type Total struct {
	Sent, Received int64 // bytes
	Commands       int64 // a script is one
	Scripts        int64 // of the commands
	Writes         int64 // that carried the commands
}

func (t *Total) add(u Total) {
	t.Sent += u.Sent
	t.Received += u.Received
	t.Commands += u.Commands
	t.Scripts += u.Scripts
	t.Writes += u.Writes
}

// counted is a connection that knows its total.
type counted interface{ total() Total }

// Total returns what all connections have exchanged so far.
func (s *Sent) Total() Total {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.past
	for one := range s.open {
		all.add(one.total())
	}
	return all
}

// NewSent returns a count of nothing.
func NewSent() *Sent { return &Sent{open: map[counted]struct{}{}} }

// start counts a connection in s, unless that is nil.
func (s *Sent) start(c counted) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[c] = struct{}{}
}

// end must follow the last Read and Write.
func (s *Sent) end(c counted) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, open := s.open[c]; open {
		delete(s.open, c)
		s.past.add(c.total())
	}
}

// sender is a connection that only counts bytes.
type sender struct {
	net.Conn
	of         *Sent
	sent, read atomic.Int64
}

// Count makes a connection count the bytes that it sends and receives.
func (s *Sent) Count(conn net.Conn) net.Conn {
	one := &sender{Conn: conn, of: s}
	s.start(one)
	return one
}

func (s *sender) total() Total { return Total{Sent: s.sent.Load(), Received: s.read.Load()} }

// Write implements net.Conn. It counts first, because the server may read the bytes before Write returns.
func (s *sender) Write(b []byte) (int, error) {
	s.sent.Add(int64(len(b)))
	n, err := s.Conn.Write(b)
	s.sent.Add(int64(n - len(b)))
	return n, err
}

// Read implements net.Conn.
func (s *sender) Read(b []byte) (int, error) {
	n, err := s.Conn.Read(b)
	s.read.Add(int64(n))
	return n, err
}

// Close implements net.Conn.
func (s *sender) Close() error {
	defer s.of.end(s)
	return s.Conn.Close()
}
