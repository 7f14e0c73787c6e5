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

	commands commandScanner // of those who write, who take turns

	// Told by those who write:
	asked      atomic.Int64 // commands
	confirming atomic.Int64 // channels of which the subscription is not confirmed
	leaving    atomic.Int64 // commands that end subscriptions and have no confirmation
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

// Write implements net.Conn. It counts the commands before the server can answer them, each when its name is whole.
func (g *guard) Write(b []byte) (int, error) {
	g.asked.Add(g.commands.scan(b, g.subscribes))
	return g.Conn.Write(b)
}

// subscribes is called with the name and the number of arguments, the name included, of each command whose name is as long
// as that of a subscription.
func (g *guard) subscribes(name string, args int64) {
	switch name = strings.ToLower(name); {
	case strings.HasSuffix(name, "unsubscribe"):
		g.subscribed.Store(true)
		g.leaving.Add(1)
	case strings.HasSuffix(name, "subscribe"):
		g.subscribed.Store(true)
		g.confirming.Add(args - 1)
		g.asked.Add(args - 2) // each channel has a confirmation of its own
	}
}

// commandScanner follows a stream of commands, which are arrays of strings. It has to find each one: a guard that counts too
// few refuses a reply that is in order, and one that counts too many passes on a reply that is not.
type commandScanner struct {
	head byte  // the kind of the head under way, or 0
	n    int64 // what it has announced so far
	args int64 // of the command under way
	left int64 // of them, those that have not begun
	rest int64 // bytes of the argument under way that have not come, CRLF included
	size int   // of name, while that is under way
	name [16]byte
}

// scan reads the next piece of the stream and returns how many names of commands are whole at its end.
func (s *commandScanner) scan(b []byte, long func(name string, args int64)) (commands int64) {
	for i := 0; i < len(b); {
		if s.rest > 0 {
			n := int(min(s.rest, int64(len(b)-i)))
			naming := s.left == s.args-1
			if naming {
				s.size += copy(s.name[s.size:], b[i:i+n])
			}
			i += n
			if s.rest -= int64(n); s.rest == 0 && naming {
				commands++
				if name, whole := bytes.CutSuffix(s.name[:s.size], []byte("\r\n")); whole && len(name) >= len("subscribe") {
					long(string(name), s.args)
				}
			}
			continue
		}
		if s.head == 0 {
			s.head, s.n = b[i], 0
			i++
		}
		n := s.n
		for ; i < len(b) && b[i] != '\n'; i++ {
			if b[i] != '\r' {
				n = 10*n + int64(b[i]-'0')
			}
		}
		if s.n = n; i == len(b) {
			break
		}
		i++
		if s.head == '*' {
			s.args, s.left = n, n
		} else {
			s.rest, s.size = n+int64(len("\r\n")), 0
			s.left--
		}
		s.head = 0
	}
	return commands
}

// received is called for each reply, and for what the server sends unasked.
func (g *guard) received() error {
	switch kind := g.replies.kind; {
	case kind == '>', kind == '*' && !g.resp3 && g.subscribed.Load():
		return g.notified()
	case kind == '%':
		g.resp3 = true // the reply to HELLO 3
	}
	return g.reply()
}

// reply is called for whatever answers a command.
func (g *guard) reply() error {
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
		return g.reply()
	case "unsubscribe", "sunsubscribe", "punsubscribe": // also unasked, and one for each channel
		if g.leaving.Load() > 0 {
			g.leaving.Add(-1)
			return g.reply()
		}
	}
	return nil
}
