// Lines: which client of a process holds or contends for a key, and which ones wait in line behind it.

package wait

import (
	"hash/maphash"
	"sync"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// never is a time that no clock reaches, with room to add to it.
const never = time.Duration(1 << 62)

// lines are the lines of all keys that a client holds or wants. A key that is no longer wanted leaves nothing behind.
type lines struct {
	clock  drivers.Clock
	seed   maphash.Seed
	shards [256]shard
}

// shard has the lines of some keys under one mutex, which is never held during a request. There are so many shards that
// two busy keys rarely share one.
type shard struct {
	mu     sync.Mutex
	closed bool
	lines  map[string]*line
	free   *line    // lines to use again, chained by free
	_      [96]byte // two cache lines of its own, because neighbours are fetched together
}

// line is one key. Its front and those in line are all clients that want it, except holders whose lease has run out and
// whose place was taken: they are forgotten.
type line struct {
	key    string
	front  *queued       // holds the lock, or contends for it at the server; nil only while the line is being made
	end    time.Duration // end of the front's lease; never while it contends
	passes int           // hand-overs in a row
	ring   link          // next to it is the head, before it the tail
	free   *line
}

func newLines() *lines {
	ls := &lines{clock: drivers.NewClock(), seed: maphash.MakeSeed()}
	for i := range ls.shards {
		ls.shards[i].lines = map[string]*line{}
	}
	return ls
}

func (ls *lines) shard(key string) *shard {
	return &ls.shards[maphash.String(ls.seed, key)%uint64(len(ls.shards))]
}

// close wakes all clients that stand in line, and lets none join any more.
func (ls *lines) close() {
	for i := range ls.shards {
		s := &ls.shards[i]
		s.mu.Lock()
		s.closed = true
		for _, ln := range s.lines {
			for k := ln.ring.next; k.client != nil; k = k.next {
				k.client.woken.fill()
			}
		}
		s.mu.Unlock()
	}
}

// line returns the line of a key, a new one without a front if there is none. The caller holds the mutex, here and
// below.
func (s *shard) line(key string) *line {
	ln := s.lines[key]
	if ln == nil {
		if ln = s.free; ln != nil {
			s.free = ln.free
		} else {
			ln = &line{}
		}
		*ln = line{key: key}
		ln.ring.prev, ln.ring.next = &ln.ring, &ln.ring
		s.lines[key] = ln
	}
	return ln
}

// vacant reports whether a client that is in no line yet may take the place at the front.
func (ln *line) vacant(now time.Duration) bool {
	return ln.front == nil || ln.head() == nil && ln.over(now)
}

// head returns the first client in line, or nil.
func (ln *line) head() *queued { return ln.ring.next.client }

// over reports whether the lease of the front has ended: that client is dead, or holds for too long.
func (ln *line) over(now time.Duration) bool { return now >= ln.end }

// take gives q the front. A client that is still there is forgotten.
func (ln *line) take(q *queued, e event) {
	if ln.front != nil {
		ln.front.line = nil
	}
	ln.front, ln.end, ln.passes = q, never, 0
	q.line, q.key = ln, ln.key
	q.on(e)
}

// hold records that the front holds the lock until end.
func (ln *line) hold(end time.Duration) {
	ln.end = end
	ln.watch()
}

// watch makes the head wake up in time for the end of the front's lease.
func (ln *line) watch() {
	if q := ln.head(); q != nil && q.until > ln.end {
		q.woken.fill()
	}
}

// advance gives the front, which a client leaves, to the next one.
func (s *shard) advance(ln *line) {
	q := ln.next()
	if q == nil {
		delete(s.lines, ln.key)
		*ln = line{free: s.free}
		s.free = ln
		return
	}
	e := turn
	if ln.passes >= q.max {
		e = yield
	}
	ln.take(q, e)
	q.woken.fill()
}

// next removes the next client from the line and returns it; nil if there is none. It drops clients whose deadline has
// passed, because they may just be leaving.
func (ln *line) next() *queued {
	for q := ln.head(); q != nil; q = ln.head() {
		q.link.remove()
		if q.deadline == never || q.lines.clock.Now() < q.deadline {
			return q
		}
		q.on(quit)
		q.woken.fill()
	}
	return nil
}

// stand puts q into the line, at its head or its end.
func (ln *line) stand(q *queued, first bool) {
	q.line, q.key = ln, ln.key
	q.on(join)
	if q.link.client = q; first {
		q.link.insert(&ln.ring)
	} else {
		q.link.insert(ln.ring.prev)
	}
}

// link is a client's place in the ring of its line; client is nil for the line's own.
type link struct {
	prev, next *link
	client     *queued
}

func (k *link) insert(prev *link) {
	k.prev, k.next = prev, prev.next
	k.prev.next, k.next.prev = k, k
}

func (k *link) remove() {
	k.prev.next, k.next.prev = k.next, k.prev
	k.client.line = nil
}
