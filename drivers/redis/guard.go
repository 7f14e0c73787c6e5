// A guard between the network and a client library: it passes on no reply that the library would come to grief over.
//
// The libraries take a server at its word. They allocate what the head of a reply announces, grow a line without end,
// recurse as deep as arrays are nested, and rueidis panics in a goroutine of its own on a length below 0 or a reply
// that nobody has asked for. No recover of ours reaches that.
package redis

import (
	"bytes"
	"net"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/lockbench/lockbench/drivers"
)

// guard is a connection that fails with an error of class protocol as soon as the server sends something out of order.
// What came before is passed on.
type guard struct {
	net.Conn
	replies  scanner
	err      error // of the replies, after which nothing more is read
	answered int64
	known    int64 // what asked was when it was last looked at
	resp3    bool  // arrays are replies, also on a connection with subscriptions

	_ [128]byte // those who write are on another processor

	// Told by those who write:
	asked      atomic.Int64 // commands, or more
	confirming atomic.Int64 // channels of which the subscription is not confirmed, or more
	subscribed atomic.Bool  // there may be subscriptions: the server may speak unasked
}

// guarded puts a guard on a connection.
func (o Options) guarded(conn net.Conn) net.Conn {
	g := &guard{Conn: conn}
	g.replies = scanner{limit: maxWeight, ended: g.received}
	if o.Topology == drivers.TopologyCluster {
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

// NetConn is the connection under it, as that of a tls.Conn.
func (g *guard) NetConn() net.Conn { return g.Conn }

// Read implements net.Conn.
func (g *guard) Read(b []byte) (int, error) {
	if g.err != nil {
		return 0, g.err
	}
	n, err := g.Conn.Read(b)
	good, breach := g.replies.scan(b[:n])
	if breach == nil {
		return n, err
	}
	if g.err = breach; good == 0 {
		return 0, breach
	}
	return good, nil
}

// Write implements net.Conn. It counts the commands before the server can answer them. To find out where each begins
// costs a tenth of reading them, and at the worst it counts too many.
func (g *guard) Write(b []byte) (int, error) {
	asked := int64(0)
	for i := 0; ; i++ {
		next := bytes.IndexByte(b[i:], '*')
		if next < 0 {
			break
		}
		i += next
		if i == 0 || b[i-1] == '\n' && (i == 1 || b[i-2] == '\r') {
			asked++
			g.sent(b[i:])
		}
	}
	g.asked.Add(asked)
	return g.Conn.Write(b)
}

// sent looks for a subscription in what begins with a command.
func (g *guard) sent(b []byte) {
	args, b, _ := length(b)
	size, b, whole := length(b)
	if whole && size < int64(len("subscribe")) {
		return // most commands
	}
	if name := strings.ToLower(string(b[:min(size, int64(len(b)), 16)])); strings.HasSuffix(name, "subscribe") {
		g.subscribed.Store(true)
		if strings.HasSuffix(name, "unsubscribe") {
			return
		}
	} else if whole && int64(len(b)) >= size {
		return
	}
	g.subscribed.Store(true) // it may be one, if the rest of it comes with the next Write
	g.confirming.Add(max(1, args-1))
}

// length reads the head of an array or a string: *3 or $3. It returns what follows, and whether the head is whole.
func length(b []byte) (n int64, rest []byte, whole bool) {
	for i := 1; i < len(b); i++ {
		switch c := b[i]; {
		case c >= '0' && c <= '9':
			n = 10*n + int64(c-'0')
		case c == '\n':
			return n, b[i+1:], true
		}
	}
	return n, nil, false
}

// received is called for each reply, and for what the server sends unasked.
func (g *guard) received() error {
	switch kind := g.replies.kind; {
	case kind == '>', kind == '*' && !g.resp3 && g.subscribed.Load():
		return g.notified()
	case kind == '%':
		g.resp3 = true // the reply to HELLO 3
	}
	if g.answered++; g.answered <= g.known {
		return nil
	}
	if g.known = g.asked.Load(); g.answered > g.known {
		return breach("a reply that nothing was asked for")
	}
	return nil
}

// notified is called for a message, or the confirmation of a subscription.
func (g *guard) notified() error {
	switch g.replies.event() {
	case "subscribe", "ssubscribe", "psubscribe":
		if g.confirming.Add(-1) < 0 {
			return breach("the confirmation of a subscription that nobody has asked for")
		}
	}
	return nil
}
