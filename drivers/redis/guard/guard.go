// Package guard stands between the network and a client library of Redis. It passes on no reply that would crash the library,
// and counts what is sent.
//
// The libraries trust servers. They allocate what the head of a reply announces, grow a line without end, recurse as
// deep as arrays are nested, and index arrays that are too short; rueidis panics in its own goroutine on a negative
// length or an unrequested reply, where no recover here can catch it.
package guard

import (
	"math"
	"net"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/lockbench/lockbench/drivers"
)

// guard is a connection that fails with an error of class protocol as soon as the server sends something invalid. It
// passes on what came before.
type guard struct {
	net.Conn
	replies scanner
	err     error // of the replies; nothing is read after it
	resp3   bool  // arrays are replies, even on a connection with subscriptions

	subscribed bool // a subscription was confirmed: the server may send unasked

	_ [128]byte // writers are on another processor

	commands scanner // of the writers, which take turns
	left     int64   // the number of the latest unsubscription
	of       *Sent   // nil: not counted
	writes   atomic.Int64

	// Set by writers:
	asked atomic.Int64 // commands sent
	next  atomic.Int64 // the number of the first of expected, or 0

	mu       sync.Mutex
	expected []expectation // in the order of the commands
}

// New wraps a connection to a server, or to a node of a cluster, whose replies are longer, in a guard. What is written to it
// counts in sent, unless that is nil.
func New(conn net.Conn, sent *Sent, cluster bool) net.Conn {
	g := &guard{Conn: conn, of: sent}
	sent.start(g)
	g.commands = scanner{limit: math.MaxInt64, ended: g.command, short: unjudged, known: math.MaxInt64}
	g.replies = scanner{limit: maxWeight, ended: g.received, short: short}
	if cluster {
		g.replies.limit = maxWeightCluster
	}
	if below, ok := conn.(syscall.Conn); ok {
		return struct { // go-redis asks the socket whether a connection of its pool is alive
			*guard
			syscall.Conn
		}{g, below}
	}
	return g
}

// NetConn returns the underlying connection, like tls.Conn's.
func (g *guard) NetConn() net.Conn { return g.Conn }

// Read implements net.Conn.
func (g *guard) Read(b []byte) (int, error) {
	if g.err != nil {
		return 0, g.err
	}
	n, err := g.Conn.Read(b)
	if g.replies.answered == g.replies.known {
		g.know()
	}
	good, breach := g.replies.scan(b[:n])
	if breach == nil {
		return n, err
	}
	if g.err = breach; good == 0 {
		return 0, breach
	}
	return good, nil
}

// Write implements net.Conn. It counts the commands before the server can answer them.
func (g *guard) Write(b []byte) (int, error) {
	_, _ = g.commands.scan(b) // the client library writes valid commands
	g.asked.Store(g.commands.answered)
	g.writes.Add(1)
	return g.Conn.Write(b)
}

// Close implements net.Conn.
func (g *guard) Close() error {
	defer g.of.end(g)
	return g.Conn.Close()
}

func (g *guard) total() drivers.Sent {
	return drivers.Sent{Requests: g.asked.Load(), Writes: g.writes.Load()}
}

// received handles each reply, and what the server sends unasked.
func (g *guard) received() error {
	r := &g.replies
	switch {
	case r.kind == '>':
		return g.notified()
	case g.resp3 || r.count == 0 || r.elements[0].is("pong"):
	case g.subscribed, r.confirms(), r.ends():
		return g.notified()
	}
	return g.reply()
}

// reply handles the answer to a command.
func (g *guard) reply() error {
	r := &g.replies
	if r.answered++; r.answered <= r.known {
		return nil
	}
	if r.answered > g.asked.Load() { // before next, which is set first
		return breach("a reply that nothing was asked for")
	}
	if g.next.Load() == r.answered {
		if err := g.judge(); err != nil {
			return err
		}
	}
	g.know()
	return nil
}

// know finds the replies that were requested by now and need no check.
func (g *guard) know() {
	g.replies.known = g.asked.Load() // before next, which is set first
	if next := g.next.Load(); next != 0 {
		g.replies.known = min(g.replies.known, next-1)
	}
}

// notified handles a message, or the confirmation of a subscription or an unsubscription.
func (g *guard) notified() error {
	e := &g.replies.elements
	if g.replies.count == 0 || !e[0].isString() {
		return breach("a push without a name")
	}
	if !g.replies.wellFormed() {
		return breach("a malformed %.24q", e[0].text[:e[0].size])
	}
	switch {
	case g.replies.confirms():
		g.subscribed = true
		if whole, err := g.confirmed(); err != nil || !whole {
			return err
		}
		return g.reply()
	case g.replies.ends():
		due, err := g.ended()
		if err != nil || !due { // it was not asked for, or is one more of the same command
			return err
		}
		return g.reply()
	}
	return nil
}

// confirms reports whether an array confirms a subscription.
func (s *scanner) confirms() bool {
	e := &s.elements[0]
	return e.is("subscribe") || e.is("ssubscribe") || e.is("psubscribe")
}

// ends reports whether an array confirms an unsubscription.
func (s *scanner) ends() bool {
	e := &s.elements[0]
	return e.is("unsubscribe") || e.is("sunsubscribe") || e.is("punsubscribe")
}

// wellFormed reports whether an event has what the libraries use of it without checking.
func (s *scanner) wellFormed() bool {
	e := &s.elements
	switch {
	case s.confirms():
		return s.count == 3 && e[1].isString() && e[2].kind == ':'
	case s.ends():
		return s.count == 3 && (e[1].isString() || e[1].kind == '_') && e[2].kind == ':'
	case e[0].is("message"), e[0].is("smessage"):
		return s.count == 3 && e[1].isString() && e[2].isString() && e[2].spaces >= spacesOfSentinel(&e[1])
	case e[0].is("pmessage"):
		return s.count == 4 && e[1].isString() && e[2].isString() && e[3].isString()
	case e[0].is("invalidate"):
		return s.count == 2 && (e[1].kind == '_' || e[1].kind == '*' && !s.mixed)
	}
	return true
}

// spacesOfSentinel returns the minimum of spaces in a sentinel's message on the channel.
func spacesOfSentinel(channel *element) int {
	switch {
	case channel.is("+switch-master"): // NAME OLD-HOST OLD-PORT HOST PORT
		return 4
	case channel.is("+sentinel"), channel.is("+reboot"): // KIND NAME HOST PORT …
		return 3
	}
	return 0
}
