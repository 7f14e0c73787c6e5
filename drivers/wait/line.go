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

// line is one key. Its front and those in line are all clients that want it, except holders whose lease has run out:
// they are forgotten.
type line struct {
	key        string
	front      *queued       // holds the lock, or contends for it at the server; nil only while the line is being made
	end        time.Duration // end of the front's lease; never while it contends
	passes     int           // hand-overs in a row
	head, tail *queued
	free       *line
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
			for q := ln.head; q != nil; q = q.next {
				q.wake()
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
		s.lines[key] = ln
	}
	return ln
}

// vacant reports whether a client that is in no line yet may take the place at the front.
func (ln *line) vacant(now time.Duration) bool {
	return ln.front == nil || ln.head == nil && ln.over(now)
}

// over reports whether the lease of the front has ended: that client is dead, or holds for too long.
func (ln *line) over(now time.Duration) bool { return now >= ln.end }

// turn makes q the client that contends.
func (ln *line) turn(q *queued) {
	ln.front, ln.end, ln.passes = q, never, 0
	q.line, q.key, q.state = ln, ln.key, contending
}

// hold records that the front holds the lock until end.
func (ln *line) hold(end time.Duration) {
	ln.end = end
	ln.watch()
}

// watch makes the head wake up in time for the end of the front's lease.
func (ln *line) watch() {
	if ln.head != nil && ln.head.until > ln.end {
		ln.head.wake()
	}
}

// advance gives the turn of the front to the next client.
func (s *shard) advance(ln *line) {
	q := ln.next()
	if q == nil {
		delete(s.lines, ln.key)
		*ln = line{free: s.free}
		s.free = ln
		return
	}
	q.yields = ln.passes > 0 && ln.passes >= q.max
	ln.turn(q)
	q.wake()
}

// next removes the next client from the line and returns it; nil if there is none. It drops clients whose deadline has
// passed, because they may just be leaving.
func (ln *line) next() *queued {
	for q := ln.head; q != nil; q = ln.head {
		ln.remove(q)
		if q.deadline == never || q.lines.clock.Now() < q.deadline {
			return q
		}
		q.state, q.line = idle, nil
		q.wake()
	}
	return nil
}

func (ln *line) append(q *queued) {
	q.prev, q.next = ln.tail, nil
	if ln.tail == nil {
		ln.head = q
	} else {
		ln.tail.next = q
	}
	ln.tail = q
}

func (ln *line) prepend(q *queued) {
	q.prev, q.next = nil, ln.head
	if ln.head == nil {
		ln.tail = q
	} else {
		ln.head.prev = q
	}
	ln.head = q
}

func (ln *line) remove(q *queued) {
	if q.prev == nil {
		ln.head = q.next
	} else {
		q.prev.next = q.next
	}
	if q.next == nil {
		ln.tail = q.prev
	} else {
		q.next.prev = q.prev
	}
	q.prev, q.next = nil, nil
}
