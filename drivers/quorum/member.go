// The member: the part of a session that talks to one node. The node: its service, which may be opened later, and its errors.
package quorum

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// inboxSize is the number of requests that may wait for one node.
const inboxSize = 8

// member is the client of one node. Only its goroutine uses what is not marked as the session's.
type member struct {
	session *session
	node    *node
	index   int
	id      int
	inbox   chan *ballot
	unsent  string // the session's: the owner whose last attempt was not put into the inbox

	inner     drivers.Session // nil until the node is open
	adopter   drivers.Adopter
	renewer   drivers.Renewer
	remainer  drivers.Remainer
	lease     drivers.Lease
	failures  int       // in a row
	restUntil time.Time // a node that has failed is not tried until then
	dropped   string    // the owner whose last attempt was not sent, or had no effect
	deadline  *deadline
}

func (m *member) open(ctx context.Context) error {
	svc := m.node.service()
	if svc == nil {
		return errNotOpen
	}
	inner, err := svc.Session(ctx, m.id)
	if err != nil {
		return err
	}
	m.inner = inner
	m.renewer, _ = drivers.As[drivers.Renewer](inner)
	m.remainer, _ = drivers.As[drivers.Remainer](inner)
	m.adopter, _ = drivers.As[drivers.Adopter](inner)
	return nil
}

// work sends requests to the node until the session ends.
func (m *member) work() {
	for b := range m.inbox {
		if m.session.died() {
			continue
		}
		a, err := m.do(b)
		m.session.answer(b, m, a, err)
	}
	m.end()
}

// end ends the node's session in the same way as the whole session.
func (m *member) end() {
	if m.inner == nil {
		return
	}
	if m.session.died() {
		if crasher, ok := drivers.As[drivers.Crasher](m.inner); ok {
			crasher.Crash()
		}
	} else if closer, ok := drivers.As[io.Closer](m.inner); ok {
		closer.Close()
	}
}

var (
	errOwner       = errors.New("the design makes owners of its own: it cannot be one vote among several")
	errUnsupported = &drivers.Error{Class: drivers.ClassOther, Op: "node", Err: errors.ErrUnsupported}
)

// answer is a node's answer.
type answer struct {
	yes   bool
	asked bool          // the node was asked; it may have been unnecessary
	left  time.Duration // of a lease
}

// do sends one request to the node. An attempt that comes too late to be of use is not sent. A release is, and has its
// full time from now on.
func (m *member) do(b *ballot) (a answer, err error) {
	rest := b.limit - time.Since(b.start)
	switch {
	case b.kind == try && rest <= 0:
		m.dropped = b.owner
		return a, errLate
	case b.kind == try && m.failures > 0 && time.Now().Before(m.restUntil):
		m.dropped = b.owner
		return a, errResting
	case b.kind == release && b.owner != "" && m.dropped == b.owner:
		return a, nil
	}
	if b.kind == release {
		rest = m.node.s.nodeTimeout
	}
	ctx := m.within(rest)
	defer ctx.stop()
	if m.inner == nil {
		if err := m.open(ctx); err != nil {
			if b.kind == try {
				m.dropped = b.owner
			}
			return a, err
		}
	}
	m.lease.Key, m.lease.TTL, m.lease.Owner = b.key, b.ttl, b.owner
	if a, err = m.send(ctx, b); err == nil {
		m.failures = 0
	} else { // clients that hammer a dead node take the machine from the others
		m.failures = min(m.failures+1, 20)
		m.restUntil = time.Now().Add(min(time.Millisecond<<m.failures, m.node.s.nodeTimeout))
	}
	if b.kind == try && err != nil && drivers.NoEffect(err) {
		m.dropped = b.owner // there is nothing to release
	}
	return a, err
}

func (m *member) send(ctx context.Context, b *ballot) (a answer, err error) {
	switch {
	case b.kind == try && m.adopter != nil:
		m.adopter.Adopt(b.owner)
		if a.yes, err = m.inner.Try(ctx, &m.lease); a.yes && m.lease.Owner != b.owner {
			m.inner.Release(ctx, &m.lease)
			err = errOwner
		}
	case b.kind == release:
		a.yes, err = m.inner.Release(ctx, &m.lease)
	case b.kind == renew && m.renewer != nil:
		a.yes, err = m.renewer.Renew(ctx, &m.lease)
	case b.kind == remaining && m.remainer != nil:
		if a.left, err = m.remainer.Remaining(ctx, &m.lease); a.left < 0 {
			a.left = never
		}
		a.yes = true
	default:
		return a, errUnsupported
	}
	a.asked = true
	return a, err
}

