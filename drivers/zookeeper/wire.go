// Between the client library and the network: finding a server, and what is sent to which connection.
package zookeeper

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"net"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"
)

// The library's first buffer for replies is as large as its limit for them, 1.5 MB per session by default. So it gets a
// small limit before it makes the buffer and a large one before it reads: the buffer then grows with what arrives,
// which is the list of those in line.
const (
	firstReply = 4 << 10
	maxReply   = 64 << 20
)

// The pauses between two rounds of connection attempts grow from the first to the second of these.
const minPause, maxPause = 10 * time.Millisecond, 200 * time.Millisecond

// patience is how many rounds may fail until the reason is looked for: crashed clients may still have connections.
const patience = 3

// What the wire must know of the protocol: the xid of all pings, and which operations are lockbench's. The library's
// own are setAuth (100), setWatches (101) and close (-11).
const pingXID, ownOps = -2, 100

// errNotSent is the error of a request that must not be sent on a later connection.
var errNotSent = errors.New("the connection broke before the request was sent")

// hosts is the library's list of servers. With its own list it would wait for a second at each end of it.
type hosts struct {
	c    *conn
	list []string
	next int
}

func (h *hosts) Init(list []string) error { h.list = slices.Clone(list); return nil }
func (h *hosts) Len() int                 { return len(h.list) }
func (h *hosts) Connected()               {}

// Next returns true to make the library check whether it has been closed.
func (h *hosts) Next() (string, bool) {
	h.next = (h.next + 1) % len(h.list)
	return h.list[h.next], h.c.closing.Err() != nil
}

// connect is the library's dialer. One goroutine of the library calls it, when the last connection is finished.
func (c *conn) connect(_, address string, _ time.Duration) (net.Conn, error) {
	round := c.begin()
	if round == patience && c.to.refused != nil {
		c.refuse(c.to.refused(c.closing))
	}
	if pause := min(minPause<<min(round, 10), maxPause); round > 0 {
		select {
		case <-time.After(pause/2 + rand.N(pause/2)):
		case <-c.closing.Done():
		}
	}
	ctx, cancel := context.WithTimeout(c.closing, c.to.io)
	defer cancel()
	tcp, err := c.to.dial(ctx, address)
	if err != nil {
		c.failed(err)
		return nil, err
	}
	w := &wire{Conn: c.tally.sent.Count(tcp, requests), below: tcp, c: c, greetBy: time.Now().Add(c.to.io)}
	zk.WithMaxBufferSize(firstReply)(c.zk)
	if !c.connected(w) {
		w.Close()
		return nil, errClosed
	}
	return w, nil
}

// refuse ends the wait for the first session, if err says why there is none.
func (c *conn) refuse(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session == 0 && err != nil {
		c.refusal = err
		c.signal()
	}
}

// begin records that the last connection is over: earlier requests must not be sent on the next one. It returns how
// many rounds over all servers have failed.
func (c *conn) begin() (round int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.wire != nil {
		if !c.wire.open {
			c.lastErr = errHandshake
		}
		c.wire.Close() // the library does not, when the session is over
	}
	c.wire, c.ready = nil, false
	c.generation++
	c.stale += c.current
	c.current = 0
	round = c.attempts / len(c.to.servers)
	c.attempts++
	return round
}

func (c *conn) failed(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastErr = err
}

func (c *conn) connected(w *wire) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing.Err() != nil {
		return false
	}
	c.wire = w
	return true
}

// wire is one connection. The library passes it from one goroutine to the next.
type wire struct {
	net.Conn
	below   net.Conn // which Conn counts
	c       *conn
	greetBy time.Time // for the answer to the greeting
	open    bool      // the greeting was answered; guarded by c.mu where goroutines of this package read it
	reading bool      // replies are read
	head    []byte    // of the server's greeting, until it is whole
}

// SetReadDeadline bounds the greeting, for which the library would wait seven times the session's time-out.
func (w *wire) SetReadDeadline(t time.Time) error {
	if !w.open {
		t = w.greetBy
	} else if !w.reading {
		w.reading = true
		zk.WithMaxBufferSize(maxReply)(w.c.zk)
	}
	return w.Conn.SetReadDeadline(t)
}

// Write sends one packet. Requests that were made on another connection wait in the library for the next one; they are
// not sent then, because their callers have been told that they failed.
func (w *wire) Write(packet []byte) (int, error) {
	if w.open && len(packet) >= 12 {
		op := int32(binary.BigEndian.Uint32(packet[8:]))
		if requests(packet) > 0 && op > 0 && op < ownOps && !w.c.clean() {
			return 0, errNotSent
		}
	}
	return w.Conn.Write(packet)
}

// requests returns how many requests a packet is: one, unless it is a ping.
func requests(packet []byte) int64 {
	if len(packet) >= 8 && int32(binary.BigEndian.Uint32(packet[4:])) == pingXID {
		return 0
	}
	return 1
}

// Read implements net.Conn. The greeting has a length, the protocol's version and the session's time-out, which the
// library keeps to itself.
func (w *wire) Read(b []byte) (int, error) {
	const whole = 12
	n, err := w.Conn.Read(b)
	if left := whole - len(w.head); left > 0 {
		if w.head = append(w.head, b[:min(n, left)]...); len(w.head) == whole {
			if granted := binary.BigEndian.Uint32(w.head[8:]); granted > 0 {
				w.c.to.granted.Store(int64(granted))
			}
		}
	}
	return n, err
}

// Close skips the TLS close message, which may take seconds on a broken connection.
func (w *wire) Close() error {
	if secure, ok := w.below.(*tls.Conn); ok {
		_ = secure.NetConn().Close()
	}
	return w.Conn.Close()
}

// clean reports whether no request of an earlier connection is under way.
func (c *conn) clean() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stale == 0
}
