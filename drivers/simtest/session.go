package simtest

// The client's side: a driver whose services are the nodes of a world, with subscriptions to their releases.

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// Driver returns a driver that connects to the nodes of the world. Their addresses are those of Addrs.
func (w *World) Driver() drivers.Driver { return driver{w} }

// Addrs returns the addresses of all nodes.
func (w *World) Addrs() (all []string) {
	for i := range w.nodes {
		all = append(all, strconv.Itoa(i))
	}
	return all
}

type driver struct{ w *World }

// Designs lists the one design, "sim".
func (driver) Designs() []drivers.Design {
	return []drivers.Design{{
		Name:   "sim",
		Models: "a lease with an owner and a fence, on a simulated node",
		Traits: drivers.Traits{
			Exclusive: true, Owned: true, Expires: true, Fenced: true, Renews: true, Wakes: true,
		},
	}}
}

// Open connects to the node that cfg.Addrs names.
func (d driver) Open(_ context.Context, cfg drivers.Config) (drivers.Service, error) {
	design, err := drivers.FindDesign(d, cfg.Lock)
	if err != nil {
		return nil, err
	}
	number, err := strconv.Atoi(cfg.Addrs[0])
	if err != nil {
		return nil, err
	}
	s := &service{node: d.w.nodes[number], timeout: cfg.IO(), traits: design.Traits}
	s.traits.Wakes = cfg.Wakes
	return s, nil
}

type service struct {
	node    *node
	timeout time.Duration
	traits  drivers.Traits
	closed  atomic.Bool
}

func (s *service) Traits() drivers.Traits { return s.traits }

func (s *service) Close() error {
	s.closed.Store(true)
	return nil
}

func (s *service) Session(_ context.Context, id int) (drivers.Session, error) {
	return &session{conn: dial(s, id, fmt.Sprintf("c%d", id))}, nil
}

// session is a client of one node.
type session struct {
	*conn
	owners   drivers.Owners
	busy     atomic.Bool
	released atomic.Value // the owner of the last release, a string
}

// Adopt implements drivers.Adopter.
func (s *session) Adopt(owner string) { s.owners.Adopt(owner) }

func (s *session) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	l.Reset()
	l.Owner = s.owners.Next()
	return s.lease(ctx, request{op: opTry, key: l.Key, owner: l.Owner, ttl: l.TTL}, l)
}

// Pass implements drivers.Passer.
func (s *session) Pass(ctx context.Context, from, to *drivers.Lease) (bool, error) {
	to.Reset()
	to.Owner = s.owners.Next()
	return s.lease(ctx, request{op: opPass, key: from.Key, owner: from.Owner, next: to.Owner, ttl: to.TTL}, to)
}

// Renew implements drivers.Renewer.
func (s *session) Renew(ctx context.Context, l *drivers.Lease) (bool, error) {
	if s.released.Load() == l.Owner {
		s.service.node.w.Fail("at %v %s renews what it has released", stamp(s.service.node.w.Now()), s.out.name)
	}
	fence := l.Fence
	yes, err := s.lease(ctx, request{op: opRenew, key: l.Key, owner: l.Owner, ttl: l.TTL}, l)
	l.Fence = fence
	return yes, err
}

// lease sends a request that l is granted or extended by. The lease is over at the node later than ValidUntil, because
// the request takes a while to get there.
func (s *session) lease(ctx context.Context, r request, l *drivers.Lease) (bool, error) {
	sent := time.Now()
	p, err := s.alone(ctx, r)
	if p.yes {
		l.Fence = p.fence
	}
	if p.yes && r.ttl > 0 {
		l.ValidUntil = sent.Add(r.ttl)
	}
	return p.yes, err
}

func (s *session) Release(ctx context.Context, l *drivers.Lease) (bool, error) {
	s.released.Store(l.Owner)
	p, err := s.alone(ctx, request{op: opRelease, key: l.Key, owner: l.Owner})
	return p.yes, err
}

