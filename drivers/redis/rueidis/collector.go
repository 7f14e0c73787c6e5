// Collecting commands while there is company: -flush-delay auto.

package rueidis

import (
	"bytes"
	"net"
	"runtime"
	"sync/atomic"
	"time"
)

const (
	collectFor = 100 * time.Microsecond // how long a writer waits at most

	manyAlone = 8  // writes of one command after which a client is taken to be alone
	askAgain  = 16 // and then one write in so many waits, in case that it is not
)

// collector is a connection that holds its writer back until answers to what it has sent have come, but no longer than collectFor:
// Nagle's algorithm (RFC 896) for commands. Meanwhile the library queues those of other clients, and then sends them in one write.
// A client alone never waits: its next command comes after its answer.
//
// The library writes in one goroutine and reads in another. Until a connection has carried two commands at once, it does both in
// the client's: then nobody reads during a write, and the write does not wait.
type collector struct {
	net.Conn
	reading atomic.Bool   // the library waits for answers
	writing atomic.Bool   // the writer waits too
	read    chan struct{} // one slot: the answers that came have gone to their clients
	limit   *time.Timer
	alone   int // writes of one command in a row
}

func newCollector(conn net.Conn) *collector {
	limit := time.NewTimer(0)
	limit.Stop()
	return &collector{Conn: conn, read: make(chan struct{}, 1), limit: limit}
}

// Read implements net.Conn. It begins when the answers of the one before have gone to their clients.
func (c *collector) Read(b []byte) (int, error) {
	if c.writing.Load() {
		select {
		case c.read <- struct{}{}:
		default:
		}
	}
	c.reading.Store(true)
	defer c.reading.Store(false)
	return c.Conn.Read(b)
}

// Write implements net.Conn.
func (c *collector) Write(b []byte) (int, error) {
	if !c.company(b) || !c.reading.Load() {
		return c.Conn.Write(b)
	}
	select { // left from a wait that had reached its limit
	case <-c.read:
	default:
	}
	c.writing.Store(true)
	defer c.writing.Store(false)
	n, err := c.Conn.Write(b)
	if err != nil {
		return n, err
	}
	c.limit.Reset(collectFor)
	select {
	case <-c.read:
		c.limit.Stop()
		runtime.Gosched() // those with an answer send their next command first
	case <-c.limit.C:
	}
	return n, nil
}

// company reports whether b, what is written next, says that there are several clients, or may be.
func (c *collector) company(b []byte) bool {
	if bytes.Contains(b, []byte("\r\n*")) { // a second command
		c.alone = 0
		return true
	}
	c.alone++
	return c.alone < manyAlone || c.alone%askAgain == 0
}
