// The session: one client of all nodes. It asks all of them, and goes on as soon as the outcome is certain.
package quorum

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// session is used by one goroutine at a time, except for end. It has a member for each node, which is a goroutine: so
// the requests to a node keep their order, and a release may be left to the background.
type session struct {
	s       *service
	owners  drivers.Owners
	members []*member
	timer   *time.Timer
	crashed atomic.Bool // what has not been sent will not be sent

	mu     sync.Mutex // for the end of the session
	closed bool
}

func newSession(ctx context.Context, s *service, id int) (*session, error) {
	c := &session{s: s, timer: time.NewTimer(time.Hour)}
	c.timer.Stop()
	open := 0
	var errs []error
	for i, n := range s.nodes {
		m := &member{session: c, number: i, inbox: make(chan *request, inboxSize), err: errNotOpen}
		c.members = append(c.members, m)
		if n.svc != nil {
			m.inner, m.err = n.svc.Session(ctx, id)
		}
		if m.err != nil {
			errs = append(errs, fmt.Errorf("node %d: %w", i+1, m.err))
			continue
		}
		open++
		m.adopter, _ = drivers.As[drivers.Adopter](m.inner)
		m.renewer, _ = drivers.As[drivers.Renewer](m.inner)
		m.remainer, _ = drivers.As[drivers.Remainer](m.inner)
	}
	if open < s.majority {
		return nil, fail("session", fmt.Errorf("%d of %d nodes answer and %d have to: %w",
			open, len(s.nodes), s.majority, errors.Join(errs...)))
	}
	return c, nil
}

// Try implements drivers.Session. It returns as soon as a majority has granted the key. If a majority has answered but
// not granted it, that is contention, whatever the others do. If no majority has answered, it is an error. In both
// cases the key is given back at all nodes, also those that have refused.
func (c *session) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	l.Reset()
	l.Owner = c.owners.Next()
	start := time.Now()
	valid := l.TTL - drift(l.TTL)
	if valid <= 0 {
		return false, fail("try", fmt.Errorf("a TTL of %v is too short: the drift of clocks takes 2ms and 1%% of it", l.TTL))
	}
	if err := ctx.Err(); err != nil {
		return false, fail("try", err)
	}
	r := &request{kind: try, key: l.Key, owner: l.Owner, ttl: l.TTL}
	outcome, err := c.ask(ctx, r, min(c.s.nodeTimeout, valid))
	late := valid < c.s.nodeTimeout
	switch elapsed := time.Since(start); {
	case outcome == won && elapsed < valid:
		l.ValidUntil = start.Add(valid)
		return true, nil
	case outcome == won:
		late, err = true, &drivers.Error{Class: drivers.ClassTimeout, Op: "majority",
			Err: fmt.Errorf("it came %v after the request, when the lease was over", elapsed)}
	}
	undo := &request{kind: release, key: l.Key, owner: l.Owner, all: true}
	if outcome == lost || ctx.Err() != nil {
		c.send(undo, c.s.nodeTimeout)
		return false, fail("try", err)
	}
	c.ask(ctx, undo, c.s.nodeTimeout)
	undo.mu.Lock()
	defer undo.mu.Unlock()
	switch {
	case late && (undo.yes|undo.no).size() >= c.s.majority && drivers.ClassOf(err) == drivers.ClassTimeout:
		return false, nil // the lease is over, and a majority has confirmed that nothing is left of it
	case undo.failed != 0 && drivers.NoEffect(err): // a node that may have granted the key has not answered
		err = &drivers.Error{Class: drivers.ClassOther, Op: "release after it", Err: err}
	}
	return false, fail("try", err)
}

// Release implements drivers.Session. It goes to all nodes, and returns the answer of a majority. At the others the key
// may be taken a moment longer: two clients whose last requests are late at different nodes can have a third one
// refused although the key is free (TestStragglers).
func (c *session) Release(ctx context.Context, l *drivers.Lease) (bool, error) {
	outcome, err := c.ask(ctx, &request{kind: release, key: l.Key, owner: l.Owner}, c.s.nodeTimeout)
	return outcome == won, fail("release", err)
}

