// One session with the service, and requests with time limits.
package zookeeper

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/lockbench/lockbench/drivers/traffic"
)

// The library's first buffer for replies is as large as its limit for them, 1.5 MB per session by default. So it gets a
// small limit before it makes the buffer and a large one before it reads: the buffer then grows with what arrives,
// which is the list of those in line.
const firstReply, maxReply = 4 << 10, 64 << 20

// patience is how many rounds of connection attempts may fail until the reason is looked for: crashed clients may still
// have connections.
const patience = 3

// conn is one session with the service. The library reconnects within it by itself, and would make another session when
// the server has ended it: a request that waits in the library would be sent in that one, and the node that it deletes
// may be another client's by then. So a conn is over when its session has ended, and connects no more.
type conn struct {
	svc     *service
	control bool    // it is for everything but locking
	past    []int64 // earlier sessions of the same clients, which the server has ended
	zk      *zk.Conn
	over    context.Context // its cause is why no request can be made any more
	end     context.CancelCauseFunc

	mu      sync.Mutex
	next    chan struct{} // closed when requests can be made on another connection, or never more
	wire    *wire         // the last connection
	stale   int           // requests made on earlier ones that the library still has
	id      int64         // of the session; 0: there is none yet
	failed  int           // attempts to get a session since the last success
	refused int           // attempts to connect since the last success
	lastErr error         // of the last attempt
}

// open begins a session.
func (c *conn) open() (err error) {
	buffer := 8 << 10 // enough for a request
	if c.svc.shared != nil {
		buffer = 160 << 10 // the watches of all its clients are sent at once when it reconnects, in packets of up to 128 KB
	}
	c.next = make(chan struct{})
	c.over, c.end = context.WithCancelCause(context.Background())
	_, events, err := zk.Connect(c.svc.to.servers, cmp.Or(c.svc.cfg.TTL, defaultTimeout),
		func(z *zk.Conn) { c.zk = z }, // before its goroutine starts
		zk.WithLogger(log.New(io.Discard, "", 0)), zk.WithLogInfo(false), zk.WithHostProvider(&hosts{over: c.over}),
		zk.WithDialer(c.dial), zk.WithEventCallback(c.event), zk.WithMaxConnBufferSize(buffer))
	if err != nil {
		return err
	}
	c.svc.running.Go(func() {
		defer context.AfterFunc(c.svc.over, c.close)()
		for range events { // until the library's goroutines have ended
		}
	})
	return nil
}

// event is called by the library: for changes of its state by the goroutine that connects, and for watch events by the
// one that reads.
func (c *conn) event(e zk.Event) {
	switch {
	case e.Type != zk.EventSession:
		if e.Type != zk.EventNotWatching {
			c.svc.notices.Add(1)
		}
	case e.State == zk.StateHasSession:
		c.mu.Lock()
		defer c.mu.Unlock()
		c.id, c.failed, c.lastErr, c.wire.open = c.zk.SessionID(), 0, nil, true
		if b := c.wire.greeting; len(b) >= 12 { // its length, the protocol's version, the session's time-out in milliseconds
			c.svc.granted.Store(int64(binary.BigEndian.Uint32(b[8:])) * int64(time.Millisecond))
		}
		c.signal()
	case e.State == zk.StateExpired:
		c.stop(zk.ErrSessionExpired)
	}
}

// stop breaks the connection for good without telling the server: there the session lasts until its time-out. The rest
// is up to close.
func (c *conn) stop(cause error) {
	c.end(cause)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wire.cut()
	c.signal()
}

// signal announces a change. The caller holds the mutex.
func (c *conn) signal() {
	close(c.next)
	c.next = make(chan struct{})
}

func (c *conn) connected() bool { return c.zk.State() == zk.StateHasSession }

// expired reports whether the server has ended the session, as far as known.
func (c *conn) expired() bool { return context.Cause(c.over) == zk.ErrSessionExpired }

// close ends the session, also on the server if that answers within a second, and with it all that it holds.
func (c *conn) close() {
	if !c.connected() {
		c.stop(errClosed)
	}
	c.zk.Close()
	c.stop(errClosed)
}

// hosts is the library's list of servers. With its own list it would wait for a second at each end of it.
type hosts struct {
	over context.Context
	list []string
	next int
}

func (h *hosts) Init(list []string) error { h.list = list; return nil }
func (h *hosts) Len() int                 { return len(h.list) }
func (h *hosts) Connected()               {}

// Next returns true to make the library check whether it has been closed.
func (h *hosts) Next() (string, bool) {
	h.next = (h.next + 1) % len(h.list)
	return h.list[h.next], h.over.Err() != nil
}