// Remaining implements drivers.Remainer.
func (s *session) Remaining(ctx context.Context, l *drivers.Lease) (time.Duration, error) {
	p, err := s.alone(ctx, request{op: opRemaining, key: l.Key})
	return p.left, err
}

// Listeners implements drivers.ListenerCounter.
func (s *session) Listeners(ctx context.Context, l *drivers.Lease) (int, error) {
	p, err := s.alone(ctx, request{op: opListeners, key: l.Key})
	return p.count, err
}

// alone is call for one goroutine at a time, as the contract of a session has it.
func (s *session) alone(ctx context.Context, r request) (reply, error) {
	if !s.busy.CompareAndSwap(false, true) {
		s.service.node.w.Fail("at %v a %s is sent by %s while another request is under way", stamp(s.service.node.w.Now()), r.op, s.out.name)
		return reply{}, errors.New("sim: the session is in use")
	}
	defer s.busy.Store(false)
	return s.call(ctx, r)
}

// call sends a request and waits for the reply.
func (c *conn) call(ctx context.Context, r request) (reply, error) {
	if c.service.closed.Load() {
		return reply{}, &drivers.Error{Class: drivers.ClassClosed, Op: "sim: " + string(r.op), Err: net.ErrClosed}
	}
	if err := ctx.Err(); err != nil {
		return reply{}, fmt.Errorf("sim: %s: %w", r.op, err)
	}
	limit := c.service.timeout
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= limit {
		limit = time.Hour // ctx is done before
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	answer := make(chan reply, 1)
	c.out.Log("%s", r.op)
	c.out.carry("the "+string(r.op), func() {
		c.service.node.receive(c, r, func(p reply) {
			select {
			case answer <- p:
			default: // the second answer to a request that has arrived twice
			}
		})
	})
	select {
	case p := <-answer:
		if p.err != nil {
			return reply{}, fmt.Errorf("sim: %s: %w", r.op, p.err)
		}
		c.out.Log("%s is answered: %v", r.op, p)
		return p, nil
	case <-timer.C:
		c.out.Log("%s: no answer", r.op)
		return reply{}, &drivers.Error{Class: drivers.ClassTimeout, Op: "sim: " + string(r.op), Err: errors.New("no answer")}
	case <-ctx.Done():
		c.out.Log("%s: given up", r.op)
		return reply{}, fmt.Errorf("sim: %s: %w", r.op, ctx.Err())
	}
}

// subscription is a listener. Its keys are the node's, and outlive a restart: a listener that has lost its connection
// subscribes to all of them again.
type subscription struct {
	*conn
	keys map[string]bool // guarded by the node's mutex
	wake func(key string)
}

// Listen implements drivers.Subscriber.
func (s *service) Listen(_ context.Context, wake func(key string)) (drivers.Listener, error) {
	if !s.traits.Wakes {
		return nil, errors.New("sim: listen: the service was opened without Config.Wakes")
	}
	n := s.node
	n.state.Lock()
	number := len(n.subs)
	n.state.Unlock()
	sub := &subscription{
		conn: dial(s, firstSub+number, fmt.Sprintf("s%d", number)),
		keys: map[string]bool{}, wake: wake,
	}
	n.state.Lock()
	defer n.state.Unlock()
	n.subs = append(n.subs, sub)
	return sub, nil
}

func (s *subscription) Add(ctx context.Context, key string) error {
	_, err := s.call(ctx, request{op: opSubscribe, key: key, sub: s})
	return err
}

func (s *subscription) Remove(ctx context.Context, key string) error {
	_, err := s.call(ctx, request{op: opUnsubscribe, key: key, sub: s})
	return err
}

func (s *subscription) Close() error {
	n := s.service.node
	n.state.Lock()
	defer n.state.Unlock()
	clear(s.keys)
	return nil
}
