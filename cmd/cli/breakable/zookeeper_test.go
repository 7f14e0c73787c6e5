package breakable_test

// A small lock of ZooKeeper's numbered nodes, which can be broken where the one of package zookeeper cannot.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockbench/lockbench/drivers"
)

// nodes is a lock whose clients each make a numbered node. It is sound unless it is told otherwise.
type nodes struct {
	drivers.Addressed

	stays   bool // a client that is refused leaves its node
	byName  bool // it compares the names of nodes, and not their numbers
	clears  bool // a release deletes the nodes of all
	exists  bool // it looks whether its own node is there, and not whether it is the first
	keeps   bool // who gives up waiting leaves its node
	once    bool // a waiter watches one node, and no other when that is gone
	anyGone bool // a waiter takes the end of the node that it watches for a grant
}

var inZooKeeper = []defect{
	{"unlock-after-refusal", "leaves the node of a client that is refused", inNodes(func(n *nodes) { n.stays = true }), ofNodes, "not free"},
	{"unlock-after-refusal", "deletes the nodes of all", inNodes(func(n *nodes) { n.clears = true }), ofNodes, "at once"},
	{"overrun", "compares the names of nodes, and not their numbers", inNodes(func(n *nodes) { n.byName = true }), ofNodes, "at once"},
	{"overrun", "looks whether its node is there, and not whether it is the first", inNodes(func(n *nodes) { n.exists = true }), ofNodes, "at once"},
	{"waiter-gone", "watches one node, and no other when that is gone", inNodes(func(n *nodes) { n.once = true }), ofNodes, "not free"},
	{"waiter-gone", "takes the end of the node before its own for a grant", inNodes(func(n *nodes) { n.anyGone = true }), ofNodes, "at once"},
	{"waiter-gone", "leaves its node when it gives up waiting", inNodes(func(n *nodes) { n.keeps = true }), ofNodes, "not free"},
}

var ofNodes = []string{"nodes sequential"}

func inNodes(breaks func(*nodes)) func(drivers.Driver) drivers.Driver {
	return func(sound drivers.Driver) drivers.Driver {
		n := sound.(nodes)
		breaks(&n)
		return n
	}
}

func (nodes) Designs() []drivers.Design {
	d, _ := drivers.FindDesign(lookup("zookeeper"), "sequential") // which it has
	return []drivers.Design{d}
}

func (n nodes) Open(_ context.Context, cfg drivers.Config) (drivers.Service, error) {
	if _, err := drivers.FindDesign(n, cfg.Lock); err != nil {
		return nil, err
	}
	at, err := url.Parse(cfg.Addrs[0])
	return &nodeService{nodes: n, host: at.Host, ttl: cmp.Or(cfg.TTL, 10*time.Second)}, err
}

type nodeService struct {
	nodes
	host string
	ttl  time.Duration

	mu    sync.Mutex
	conns []*zk.Conn // of its sessions
}

func (s *nodeService) Traits() drivers.Traits { return s.Designs()[0].Traits }

// Close ends the sessions, and with them what they hold.
func (s *nodeService) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		c.Close()
	}
	return nil
}