// dial is the library's dialer. One goroutine of the library calls it, when the last connection is finished.
func (c *conn) dial(_, server string, _ time.Duration) (net.Conn, error) {
	c.mu.Lock()
	if w := c.wire; w != nil {
		if c.stale += w.asked; !w.open && time.Now().Before(w.greetBy) {
			c.lastErr = errHungUp
		}
	}
	c.wire = nil
	c.mu.Unlock()
	if round := c.failed / len(c.svc.to.servers); round > 0 {
		c.pause(round)
	}
	ctx, cancel := context.WithTimeout(c.over, c.svc.to.io)
	defer cancel()
	tcp, err := c.svc.to.dial(ctx, server)
	c.failed, c.refused = c.failed+1, c.refused+1 // until there is a session, or a connection
	if err != nil && c.control && c.id == 0 && c.refused == len(c.svc.to.servers) {
		c.stop(fmt.Errorf("%w: %w", errUnconnected, err)) // the service is being opened, and no server is there
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lastErr = err; err != nil {
		return nil, err
	}
	var sent *traffic.Counter
	if !c.control {
		sent = &c.svc.sent
	}
	c.wire = &wire{Conn: sent.Count(tcp, requests), c: c, greetBy: time.Now().Add(c.svc.to.io)}
	c.refused, c.lastErr = 0, errSilence // until it greets
	zk.WithMaxBufferSize(firstReply)(c.zk)
	if c.over.Err() != nil {
		c.wire.cut()
	}
	return c.wire, nil
}

// pause waits before a further round of attempts. If the first session has none after some of them, it looks for the
// reason: a server that takes no more connections hangs up, and still serves an earlier one.
func (c *conn) pause(round int) {
	first := round == patience && c.id == 0 && !c.control && len(c.svc.to.servers) == 1
	if first && !errors.Is(c.lastErr, syscall.ECONNREFUSED) && c.svc.Ping(c.over) == nil {
		c.stop(errFull)
	}
	pause := min(10*time.Millisecond<<min(round, 10), 200*time.Millisecond)
	select {
	case <-time.After(pause/2 + rand.N(pause/2)):
	case <-c.over.Done():
	}
}

// requests returns how many requests a packet is: one, unless it is a ping, which has an xid of its own.
func requests(packet []byte) int64 {
	const ping = -2
	if len(packet) >= 8 && int32(binary.BigEndian.Uint32(packet[4:])) == ping {
		return 0
	}
	return 1
}

// wire is one connection. The library passes it from one goroutine to the next.
type wire struct {
	net.Conn
	c        *conn
	greetBy  time.Time
	greeting []byte
	open     bool // the server has greeted
	reading  bool // replies
	asked    int  // requests made on it that the library still has; guarded by c.mu
}

// SetReadDeadline bounds the greeting, for which the library would wait seven times the session's time-out.
func (w *wire) SetReadDeadline(t time.Time) error {
	if !w.open {
		t = w.greetBy
	} else if !w.reading {
		zk.WithMaxBufferSize(maxReply)(w.c.zk)
		w.reading = true
	}
	return w.Conn.SetReadDeadline(t)
}

// Write sends one packet. Requests that were made on another connection wait in the library for the next one; they are
// not sent then, because their callers have been told that they failed, and what they delete may be the next holder's
// by now. The library's own operations are setAuth (100), setWatches (101) and close (-11).
func (w *wire) Write(packet []byte) (int, error) {
	if w.open && len(packet) >= 12 && requests(packet) > 0 {
		w.c.mu.Lock()
		stale := w.c.stale
		w.c.mu.Unlock()
		if op := int32(binary.BigEndian.Uint32(packet[8:])); stale > 0 && op > 0 && op < 100 {
			return 0, errNotSent
		}
	}
	return w.Conn.Write(packet)
}

// Read implements net.Conn. It keeps the greeting, because the library keeps the session's time-out to itself.
func (w *wire) Read(b []byte) (int, error) {
	n, err := w.Conn.Read(b)
	if !w.open {
		w.greeting = append(w.greeting, b[:n]...)
	}
	return n, err
}

// cut breaks the connection, if there is one.
func (w *wire) cut() {
	if w != nil {
		w.Close()
	}
}

// caller makes one request at a time. Several callers may share a conn.
type caller struct {
	busy chan struct{} // closed when the library is done with the last request; nil before the first
	wire *wire         // which that was made on
	next chan struct{} // closed when there is a later connection
}

// ask makes a request. It returns when that is answered, after the endpoint's time limit, or when ctx is done,
// whichever comes first. The caller's next request waits until the library is done with this one, so that it sees its
// effect.
func ask[T any](ctx context.Context, k *caller, c *conn, request func(*zk.Conn) (T, error)) (none T, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.svc.to.io, errNoReply)
	defer cancel()
	if err := k.begin(ctx, c); err != nil {
		return none, err
	}
	var answer struct {
		value T
		err   error
	}
	done, wire := make(chan struct{}), k.wire
	k.busy = done
	go func() {
		answer.value, answer.err = request(c.zk)
		c.done(wire)
		close(done)
	}()
	if err := k.wait(ctx, done, errNoReply); err != nil {
		return none, err
	}
	return answer.value, answer.err
}

// begin waits until a request can be made. ctx is that of ask with the time limit.
func (k *caller) begin(ctx context.Context, c *conn) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if k.busy != nil {
		if err := k.wait(ctx, k.busy, errEarlier); err != nil {
			return err
		}
	}
	for {
		c.mu.Lock()
		k.next, k.wire = c.next, c.wire
		err := context.Cause(c.over)
		ready := err == nil && c.stale == 0 && c.wire != nil && c.wire.open
		if ready {
			c.wire.asked++
		}
		c.mu.Unlock()
		if ready || err != nil {
			return err
		}
		if err := k.wait(ctx, k.next, errUnconnected); err == errUnconnected {
			c.mu.Lock()
			defer c.mu.Unlock()
			return fmt.Errorf("%w: %w", err, cmp.Or(c.lastErr, errSilence))
		} else if err != nil {
			return err
		}
	}
}

// done records that the library has finished a request.
func (c *conn) done(w *wire) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w.asked--; w == c.wire {
		return
	}
	if c.stale--; c.stale == 0 {
		c.signal()
	}
}

// wait returns nil when done is closed, or late when the time for the request is over. If the library is still busy
// with one then, its connection is cut, so that the library reconnects.
func (k *caller) wait(ctx context.Context, done <-chan struct{}, late error) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		if context.Cause(ctx) != errNoReply {
			return ctx.Err()
		}
		if done == k.busy {
			k.wire.cut()
		}
		return late
	}
}
