// What is between the client library and the network: finding a server, and a look at what is sent.
package zookeeper

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"
)

// The library's first buffer for replies is as large as its limit on them, 1.5 MB a session unless it is told
// otherwise. So it is told a small limit before it makes the buffer and a large one before it reads: the buffer grows
// with what arrives, which is the list of those in line.
const (
	firstReply = 4 << 10
	maxReply   = 64 << 20
	maxGreeted = 256 // the first reply of a connection has 37 bytes
)

// Between two rounds of attempts to connect there are pauses that grow from the first to the second of these.
const minPause, maxPause = 10 * time.Millisecond, 200 * time.Millisecond

// What the wire has to know of the protocol: the number that all pings have instead of one of their own, and which
// operations are ours. The library's own are setAuth (100), setWatches (101) and close (-11).
const pingXID, ownOps = -2, 100

// errNotSent says that a request was kept from a connection that was made after it.
var errNotSent = errors.New("the connection broke before the request was sent")

// hosts is the library's list of servers, which it would wait a second with whenever it has come to an end of it.
type hosts struct {
	c    *conn
	list []string
	next int
}

func (h *hosts) Init(list []string) error { h.list = slices.Clone(list); return nil }
func (h *hosts) Len() int                 { return len(h.list) }
func (h *hosts) Connected()               {}

// Next answers with true what makes the library look whether it has been closed.
func (h *hosts) Next() (string, bool) {
	h.next = (h.next + 1) % len(h.list)
	return h.list[h.next], h.c.closing.Err() != nil
}

// connect returns the library's dialer. One goroutine of the library calls it, when the last connection is done with.
func (c *conn) connect(_, address string, _ time.Duration) (net.Conn, error) {
	round := c.begin()
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
	w := &wire{Conn: tcp, c: c, patience: time.Now().Add(c.to.io)}
	zk.WithMaxBufferSize(firstReply)(c.zk)
	if !c.connected(w) {
		tcp.Close()
		return nil, errClosed
	}
	return w, nil
}

// begin notes that the last connection is over: what has been asked until now is not to be sent on the next one. It
// answers how often all servers have been asked in vain.
func (c *conn) begin() (round int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.wire != nil {
		switch breach := c.wire.breach; {
		case breach != nil && !c.wire.open:
			c.lastErr = fmt.Errorf("%w: %v", errSilence, breach)
		case breach != nil:
			c.lastErr = breach
		case !c.wire.open:
			c.lastErr = errHandshake
		}
		c.wire.Close() // the library forgets to, when the session is over
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

// wire is one connection. The library hands it from one goroutine to the next.
type wire struct {
	net.Conn
	c        *conn
	patience time.Time // for the answer to the greeting
	open     bool      // the greeting was answered; guarded by c.mu where goroutines of ours read it
	reading  bool      // replies are read
	frames   frames
	breach   error // what the server has sent that it must not; guarded by c.mu
}

// SetReadDeadline bounds the greeting, for which the library would wait seven times the session's time-out.
func (w *wire) SetReadDeadline(t time.Time) error {
	if !w.open {
		t = w.patience
	} else if !w.reading {
		w.reading = true
		zk.WithMaxBufferSize(maxReply)(w.c.zk)
	}
	return w.Conn.SetReadDeadline(t)
}

// Write sends one packet. Requests that were asked for while there was another connection wait in the library for the
// next one; they are not sent then, because who asked for them has been told that they have failed.
func (w *wire) Write(packet []byte) (int, error) {
	if w.open && len(packet) >= 12 {
		w.frames.sent(packet)
		xid, op := int32(binary.BigEndian.Uint32(packet[4:])), int32(binary.BigEndian.Uint32(packet[8:]))
		switch {
		case xid == pingXID:
			w.c.counts.keepAlives.Add(1)
		case op > 0 && op < ownOps && !w.c.clean():
			return 0, errNotSent
		}
	}
	return w.Conn.Write(packet)
}

// Close does not say good-bye under TLS, which may take seconds on a connection that is broken.
func (w *wire) Close() error {
	if secure, ok := w.Conn.(*tls.Conn); ok {
		return secure.NetConn().Close()
	}
	return w.Conn.Close()
}

// clean reports whether no request of an earlier connection is under way.
func (c *conn) clean() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stale == 0
}
