// Nodes under the test's control: memory locks, each with switches.
package quorum_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/memory"
	"github.com/lockbench/lockbench/drivers/quorum"
)

const (
	ttl         = 10 * time.Second
	nodeTimeout = 50 * time.Millisecond
)

// local makes a driver without addresses one of nodes.
type local struct{ drivers.Driver }

func (local) Service() string                       { return "" }
func (local) ReadAddr(string) (drivers.Addr, error) { return drivers.Addr{}, nil }

// fakes is a driver whose services are identified by their addresses.
type fakes struct {
	local
	mu    sync.Mutex
	nodes map[string]*fake
}

// fake is one node.
type fake struct {
	mu     sync.Mutex
	name   string
	opened int
	down   error                    // of Open and of every request
	delay  map[string]time.Duration // before a request of that kind has its effect
	far    map[int]time.Duration    // the same, before any request of that session
	hangs  bool                     // requests have no effect and end with their context
	goesOn time.Duration            // after that
	mute   bool                     // requests have effect and end with their context
	server drivers.Server           // what it says of itself
	usage  drivers.Usage            // what it has used, and was sent

	calls []string
	held  map[string]bool // owners granted and not released
}

func newFakes(n int) *fakes {
	f := &fakes{local: local{memory.Driver{}}, nodes: map[string]*fake{}}
	for _, name := range names(n) {
		f.nodes[name] = &fake{name: name, held: map[string]bool{}, delay: map[string]time.Duration{}, far: map[int]time.Duration{}}
	}
	return f
}

func (f *fakes) each(names string, set func(*fake)) {
	for _, name := range names {
		n := f.nodes[string(name)]
		n.mu.Lock()
		set(n)
		n.mu.Unlock()
	}
}

func (f *fakes) Open(ctx context.Context, cfg drivers.Config) (drivers.Service, error) {
	f.mu.Lock()
	n := f.nodes[cfg.Addrs[0]]
	f.mu.Unlock()
	n.mu.Lock()
	n.opened++
	down := n.down
	n.mu.Unlock()
	if len(cfg.Addrs) != 1 || cfg.Topology != "" {
		return nil, errors.New("a node is a single one")
	}
	if down != nil {
		return nil, down
	}
	s, err := f.Driver.Open(ctx, cfg)
	return &fakeService{s, n}, err
}

type fakeService struct {
	drivers.Service
	node *fake
}

func (s *fakeService) Unwrap() drivers.Service { return s.Service }

func (s *fakeService) Session(ctx context.Context, id int) (drivers.Session, error) {
	inner, err := s.Service.Session(ctx, id)
	return &fakeSession{inner, s.node, id}, err
}

// Inspect implements drivers.Inspector.
func (s *fakeService) Inspect(context.Context) (drivers.Server, drivers.Usage, error) {
	s.node.mu.Lock()
	defer s.node.mu.Unlock()
	return s.node.server, s.node.usage, s.node.down
}

// Sent implements drivers.Sender.
func (s *fakeService) Sent() drivers.Sent {
	s.node.mu.Lock()
	defer s.node.mu.Unlock()
	return drivers.Sent{Requests: s.node.usage.Commands}
}

// Listen implements drivers.Subscriber.
func (s *fakeService) Listen(ctx context.Context, wake func(key string)) (drivers.Listener, error) {
	inner, err := s.Service.(drivers.Subscriber).Listen(ctx, wake)
	return fakeListener{inner, s.node}, err
}

type fakeListener struct {
	drivers.Listener
	node *fake
}

func (l fakeListener) Add(ctx context.Context, key string) error {
	l.node.mu.Lock()
	d := l.node.delay["add"]
	l.node.mu.Unlock()
	if d > 0 {
		select {
		case <-time.After(d):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return l.Listener.Add(ctx, key)
}

type fakeSession struct {
	drivers.Session
	node *fake
	id   int
}

func (s *fakeSession) Adopt(owner string) { s.Session.(drivers.Adopter).Adopt(owner) }

func (s *fakeSession) request(ctx context.Context, what string, l *drivers.Lease, f func() (bool, error)) (bool, error) {
	n := s.node
	n.mu.Lock()
	n.calls = append(n.calls, what)
	down, d, hangs, goesOn, mute := n.down, n.delay[what]+n.far[s.id], n.hangs, n.goesOn, n.mute
	n.mu.Unlock()
	if down != nil {
		return false, down
	}
	if d > 0 {
		select {
		case <-time.After(d):
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
	if hangs {
		<-ctx.Done()
		time.Sleep(goesOn)
		return false, ctx.Err()
	}
	yes, err := f()
	n.mu.Lock()
	if yes && what == "try" {
		n.held[l.Owner] = true
	} else if yes && what == "release" {
		delete(n.held, l.Owner)
	}
	n.mu.Unlock()
	if mute {
		<-ctx.Done()
		return false, ctx.Err()
	}
	return yes, err
}

func (s *fakeSession) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	return s.request(ctx, "try", l, func() (bool, error) { return s.Session.Try(ctx, l) })
}

func (s *fakeSession) Release(ctx context.Context, l *drivers.Lease) (bool, error) {
	return s.request(ctx, "release", l, func() (bool, error) { return s.Session.Release(ctx, l) })
}

func (s *fakeSession) Renew(ctx context.Context, l *drivers.Lease) (bool, error) {
	return s.request(ctx, "renew", l, func() (bool, error) { return s.Session.(drivers.Renewer).Renew(ctx, l) })
}

func (s *fakeSession) Remaining(ctx context.Context, l *drivers.Lease) (left time.Duration, err error) {
	_, err = s.request(ctx, "remaining", l, func() (bool, error) {
		var err error
		left, err = s.Session.(drivers.Remainer).Remaining(ctx, l)
		return false, err
	})
	return left, err
}

// took returns how often a node was asked that since the last call.
func (n *fake) took(what string) (count int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, call := range n.calls {
		if call == what {
			count++
		}
	}
	n.calls = nil
	return count
}

func (n *fake) owners() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.held)
}

// refused is the answer of a dead server's port.
var refused = &drivers.Error{Class: drivers.ClassConnect, Op: "fake", Err: errors.New("connection refused")}

// cluster is an open service over fakes.
type cluster struct {
	*fakes
	drivers.Service
	t     *testing.T
	votes []drivers.Vote
	mu    sync.Mutex
}

func start(t *testing.T, f *fakes, cfg drivers.Config) *cluster {
	cfg.Addrs, cfg.NodeTimeout, cfg.Topology = names(len(f.nodes)), nodeTimeout, drivers.TopologyRedlock
	s, err := quorum.Driver{Node: f}.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	c := &cluster{fakes: f, Service: s, t: t}
	s.(drivers.Voter).Watch(func(v drivers.Vote) {
		c.mu.Lock()
		c.votes = append(c.votes, v)
		c.mu.Unlock()
	})
	return c
}

func (c *cluster) client() drivers.Session { return c.number(0) }

func (c *cluster) number(id int) drivers.Session {
	s, err := c.Session(c.t.Context(), id)
	if err != nil {
		c.t.Fatal(err)
	}
	return s
}

// vote returns the last vote.
func (c *cluster) vote() drivers.Vote {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.votes) == 0 {
		c.t.Fatal("no vote was reported")
	}
	return c.votes[len(c.votes)-1]
}
