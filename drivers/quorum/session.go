// The session: one client of all nodes. It asks, its members send the requests to the nodes, and it goes on as soon as
// the answer is certain.
package quorum

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// session is used by one goroutine at a time, except for end. It has a member for every node, a permanent goroutine:
// starting one for each request costs an allocation each, and loses the order of requests to a node. That order makes
// it safe to leave a release to the background: the next request to that node comes after it.
type session struct {
	s       *service
	owners  drivers.Owners
	members []*member
	timer   *time.Timer   // bounds the wait for a verdict
	verdict chan struct{} // gets a token when the present ballot is decided
	silent  set           // nodes that had not answered when the last verdict was collected

	mu       sync.Mutex // guards what follows, and every ballot
	closed   bool
	crashed  bool            // what has not been sent will not be sent
	free     *ballot         // for reuse
	left     []time.Duration // of the last request for the remaining time: when the lease ends at each node, after the start of the request
	suspects set             // nodes whose last request has failed
	pausing  bool            // the session waits for progress
	progress chan struct{}
}

func newSession(ctx context.Context, s *service, id int) (*session, error) {
	c := &session{
		s: s, timer: time.NewTimer(time.Hour), left: make([]time.Duration, len(s.nodes)),
		verdict: make(chan struct{}, 1), progress: make(chan struct{}, 1),
	}
	c.timer.Stop()
	open := 0
	for i, n := range s.nodes {
		m := &member{session: c, node: n, index: i, id: id, inbox: make(chan *ballot, inboxSize)}
		c.members = append(c.members, m)
		if n.service() == nil {
			continue
		}
		if err := m.open(ctx); err != nil {
			n.failure(err) // a later request may succeed
			continue
		}
		open++
	}
	if open < s.majority {
		return nil, fail("session", fmt.Errorf("%d of %d nodes answer and %d have to: %w", open, len(s.nodes), s.majority, errors.Join(c.reasons()...)))
	}
	return c, nil
}

func (c *session) reasons() (errs []error) {
	for i, m := range c.members {
		if m.inner == nil {
			errs = append(errs, fmt.Errorf("node %d: %w", i+1, m.node.state().Err))
		}
	}
	return errs
}

// Try implements drivers.Session. It returns as soon as a majority has granted the key. If a majority has answered but
// not granted it, that is contention, whatever the others do. If no majority has answered, it is an error, after
// everything has been given back as far as the nodes answer. The algorithm gives back at all nodes, also those that
// have refused.
//
// A refusal waits for every node whose last request has not failed: a request still under way after Try has returned
// would take a vote when the holder releases, and the next client might not find a majority.
func (c *session) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	l.Reset()
	l.Owner = c.owners.Next()
	if err := ctx.Err(); err != nil {
		return false, fail("try", err)
	}
	start := time.Now()
	valid := l.TTL - drift(l.TTL)
	if valid <= 0 {
		return false, fail("try", fmt.Errorf("a TTL of %v is too short: the drift of clocks takes 2ms and 1%% of it", l.TTL))
	}
	r := request{kind: try, key: l.Key, owner: l.Owner, ttl: l.TTL}
	outcome, err := c.ask(ctx, r, min(c.s.nodeTimeout, valid))
	if outcome == won && time.Since(start) < valid {
		l.ValidUntil = start.Add(valid)
		return true, nil
	}
	r.kind = release
	if outcome == lost {
		c.tell(r)
		return false, nil
	}
	late := outcome == won || valid < c.s.nodeTimeout
	if outcome == won {
		err = &drivers.Error{Class: drivers.ClassTimeout, Op: "majority", Err: fmt.Errorf("it came %v after the request, when the lease was over", time.Since(start))}
	}
	return false, c.giveUp(ctx, r, late, err)
}

// giveUp releases after an attempt that has failed, and waits until every node has answered. An attempt that came too late for
// its lease is a refusal if a majority has. If a node that may have granted the key does not answer, the outcome is unknown after
// all.
//
//go:noinline
func (c *session) giveUp(ctx context.Context, r request, late bool, err error) error {
	if ctx.Err() != nil {
		c.tell(r)
		return fail("try", err)
	}
	r.all = true
	c.ask(ctx, r, c.s.nodeTimeout)
	switch {
	case late && len(c.members)-c.silent.size() >= c.s.majority && drivers.ClassOf(err) == drivers.ClassTimeout:
		return nil
	case c.silent != 0 && drivers.NoEffect(err):
		err = &drivers.Error{Class: drivers.ClassOther, Op: "release after it", Err: err}
	}
	return fail("try", err)
}

// Release implements drivers.Session. It goes to all nodes, and returns the answer of a majority. At the others the key
// may be taken a moment longer: two clients whose last requests are late at different nodes can have a third one refused
// although the key is free (TestStragglers).
func (c *session) Release(ctx context.Context, l *drivers.Lease) (bool, error) {
	outcome, err := c.ask(ctx, request{kind: release, key: l.Key, owner: l.Owner}, c.s.nodeTimeout)
	return outcome == won, fail("release", err)
}

// Renew implements drivers.Renewer. A lease that no majority renews is lost.
func (c *session) Renew(ctx context.Context, l *drivers.Lease) (bool, error) {
	start := time.Now()
	valid := l.TTL - drift(l.TTL)
	outcome, err := c.ask(ctx, request{kind: renew, key: l.Key, owner: l.Owner, ttl: l.TTL}, c.s.nodeTimeout)
	if outcome == won {
		l.ValidUntil = start.Add(valid)
	}
	return outcome == won, fail("renew", err)
}

