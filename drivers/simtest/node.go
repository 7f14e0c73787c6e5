package simtest

// A node: a lock service in one process, which can crash, restart empty and stall.

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

type node struct {
	*Actor
	index int
	speed float64 // of its clock

	state   sync.Mutex // guards what follows
	keys    map[string]*entry
	conns   []*conn
	subs    []*subscription
	down    bool
	stalled bool
	pending []func() // requests that have arrived while it was stalled
}

// entry is the state of a key.
type entry struct {
	owner string        // empty: free
	until time.Duration // end of the lease; forever without one
	fence uint64
	freed time.Duration // when it was released
}

// forever is the end of a lease that has none.
const forever = time.Duration(1 << 62)

func newNode(w *World, index int) *node {
	n := &node{Actor: newActor(w, firstNode+index, "n%d", index), index: index, keys: map[string]*entry{}}
	n.speed = 1 + w.Drift*(2*n.random.Float64()-1)
	return n
}

func (n *node) connect(c *conn) {
	n.state.Lock()
	defer n.state.Unlock()
	n.conns = append(n.conns, c)
}

type op string

const (
	opTry         op = "try"
	opRelease     op = "release"
	opRenew       op = "renew"
	opPass        op = "pass"
	opRemaining   op = "remaining"
	opSubscribe   op = "subscribe"
	opUnsubscribe op = "unsubscribe"
	opListeners   op = "listeners"
)

type request struct {
	op    op
	key   string
	owner string
	next  string // opPass: the owner from now on
	ttl   time.Duration
	sub   *subscription // opSubscribe and opUnsubscribe
}

type reply struct {
	yes   bool
	fence uint64
	left  time.Duration
	count int // of listeners
	err   error
}

func (p reply) String() string {
	switch {
	case p.err != nil:
		return p.err.Error()
	case p.yes && p.left != 0:
		return fmt.Sprint("yes, ", stamp(p.left))
	case p.yes:
		return "yes"
	}
	return "no"
}

// errDown is the answer of the machine of a node that is down. The request has had no effect.
var errDown = &drivers.Error{Class: drivers.ClassConnect, Op: "node", Err: errors.New("connection refused")}

// receive serves a request that has arrived, and sends the reply, which calls answer.
func (n *node) receive(c *conn, r request, answer func(reply)) {
	n.state.Lock()
	defer n.state.Unlock()
	if n.stalled {
		n.pending = append(n.pending, func() { n.serve(c, r, answer) })
		return
	}
	n.serve(c, r, answer)
}

// serve does what the request asks for. The caller holds the mutex, here and below.
func (n *node) serve(c *conn, r request, answer func(reply)) {
	p := reply{err: errDown}
	if !n.down {
		p = n.do(r)
	}
	n.Log("%s of %s: %v", r.op, c.out.name, p)
	if !c.back.carry("the reply", func() { answer(p) }) {
		n.w.Count("lost replies to " + string(r.op))
	}
}

func (n *node) do(r request) (p reply) {
	now := n.w.Now()
	e := n.keys[r.key]
	if e == nil {
		e = &entry{}
		n.keys[r.key] = e
	}
	held := e.owner != "" && now < e.until
	mine := held && e.owner == r.owner
	switch r.op {
	case opTry:
		if p.yes = !held; p.yes {
			n.granted(e, now)
			n.grant(e, r.owner, r.ttl, now)
		}
	case opPass:
		if p.yes = mine; p.yes {
			n.grant(e, r.next, r.ttl, now)
		}
	case opRenew:
		if p.yes = mine; p.yes {
			e.until = n.end(now, r.ttl)
		}
	case opRelease:
		if p.yes = mine || held && n.w.Careless; p.yes {
			e.owner, e.freed = "", now
			n.publish(r.key)
		}
	case opRemaining:
		p.yes = true
		switch {
		case held && e.until == forever:
			p.left = -1
		case held:
			p.left = e.until - now
		}
	case opSubscribe:
		p.yes = true
		r.sub.keys[r.key] = true
	case opUnsubscribe:
		p.yes = true
		delete(r.sub.keys, r.key)
	case opListeners:
		p.yes = true
		for _, s := range n.subs {
			if s.keys[r.key] {
				p.count++
			}
		}
	}
	p.fence = e.fence
	return p
}

func (n *node) grant(e *entry, owner string, ttl, now time.Duration) {
	e.owner, e.until = owner, n.end(now, ttl)
	e.fence++
}

// end returns when a lease ends by the node's own clock, which may be fast.
func (n *node) end(now, ttl time.Duration) time.Duration {
	if ttl <= 0 {
		return forever
	}
	return now + time.Duration(float64(ttl)/n.speed)
}

// granted measures for how long the key was free while a client waited.
func (n *node) granted(e *entry, now time.Duration) {
	free := e.freed
	if e.owner != "" {
		free = e.until
	}
	w := n.w
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, since := range w.waiting {
		w.idle = max(w.idle, now-max(since, free))
	}
}

// publish announces a release.
func (n *node) publish(key string) {
	for _, s := range n.subs {
		if s.keys[key] {
			s.conn.back.carry("the message", func() { s.wake(key) })
		}
	}
}

// Restart makes a node crash and come back empty after a while. A subscriber that has lost its connection subscribes
// again and has all waiters look.
func (w *World) Restart(number int, after time.Duration) {
	n := w.nodes[number]
	n.state.Lock()
	defer n.state.Unlock()
	if n.down {
		return
	}
	n.Tell("crashes")
	n.w.Count("restarts")
	n.down = true
	for _, e := range n.keys {
		*e = entry{freed: n.w.Now()}
	}
	n.later(after, n.start)
}

// later calls f after d, at an instant of the node's own.
func (n *node) later(d time.Duration, f func()) {
	now := n.w.Now()
	time.AfterFunc(n.instant(now+d)-now, f)
}

func (n *node) start() {
	n.state.Lock()
	defer n.state.Unlock()
	n.Tell("is back, empty")
	n.down = false
	for _, s := range n.subs {
		s.conn.back.carry("the new connection", func() { s.wake("") })
	}
}

// Stall makes a node do nothing for d. It serves afterwards what has arrived meanwhile.
func (w *World) Stall(number int, d time.Duration) {
	n := w.nodes[number]
	n.state.Lock()
	defer n.state.Unlock()
	if n.stalled {
		return
	}
	n.Tell("stalls")
	n.w.Count("stalls")
	n.stalled = true
	n.later(d, n.resume)
}

func (n *node) resume() {
	n.state.Lock()
	defer n.state.Unlock()
	n.Tell("goes on")
	n.stalled = false
	for _, serve := range n.pending {
		serve()
	}
	n.pending = nil
}

// Cut loses all messages between a client and a node for d.
func (w *World) Cut(client, number int, d time.Duration) {
	n := w.nodes[number]
	n.state.Lock()
	defer n.state.Unlock()
	n.Tell("is cut off from client %d for %s", client, stamp(d))
	n.w.Count("cuts")
	for _, c := range n.conns {
		if c.peer == client {
			c.cutFor(d)
		}
	}
}