// Renew implements drivers.Renewer. A lease that no majority renews is lost.
func (c *session) Renew(ctx context.Context, l *drivers.Lease) (bool, error) {
	valid := time.Now().Add(l.TTL - drift(l.TTL))
	outcome, err := c.ask(ctx, &request{kind: renew, key: l.Key, owner: l.Owner, ttl: l.TTL}, c.s.nodeTimeout)
	if outcome == won {
		l.ValidUntil = valid
	}
	return outcome == won, fail("renew", err)
}

// Remaining implements drivers.Remainer: the time until the key is free at a majority, if it is not released.
func (c *session) Remaining(ctx context.Context, l *drivers.Lease) (time.Duration, error) {
	r := &request{kind: remaining, key: l.Key, ends: make([]time.Time, len(c.members))}
	for i := range r.ends {
		r.ends[i] = never
	}
	if outcome, err := c.ask(ctx, r, c.s.nodeTimeout); outcome != won {
		return 0, fail("remaining", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.SortFunc(r.ends, time.Time.Compare)
	if end := r.ends[c.s.majority-1]; end.Before(never) {
		return max(0, time.Until(end)), nil
	}
	return -1, nil
}

// never is the end of a lease that does not end, or is unknown.
var never = time.Unix(1<<40, 0)

// ask sends a request to all nodes and waits until the outcome is certain, at most for limit. The nodes that are
// missing then have failed. The error says why the outcome is not known.
func (c *session) ask(ctx context.Context, r *request, limit time.Duration) (outcome, error) {
	if err := ctx.Err(); err != nil {
		return failed, err
	}
	if d, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(d))
	}
	if err := c.send(r, limit); err != nil {
		return failed, err
	}
	c.timer.Reset(limit)
	defer c.timer.Stop()
	select {
	case <-r.decided:
	case <-c.timer.C:
		r.expire(errLate)
	case <-ctx.Done():
		r.expire(ctx.Err())
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.outcome == failed:
		return failed, fmt.Errorf("%d of %d nodes say yes, %d no, and %d have failed; node %d: %w",
			r.yes.size(), len(c.members), r.no.size(), r.failed.size(), r.at+1, r.err)
	case r.outcome == lost && r.kind == try:
		c.s.announced(r.key, r.failed)
	}
	return r.outcome, nil
}

// send gives a request to the members. It waits for one that is behind, unless its last request has failed: a node that
// hangs must not hold up the others. That one gets nothing new but releases, for which half of its inbox is kept.
func (c *session) send(r *request, limit time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return errClosed
	}
	room := inboxSize
	r.session, r.start, r.decided, r.out = c, time.Now(), make(chan struct{}), len(c.members)
	if r.kind == release {
		limit *= 2 // the request before it may take its whole time
	} else {
		room /= 2
	}
	r.ctx, r.cancel = context.WithTimeout(context.Background(), limit)
	var slow []*member
	for _, m := range c.members {
		switch {
		case r.kind == release && r.owner == m.unsent:
			r.record(m.number, answer{})
		case len(m.inbox) < room:
			m.inbox <- r
		case m.failures.Load() == 0:
			slow = append(slow, m)
		default:
			if r.kind == try { // otherwise the node may have granted the key to this owner
				m.unsent = r.owner
			}
			r.record(m.number, answer{err: errBusy})
		}
	}
	for _, m := range slow {
		m.inbox <- r
	}
	return nil
}

// Crash implements drivers.Crasher: requests on their way to the nodes arrive, the others are dropped, and the answers
// to neither are heard.
func (c *session) Crash() {
	c.crashed.Store(true)
	c.Close()
}