func (s *nodeService) Session(ctx context.Context, _ int) (drivers.Session, error) {
	c, _, err := zk.Connect([]string{s.host}, s.ttl, zk.WithLogInfo(false), zk.WithLogger(silent{}))
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.conns = append(s.conns, c)
	s.mu.Unlock()
	for c.State() != zk.StateHasSession {
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return &nodeSession{nodeService: s, Conn: c}, nil
}

type silent struct{}

func (silent) Printf(string, ...any) {}

type nodeSession struct {
	*nodeService
	*zk.Conn
	owners drivers.Owners
	place  place // in which it waits

	granted bool // without a look
}

// place is one in the line.
type place struct{ owner, node string }

// Close ends the session, and with it what it holds.
func (s *nodeSession) Close() error {
	s.Conn.Close()
	return nil
}

func lineOf(key string) string { return "/" + url.PathEscape(key) }

// enter makes a node at the end of the line.
func (s *nodeSession) enter(key string) (p place, err error) {
	p.owner = s.owners.Next()
	name := p.owner
	if s.byName {
		name = fmt.Sprintf("%019d-%s", math.MaxInt64-time.Now().UnixNano(), name) // a later name is a lesser one
	}
	for {
		p.node, err = s.Create(lineOf(key)+"/"+name+"-", nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
		if !errors.Is(err, zk.ErrNoNode) {
			return p, err
		}
		if _, err = s.Create(lineOf(key), nil, 0, zk.WorldACL(zk.PermAll)); err != nil && !errors.Is(err, zk.ErrNodeExists) {
			return p, err
		}
	}
}

// look returns the node that the client has to wait for; empty: its own is the first.
func (s *nodeSession) look(key, node string) (before string, err error) {
	names, _, err := s.Children(lineOf(key))
	number := func(name string) string { return name[len(name)-10:] }
	slices.SortFunc(names, func(a, b string) int {
		if s.byName {
			return cmp.Compare(a, b)
		}
		return cmp.Compare(number(a), number(b))
	})
	i := slices.Index(names, strings.TrimPrefix(node, lineOf(key)+"/"))
	switch {
	case err != nil:
		return "", err
	case i < 0:
		return "", errors.New("the session has ended, and its node with it")
	case i == 0 || s.exists:
		return "", nil
	}
	return lineOf(key) + "/" + names[i-1], nil
}

func (s *nodeSession) Try(_ context.Context, l *drivers.Lease) (held bool, err error) {
	l.Reset()
	p := s.place
	if s.place = (place{}); p.node == "" {
		p, err = s.enter(l.Key)
	}
	if l.Owner, l.Aux = p.owner, p; err != nil {
		return false, err
	}
	before, err := s.look(l.Key, p.node)
	if err == nil && (before == "" || s.granted) {
		s.granted = false
		number, err := strconv.ParseUint(p.node[len(p.node)-10:], 10, 64)
		l.Fence = number + 1
		return true, err
	}
	if !s.stays {
		err = errors.Join(err, s.Delete(p.node, -1))
	}
	return false, err
}

func (s *nodeSession) Release(_ context.Context, l *drivers.Lease) (bool, error) {
	if s.clears {
		names, _, err := s.Children(lineOf(l.Key))
		for _, name := range names {
			err = errors.Join(err, s.Delete(lineOf(l.Key)+"/"+name, -1))
		}
		return len(names) > 0, err
	}
	p, _ := l.Aux.(place)
	if p.node == "" || p.owner != l.Owner {
		return false, nil
	}
	err := s.Delete(p.node, -1)
	if errors.Is(err, zk.ErrNoNode) {
		return false, nil
	}
	return err == nil, err
}

func (s *nodeSession) Wait(ctx context.Context, l *drivers.Lease) (err error) {
	if s.place.node == "" {
		if s.place, err = s.enter(l.Key); err != nil {
			return err
		}
	}
	var deadline <-chan time.Time
	if !l.Deadline.IsZero() {
		deadline = time.After(time.Until(l.Deadline))
	}
	for asleep := false; ; {
		before, err := s.look(l.Key, s.place.node)
		if err != nil || before == "" || s.granted {
			return err
		}
		there, _, event, err := s.ExistsW(before)
		if err != nil {
			return err
		}
		if asleep {
			event = nil
		}
		if there {
			select {
			case <-event:
				s.granted = s.anyGone
				asleep = s.once
			case <-deadline:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
}

func (s *nodeSession) Leave(context.Context, *drivers.Lease) error {
	node := s.place.node
	if s.place = (place{}); node == "" || s.keeps {
		return nil
	}
	if err := s.Delete(node, -1); !errors.Is(err, zk.ErrNoNode) {
		return err
	}
	return nil
}
