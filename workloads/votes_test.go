package workloads

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results"
)

// voting is a service whose nodes vote on every try as they are told, a millisecond after it was answered.
type voting struct {
	drivers.Service
	vote drivers.Vote

	mu      sync.Mutex
	watcher func(drivers.Vote)
	nodes   []drivers.Node
}

func (s *voting) Unwrap() drivers.Service { return s.Service }

func (s *voting) Watch(vote func(v drivers.Vote)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watcher = vote
}

func (s *voting) Nodes() []drivers.Node {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.nodes)
}

func (s *voting) Session(ctx context.Context, id int) (drivers.Session, error) {
	inner, err := s.Service.Session(ctx, id)
	return &voter{inner, s}, err
}

type voter struct {
	drivers.Session
	svc *voting
}

func (s *voter) Unwrap() drivers.Session { return s.Session }

func (s *voter) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	held, err := s.Session.Try(ctx, l)
	s.svc.mu.Lock()
	defer s.svc.mu.Unlock()
	s.svc.nodes[1].Failed++
	if watcher := s.svc.watcher; watcher != nil {
		time.AfterFunc(time.Millisecond, func() { watcher(s.svc.vote) })
	}
	return held, err
}

// TestVotes counts what is voted in the window, and no wait of a client is in it.
func TestVotes(t *testing.T) {
	p := plan("memory", "mutex")
	p.Hold, p.Think, p.Warmup, p.Duration = 10*ms, 5*ms, 152*ms, 1500*ms // no try falls on an edge
	svc := &voting{nodes: make([]drivers.Node, 3)}
	wrap := func(inner drivers.Service) drivers.Service {
		svc.Service = inner
		return svc
	}
	svc.vote = drivers.Vote{Held: true, Yes: 2, Failed: 1, Elapsed: 3 * ms}
	svc.nodes[1].Failed = 7 // before the run
	bubble(t, p, wrap, func(t *testing.T, r *results.Record) {
		all, n := r.Latency[results.AcquireAll], r.Counts
		if all.Count != 100 || n.SplitVotes != 0 {
			t.Errorf("%d votes, counts %+v, want 100 and nothing else", all.Count, n)
		}
		near(t, "time of all nodes", float64(all.P50), float64(3*ms), 0.001)
		near(t, "Little's sum", r.Bound.Little, 1, 0.01)
		if !slices.Equal(n.NodeErrors, []int64{0, 100, 0}) {
			t.Errorf("node errors %v, want those of the window", n.NodeErrors)
		}
		if svc.watcher != nil {
			t.Error("the votes are watched after the run")
		}
	})
	svc.vote = drivers.Vote{Yes: 1, No: 2, Elapsed: 3 * ms}
	bubble(t, p, wrap, func(t *testing.T, r *results.Record) {
		if n := r.Counts; n.SplitVotes != 100 || r.Latency[results.AcquireAll].Count != 0 {
			t.Errorf("counts %+v, want 100 split votes", n)
		}
	})
}