// Close ends the session. Its requests to the nodes are still completed.
func (c *session) Close() error {
	c.s.mu.Lock()
	delete(c.s.sessions, c)
	c.s.mu.Unlock()
	c.end()
	return nil
}

func (c *session) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	c.closed = true
	for _, m := range c.members {
		close(m.inbox)
	}
}

// inboxSize is the number of requests that may wait for one node.
const inboxSize = 8

// member is the client of one node. Its goroutine uses what is not marked as the session's.
type member struct {
	session  *session
	number   int
	inbox    chan *request
	failures atomic.Int32 // in a row
	unsent   string       // the session's: the owner whose last attempt was not put into the inbox

	inner     drivers.Session // nil, and err says why, if the node stays out
	err       error
	adopter   drivers.Adopter
	renewer   drivers.Renewer
	remainer  drivers.Remainer
	lease     drivers.Lease
	restUntil time.Time // a node that has failed is not tried until then
	dropped   string    // the owner whose last attempt was not sent, or had no effect
}

// work sends requests to the node until the session ends.
func (m *member) work() {
	for r := range m.inbox {
		if !m.session.crashed.Load() {
			r.record(m.number, m.do(r))
		}
	}
	if m.session.crashed.Load() {
		if crasher, ok := drivers.As[drivers.Crasher](m.inner); ok {
			crasher.Crash()
		}
	} else if closer, ok := drivers.As[io.Closer](m.inner); ok {
		closer.Close()
	}
}

var (
	errLate    = noAnswer(drivers.ClassTimeout, "no answer within the node time-out")
	errResting = noAnswer(drivers.ClassConnect, "not sent, because the last request has just failed")
	errBusy    = noAnswer(drivers.ClassTimeout, "not sent, because earlier requests have had no answer")
)

// do sends one request to the node, unless it is of no use: an attempt that comes too late or soon after a failure, and
// the release of one that was not sent.
func (m *member) do(r *request) (a answer) {
	switch {
	case m.inner == nil:
		return answer{err: m.err}
	case r.kind == release && r.owner == m.dropped:
		return answer{}
	case r.kind == try && r.ctx.Err() != nil:
		a.err = errLate
	case r.kind == try && m.failures.Load() > 0 && time.Now().Before(m.restUntil):
		a.err = errResting
	default:
		if a = m.call(r); a.err == nil {
			m.failures.Store(0)
		} else { // clients that hammer a dead node take the machine from the others
			rest := time.Millisecond << min(m.failures.Add(1), 10)
			m.restUntil = time.Now().Add(rest)
		}
	}
	if r.kind == try && a.err != nil && (a.err == errLate || drivers.NoEffect(a.err)) {
		m.dropped = r.owner // there is nothing to release
	}
	return a
}

func (m *member) call(r *request) (a answer) {
	m.lease.Key, m.lease.TTL, m.lease.Owner = r.key, r.ttl, r.owner
	ctx := r.ctx
	if limit := m.session.s.nodeTimeout; r.kind == release && time.Since(r.start) > limit {
		fresh, cancel := context.WithTimeout(context.Background(), limit) // or the key stays, because it had to wait
		defer cancel()
		ctx = fresh
	}
	var left time.Duration
	switch {
	case r.kind == try && m.adopter != nil:
		m.adopter.Adopt(r.owner)
		a.yes, a.err = m.inner.Try(ctx, &m.lease)
	case r.kind == release:
		a.yes, a.err = m.inner.Release(ctx, &m.lease)
	case r.kind == renew && m.renewer != nil:
		a.yes, a.err = m.renewer.Renew(ctx, &m.lease)
	case r.kind == remaining && m.remainer != nil:
		left, a.err = m.remainer.Remaining(ctx, &m.lease)
		if a.yes, a.end = left == 0, never; left >= 0 {
			a.end = time.Now().Add(left)
		}
	default:
		a.err = errors.ErrUnsupported
	}
	return a
}