// Remaining implements drivers.Remainer: the time until the key is free at a majority, if it is not released.
func (c *session) Remaining(ctx context.Context, l *drivers.Lease) (time.Duration, error) {
	start := time.Now()
	if outcome, err := c.ask(ctx, request{kind: remaining, key: l.Key}, c.s.nodeTimeout); outcome == failed {
		return 0, fail("remaining", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	slices.Sort(c.left)
	if rest := c.left[c.s.majority-1]; rest < never {
		return max(0, rest-time.Since(start)), nil
	}
	return -1, nil
}

// ask sends a request to all nodes and waits for the verdict, at most for limit. The error says why it failed.
func (c *session) ask(ctx context.Context, r request, limit time.Duration) (outcome, error) {
	if err := ctx.Err(); err != nil {
		return failed, err
	}
	if d, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(d))
	}
	b, err := c.send(r, limit, true)
	if err != nil {
		return failed, err
	}
	c.timer.Reset(limit)
	select {
	case <-c.verdict:
	case <-c.timer.C:
		err = errLate
	case <-ctx.Done():
		err = ctx.Err()
	}
	c.timer.Stop()
	return c.collect(b, err)
}

// tell sends a request to all nodes without waiting.
func (c *session) tell(r request) { c.send(r, c.s.nodeTimeout, false) }

// send gives a request to the members. A node that has failed and is behind since gets nothing new: a node that hangs
// must not hold up the others, nor take memory without end.
func (c *session) send(r request, limit time.Duration, waits bool) (*ballot, error) {
	room := inboxSize / 2 // the other half is for releases
	if r.kind == release {
		room = inboxSize
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.crowded(room) {
		c.pause(room, limit)
	}
	if c.closed {
		return nil, errClosed
	}
	b := c.newBallot()
	b.request, b.limit, b.waits, b.start = r, limit, waits, time.Now()
	if r.kind == remaining {
		for i := range c.left {
			c.left[i] = never
		}
	}
	for i, m := range c.members {
		switch {
		case r.kind == release && m.unsent == r.owner && r.owner != "":
			b.answered.add(i)
		case len(m.inbox) >= room:
			if r.kind == try { // otherwise the node may have granted the key to this owner
				m.unsent = r.owner
			}
			c.fails(b, i, errBusy)
		default:
			m.inbox <- b // only the session sends, so there is still room
			b.out++
		}
	}
	c.decide(b)
	c.finish(b)
	return b, nil
}

// crowded reports whether a node that has not failed is behind. The machine may be the reason.
func (c *session) crowded(room int) bool {
	for i, m := range c.members {
		if len(m.inbox) >= room && !c.suspects.has(i) {
			return !c.closed
		}
	}
	return false
}

// pause waits until no node is behind, apart from those that have failed.
func (c *session) pause(room int, limit time.Duration) {
	c.timer.Reset(limit)
	defer c.timer.Stop()
	for c.crowded(room) {
		c.pausing = true
		c.mu.Unlock()
		select {
		case <-c.progress:
			c.mu.Lock()
		case <-c.timer.C:
			c.mu.Lock()
			c.pausing = false
			return
		}
	}
}

func (c *session) answer(b *ballot, m *member, a answer, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err != nil:
		c.suspects.add(m.index)
	case a.asked:
		c.suspects.remove(m.index)
	}
	if c.pausing {
		c.pausing = false
		select {
		case c.progress <- struct{}{}:
		default: // one is left from a pause that ended otherwise
		}
	}
	if a.yes && (b.outcome == lost || b.outcome == failed) {
		b.late++
	}
	if !b.counted().has(m.index) {
		if err != nil {
			c.fails(b, m.index, err)
		} else {
			c.counts(b, m.index, a)
		}
		c.decide(b)
	}
	b.out--
	c.finish(b)
}

// finish ends a ballot when the last member has reported.
func (c *session) finish(b *ballot) {
	if b.out > 0 {
		return
	}
	if watcher := c.s.watcher.Load(); watcher != nil && b.kind == try {
		(*watcher)(b.vote())
	}
	c.recycle(b)
}

// counts records what a node has answered.
func (c *session) counts(b *ballot, index int, a answer) {
	b.answered.add(index)
	if a.yes {
		b.yes.add(index)
	}
	if b.kind == remaining && b.outcome == open {
		if a.left == 0 {
			b.free.add(index)
		}
		if c.left[index] = a.left; a.left < never {
			c.left[index] += time.Since(b.start)
		}
	}
}

// fails records that a node has not answered.
func (c *session) fails(b *ballot, index int, err error) {
	b.failed.add(index)
	b.blame(index, err)
	c.members[index].node.failure(err)
}

// decide checks whether the ballot is decided now, and wakes the session if it waits.
func (c *session) decide(b *ballot) {
	if b.outcome != open {
		return
	}
	if b.outcome = b.judge(len(c.members), c.s.majority, c.suspects); b.outcome != open && b.waits {
		c.verdict <- struct{}{}
	}
}

// Crash implements drivers.Crasher: requests on their way to the nodes arrive, the others are dropped, and the votes of
// neither are heard.
func (c *session) Crash() {
	c.mu.Lock()
	c.crashed = true
	c.mu.Unlock()
	c.Close()
}

func (c *session) died() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.crashed
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
