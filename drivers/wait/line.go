// Lines: who holds or contends for a key, and who stands in line behind him, for the clients of one process.

package wait

import (
	"hash/maphash"
	"sync"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// never is a time that no clock here reaches, with room to add to it.
const never = time.Duration(1 << 62)

// lines are the lines of all keys that somebody holds or wants. A key that nobody wants any more leaves nothing behind.
type lines struct {
	clock  drivers.Clock
	seed   maphash.Seed
	shards [256]shard
}

// shard has the lines of some keys under one lock, which is never held during a request. Keys are spread over so many
// that two of them rarely meet.
type shard struct {
	mu     sync.Mutex
	closed bool
	lines  map[string]*line
	free   *line    // lines to use again, chained by free
	_      [96]byte // a pair of cache lines to itself: neighbours are fetched together
}

// line is one key. Front and those in line are all clients that want it, apart from those whose lease has run out
// under them: they are forgotten here.
type line struct {
	key        string
	front      *queued       // holds the lock, or contends for it at the server; nil only while the line is being made
	end        time.Duration // of front's lease; never while it contends
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

// close sends everybody home who stands in line, and lets nobody join any more.
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

// line is the line of a key, a new one without a front if there is none. The caller has the lock, here and below.
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

// vacant tells whether somebody who is in no line yet may take the place at the front.
func (ln *line) vacant(now time.Duration) bool {
	return ln.front == nil || ln.head == nil && ln.over(now)
}

// over tells whether the lease of whoever is at the front has ended: he is dead, or holds for too long.
func (ln *line) over(now time.Duration) bool { return now >= ln.end }

// turn makes q the one who contends.
func (ln *line) turn(q *queued) {
	ln.front, ln.end, ln.passes = q, never, 0
	q.line, q.key, q.state = ln, ln.key, contending
}

// hold notes that the front holds the lock until end. Whoever is next minds that, and has to wake up in time for it.
func (ln *line) hold(end time.Duration) {
	ln.end = end
	if ln.head != nil && ln.head.until > end {
		ln.head.wake()
	}
}

// advance gives the turn of whoever was at the front to the next.
func (s *shard) advance(ln *line) {
	q := ln.head
	if q == nil {
		delete(s.lines, ln.key)
		*ln = line{free: s.free}
		s.free = ln
		return
	}
	q.yields = ln.passes > 0 && ln.passes >= q.max
	ln.remove(q)
	ln.turn(q)
	q.wake()
}

// claim takes the next out of the line, to whom the lock shall be passed; nil if nobody is there. One whose patience
// is over by now is sent home: he may just be leaving.
func (ln *line) claim(now time.Duration) *queued {
	for q := ln.head; q != nil; q = ln.head {
		ln.remove(q)
		if now < q.deadline {
			q.state = claimed
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
