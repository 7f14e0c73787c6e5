package guard

import (
	"sync"

	"github.com/lockbench/lockbench/drivers"
)

// Sent counts what connections send. Each has its own counts, so that many clients do not share one.
type Sent struct {
	mu   sync.Mutex
	open map[*guard]struct{}
	past drivers.Sent // over closed connections
}

// Total returns what all connections have sent so far.
func (s *Sent) Total() drivers.Sent {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.past
	for one := range s.open {
		all = all.Plus(one.total())
	}
	return all
}

// NewSent returns a count of nothing.
func NewSent() *Sent { return &Sent{open: map[*guard]struct{}{}} }

// start counts a connection in s, unless that is nil.
func (s *Sent) start(g *guard) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[g] = struct{}{}
}

// end must follow the last Write.
func (s *Sent) end(g *guard) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, open := s.open[g]; open {
		delete(s.open, g)
		s.past = s.past.Plus(g.total())
	}
}
