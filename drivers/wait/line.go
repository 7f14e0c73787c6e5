// Lines: which client of a process holds or contends for a key, and which ones wait in line behind it; and how
// it gives the lock to the next: by a release, or by passing it on at the server.

package wait

import (
	"context"
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

// Release gives the lock up. If a client is in line and the hand-over is a swap, it gets the lock directly, but not too
// often in a row, because clients of other processes get no turn meanwhile.
func (q *queued) Release(ctx context.Context, l *drivers.Lease) (owned bool, err error) {
	if to := q.BeginRelease(l); to != nil {
		owned, err = q.pass(ctx, l, to)
	} else {
		owned, err = q.Session.Release(ctx, l)
	}
	q.EndRelease(ctx, l, owned, err)
	return owned && err == nil, err
}

// pass passes the lock on. A panic of the driver counts as no answer, so that the successor does not wait for one.
func (q *queued) pass(ctx context.Context, l, to *drivers.Lease) (owned bool, err error) {
	defer drivers.Catch(&err)
	return q.passer.Pass(ctx, l, to)
}

// BeginRelease implements LineSession.
func (q *queued) BeginRelease(l *drivers.Lease) (to *drivers.Lease) {
	if !q.lastRelease(l) {
		return nil
	}
	q.on(release)
	if q.successor = q.claim(); q.successor == nil {
		return nil
	}
	return q.successor.lease
}

// EndRelease implements LineSession. Without a hand-over, the next client acquires the lock like a pubsub waiter: only once the
// release is answered, so not before other processes hear of it.
func (q *queued) EndRelease(ctx context.Context, l *drivers.Lease, owned bool, err error) {
	switch {
	case q.state != releasing:
	case q.successor == nil:
		q.depart(quit)
	case err != nil:
		q.failed(ctx, l)
	default:
		q.passed(owned)
	}
}

// lastRelease reports whether a release is the last one of the lock that the client got through its line.
func (q *queued) lastRelease(l *drivers.Lease) bool {
	if q.state != holding && q.state != granted || l.Key != q.key {
		return false
	}
	if q.depth > 0 {
		q.depth--
		return false
	}
	return true
}

// claim returns the client to pass the lock to, or nil if the lock is to be released. A holder whose lease has run out
// and whose place was taken passes nothing on.
//
//go:noinline
func (q *queued) claim() *queued {
	if q.passer == nil {
		return nil
	}
	q.shard.mu.Lock()
	defer q.shard.mu.Unlock()
	if q.line == nil {
		return nil
	}
	if q.line.passes < q.max {
		if next := q.line.next(); next != nil {
			next.on(claim)
			next.sent = q.lines.clock.Now()
			return next
		}
	}
	if q.line.passes > 0 {
		q.sub.hub.endTurn(q.key) // before the release is sent: its message counts
	}
	return nil
}

// passed records that the lock is the successor's, or that it was lost before; then the successor has to contend for it. If the
// lease seemed over meanwhile and another client has taken the front, the successor holds beside it, or is next in line.
//
//go:noinline
func (q *queued) passed(owned bool) {
	q.shard.mu.Lock()
	defer q.shard.mu.Unlock()
	next := q.successor
	if owned {
		next.on(pass)
		l := next.lease
		if ln := q.line; ln != nil {
			ln.front, next.line = next, ln
			ln.passes++
			ln.hold(next.ends(l))
		}
		if next.expires && l.ValidUntil.IsZero() { // it does not know when this was asked for
			l.ValidUntil = q.lines.clock.Time(next.sent + l.TTL)
		}
	} else if ln := q.shard.line(q.key); ln.front == nil || ln.front == q {
		ln.take(next, turn)
	} else {
		ln.stand(next, true)
	}
	q.on(quit)
	q.line = nil
	next.woken.fill()
}

// failed handles a Pass without an answer, which is rare: this client may still have the lock, or the successor, or neither.
// The successor must not believe that it has it. Both owners are released, best effort, while it contends.
func (q *queued) failed(ctx context.Context, l *drivers.Lease) {
	lost := *q.successor.lease // the successor sets its own from now on
	q.passed(false)
	ctx, cancel := outlive(ctx)
	defer cancel()
	q.Session.Release(ctx, l)
	q.Session.Release(ctx, &lost)
}
