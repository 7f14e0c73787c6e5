package quorum

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// session is used by one goroutine at a time. Its requests to a node go in their order, each in a goroutine of its own.
type session struct {
	s       *service
	owners  drivers.Owners
	members []*member // of the nodes that are open
}

// member is the client of one node.
type member struct {
	*node
	drivers.Session
	drivers.Adopter
	drivers.Renewer
	drivers.Remainer
	last   chan struct{} // closed when the last request was answered
	absent string        // the owner whose attempt had no effect here, so that there is nothing to release
}

// Session implements drivers.Service.
func (s *service) Session(ctx context.Context, id int) (drivers.Session, error) {
	c, errs := &session{s: s}, []error(nil)
	for _, n := range s.nodes {
		inner, err := n.Session(ctx, id)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		m := &member{node: n, Session: inner, last: make(chan struct{})}
		close(m.last)
		m.Adopter, _ = drivers.As[drivers.Adopter](inner)
		m.Renewer, _ = drivers.As[drivers.Renewer](inner)
		m.Remainer, _ = drivers.As[drivers.Remainer](inner)
		c.members = append(c.members, m)
	}
	return c, fail("session", s.enough(len(errs), errors.Join(errs...)))
}

// request is a question to all nodes.
type request struct {
	lease   drivers.Lease
	ask     func(ctx context.Context, m *member, l *drivers.Lease) (yes bool, err error)
	tries   bool // an attempt
	frees   bool // a release, which is sent however late it is
	start   time.Time
	s       *service
	decided chan struct{} // closed when the outcome is certain

	mu              sync.Mutex
	yes, no, failed int // nodes
	over, won       bool
	err             error // why the outcome is unknown: the first that does not exclude an effect, otherwise the first
}

// count counts the answer of a node, also after the outcome, for the record. An attempt is not refused before every
// node has answered: a request still under way would take the key at its node when the holder releases, and the next
// client might find no majority.
func (r *request) count(n *node, yes bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err != nil:
		n.missed(err)
		r.failed++
		if !r.over && (r.err == nil || drivers.NoEffect(r.err) && !drivers.NoEffect(err)) {
			r.err = fmt.Errorf("node %d: %w", n.number+1, err)
		}
	case yes:
		r.yes++
	default:
		r.no++
	}
	all := len(r.s.all)
	complete := r.yes+r.no+r.failed == all
	if !r.over && (complete || r.yes >= r.s.majority) {
		r.over, r.won = true, r.yes >= r.s.majority
		if r.won || r.no > all-r.s.majority || r.tries && r.yes+r.no >= r.s.majority {
			r.err = nil
		}
		close(r.decided)
	}
	if watcher := r.s.watcher.Load(); complete && r.tries && watcher != nil && *watcher != nil {
		(*watcher)(drivers.Vote{Held: r.won, Yes: r.yes, No: r.no, Failed: r.failed, Elapsed: time.Since(r.start)})
	}
}

// ask sends a request to all nodes and waits until the outcome is certain. The error says why it is not known.
func (c *session) ask(ctx context.Context, r *request) (bool, error) {
	if err := c.send(ctx, r); err != nil {
		return false, err
	}
	select {
	case <-r.decided:
	case <-ctx.Done():
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.over {
		r.over, r.err = true, ctx.Err()
	}
	if r.err != nil {
		return false, fmt.Errorf("%d of %d nodes say yes, and %d no: %w", r.yes, len(c.s.all), r.no, r.err)
	}
	return r.won, nil
}

var (
	errUnsent = &drivers.Error{Class: drivers.ClassConnect, Op: "unsent", Err: errors.New("it did not answer before")}
	errLate   = &drivers.Error{Class: drivers.ClassTimeout, Op: "node", Err: errors.New("no answer within the node time-out")}
)

// send sends a request to all nodes.
func (c *session) send(ctx context.Context, r *request) error {
	c.s.mu.RLock()
	defer c.s.mu.RUnlock()
	if c.s.closed {
		return &drivers.Error{Class: drivers.ClassClosed, Op: "use", Err: net.ErrClosed}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	r.s, r.start, r.decided = c.s, time.Now(), make(chan struct{})
	if r.failed = len(c.s.all) - len(c.members); r.failed > 0 {
		r.err = errUnsent
	}
	for _, m := range c.members {
		before, done := m.last, make(chan struct{})
		m.last = done
		var once sync.Once
		count := func(yes bool, err error) { once.Do(func() { r.count(m.node, yes, err) }) }
		// A client library may outlast the context of a request. A little later than its own answer, this one counts.
		late := time.AfterFunc(c.s.nodeTimeout*9/8, func() { count(false, errLate) })
		c.s.running.Go(func() {
			defer close(done)
			<-before
			count(m.answer(r))
			late.Stop()
		})
	}
	return nil
}

// answer returns the node's answer to a request.
func (m *member) answer(r *request) (yes bool, err error) {
	left := r.s.nodeTimeout - time.Since(r.start)
	switch {
	case r.frees && m.absent == r.lease.Owner:
		return false, nil
	case r.frees:
		left = r.s.nodeTimeout
	case left <= 0:
		err = errUnsent
	}
	if err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), left)
		defer cancel()
		l := r.lease
		yes, err = r.ask(ctx, m, &l)
	}
	if err != nil && r.tries && drivers.NoEffect(err) {
		m.absent = r.lease.Owner
	}
	return yes, err
}