// within returns a context for the next request. It reuses the last one unless that has expired: context.WithTimeout
// costs four allocations.
func (m *member) within(rest time.Duration) *deadline {
	if m.deadline == nil || m.deadline.spent {
		m.deadline = newDeadline()
	}
	m.deadline.start(rest)
	return m.deadline
}

// deadline is a context whose deadline is set anew for each request. A client library that keeps the context of a
// finished request sees the deadline of another; it may read it at any time.
type deadline struct {
	clock drivers.Clock
	until atomic.Int64 // on the clock
	timer *time.Timer
	done  chan struct{}
	spent bool // the timer has fired
}

func newDeadline() *deadline {
	d := &deadline{clock: drivers.NewClock(), done: make(chan struct{})}
	d.timer = time.AfterFunc(time.Hour, func() { close(d.done) })
	d.timer.Stop()
	return d
}

func (d *deadline) start(rest time.Duration) {
	d.until.Store(int64(d.clock.Now() + rest))
	d.timer.Reset(max(rest, 0))
}

// stop ends the request. A context whose timer has fired cannot be reused.
func (d *deadline) stop() { d.spent = !d.timer.Stop() }

// Deadline implements context.Context.
func (d *deadline) Deadline() (time.Time, bool) {
	return d.clock.Time(time.Duration(d.until.Load())), true
}

// Done implements context.Context.
func (d *deadline) Done() <-chan struct{} { return d.done }

// Err implements context.Context.
func (d *deadline) Err() error {
	select {
	case <-d.done:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// Value implements context.Context.
func (d *deadline) Value(any) any { return nil }

// reopenEvery is the interval at which a node that did not answer is tried again.
const reopenEvery = time.Second

type node struct {
	s      *service
	number int // from 1, as in cfg.Addrs
	cfg    drivers.Config

	svc atomic.Pointer[drivers.Service] // nil while it is not open

	mu      sync.Mutex
	opening bool
	next    time.Time // not to be opened before
	known   drivers.Node
	server  drivers.Server // when it was last seen
}

var errNotOpen = &drivers.Error{Class: drivers.ClassConnect, Op: "node", Err: errors.New("it has not answered since the service was opened")}

// service returns the node's service, or nil. It is for requests: if the node is down, it is tried again.
func (n *node) service() drivers.Service {
	if svc := n.svc.Load(); svc != nil {
		return *svc
	}
	n.mu.Lock()
	if due := !n.opening && !time.Now().Before(n.next); due && n.s.begin() {
		n.opening = true
		go n.reopen()
	}
	n.mu.Unlock()
	return nil
}

// open opens the node's service.
func (n *node) open(ctx context.Context) {
	svc, err := n.s.driver.Node.Open(ctx, n.cfg)
	var server drivers.Server
	if err == nil {
		if i, ok := drivers.As[drivers.Inspector](svc); ok {
			server, _, _ = i.Inspect(ctx) // optional
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.opening, n.next = false, time.Now().Add(reopenEvery)
	if err != nil {
		if n.known.Err == nil {
			n.known.Err = err
		}
		return
	}
	n.server = server
	n.svc.Store(&svc)
}

// reopen tries a node again that was down, and lets its listeners catch up.
func (n *node) reopen() {
	defer n.s.background.Done()
	ctx, cancel := context.WithTimeout(n.s.ctx, n.cfg.IO())
	defer cancel()
	n.open(ctx)
	if svc := n.svc.Load(); svc != nil {
		n.s.join(ctx, n, *svc)
	}
}

// failure counts a request without an answer.
func (n *node) failure(err error) {
	n.mu.Lock()
	n.known.Failed++
	if n.known.Err == nil {
		n.known.Err = err
	}
	n.mu.Unlock()
}

func (n *node) state() drivers.Node {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.known
}

func (n *node) runID() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.server.RunID
}