// Try implements drivers.Session. A majority that grants the key in time holds it, one that does not is contention, and none
// that answers is an error. What was not granted is given back at all nodes, also those that have refused.
func (c *session) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	l.Reset()
	l.Owner = c.owners.Next()
	start, valid, err := time.Now(), l.TTL-drift(l.TTL), ctx.Err()
	if err == nil && valid <= 0 {
		err = fmt.Errorf("a TTL of %v is too short: the drift of clocks takes 2ms and 1%% of it", l.TTL)
	}
	if err != nil {
		return false, fail("try", err)
	}
	r := &request{lease: *l, tries: true, ask: func(ctx context.Context, m *member, l *drivers.Lease) (bool, error) {
		m.Adopt(l.Owner)
		return m.Try(ctx, l)
	}}
	held, err := c.ask(ctx, r)
	if held && time.Since(start) < valid {
		l.ValidUntil = start.Add(valid)
		return true, nil
	}
	if back := release(l); drivers.NoEffect(err) {
		c.ask(ctx, back) // it is true only then
	} else {
		c.send(context.WithoutCancel(ctx), back)
	}
	return false, fail("try", err)
}

func release(l *drivers.Lease) *request {
	return &request{lease: *l, frees: true, ask: func(ctx context.Context, m *member, l *drivers.Lease) (bool, error) {
		return m.Release(ctx, l)
	}}
}

// Release implements drivers.Session. It goes to all nodes, and returns the answer of a majority. At the others the key
// may be taken a moment longer: two clients whose last requests are late at different nodes can have a third one
// refused although the key is free (TestStragglers).
func (c *session) Release(ctx context.Context, l *drivers.Lease) (bool, error) {
	owned, err := c.ask(ctx, release(l))
	return owned, fail("release", err)
}

// Renew implements drivers.Renewer. A lease that no majority renews is lost.
func (c *session) Renew(ctx context.Context, l *drivers.Lease) (bool, error) {
	valid := time.Now().Add(l.TTL - drift(l.TTL))
	r := &request{lease: *l, ask: func(ctx context.Context, m *member, l *drivers.Lease) (bool, error) {
		return m.Renew(ctx, l)
	}}
	owned, err := c.ask(ctx, r)
	if owned {
		l.ValidUntil = valid
	}
	return owned, fail("renew", err)
}

// Remaining implements drivers.Remainer: the time until the key is free at a majority, if it is not released.
func (c *session) Remaining(ctx context.Context, l *drivers.Lease) (longest time.Duration, err error) {
	all := make(chan time.Duration, len(c.members))
	_, err = c.ask(ctx, &request{lease: *l, ask: func(ctx context.Context, m *member, l *drivers.Lease) (bool, error) {
		left, err := m.Remaining(ctx, l)
		if err == nil {
			all <- left
		}
		return err == nil, err
	}})
	for i := 0; err == nil && i < c.s.majority; i++ {
		longest = max(longest, <-all)
	}
	return longest, fail("remaining", err)
}
