// The queue between the pacer and the clients: it decides how late an arrival reaches the client that serves it.

package pace

import (
	"sync"
	"time"
)

// Queue hands arrivals over to clients. An arrival goes to the client that has been parked longest, so that load
// spreads evenly over idle clients; if none is parked it waits in line, and is served in its turn, however late.
// Arrivals keep their order. Any number of goroutines may use a Queue; each operation takes the same time, however many
// are parked or wait, and allocates nothing in the steady state. The zero value is ready.
type Queue struct {
	mu      sync.Mutex
	closed  bool
	offered int64
	waiting line            // empty if anybody is parked
	first   *parked         // who has been parked longest
	last    *parked         // undefined if first is nil
	unused  *parked         // a list
	left    []time.Duration // what waited at Close
}

// Taker is a client without a goroutine that could block in Take.
type Taker interface {
	// Arrive hands over the arrival that is due at that time; with ok false it tells that none will come. It does not
	// block, and is called by any goroutine, once for each Park that returned false.
	Arrive(at time.Duration, ok bool)
}

// parked is a client that waits for an arrival.
type parked struct {
	wake  chan time.Duration // takes one value, so that handing over never blocks; nil for a Taker
	taker Taker
	next  *parked // who was parked after it
}

// Put hands over the arrival that is due at that time, or lets it wait for a client. It never blocks; after Close it does
// nothing. It fits into Lane.Due.
func (q *Queue) Put(at time.Duration) {
	q.mu.Lock()
	if q.closed {
		q.mu.Unlock()
		return
	}
	q.offered++
	p := q.first
	if p == nil {
		q.waiting.push(at)
		q.mu.Unlock()
		return
	}
	q.first = p.next
	taker := p.taker
	if taker != nil {
		q.unuse(p)
	}
	q.mu.Unlock()
	if taker != nil { // outside: waking may take a system call
		taker.Arrive(at, true)
	} else {
		p.wake <- at
	}
}

// Take returns the next arrival; it parks the client until there is one. waited tells that the arrival had to wait since no
// client was parked when it came: its delay is backlog, that of the others is the generator's own lag. (When the pacer
// itself was held up, more arrivals may come at a time than clients are parked, and those count as backlog too.) ok is
// false after Close, for those too that are parked then.
func (q *Queue) Take() (at time.Duration, waited, ok bool) {
	q.mu.Lock()
	if q.closed {
		q.mu.Unlock()
		return 0, false, false
	}
	if q.waiting.len() > 0 {
		at = q.waiting.pop()
		q.mu.Unlock()
		return at, true, true
	}
	p := q.park()
	if p.wake == nil {
		p.wake = make(chan time.Duration, 1)
	}
	q.mu.Unlock()

	if at, ok = <-p.wake; ok {
		q.mu.Lock()
		q.unuse(p)
		q.mu.Unlock()
	}
	return at, false, ok
}

// Park is Take for a client that is not to block. It returns an arrival that had to wait; if come is false, t is parked, and
// Arrive tells it of the next one.
func (q *Queue) Park(t Taker) (at time.Duration, come bool) {
	q.mu.Lock()
	if q.waiting.len() > 0 {
		at = q.waiting.pop()
		q.mu.Unlock()
		return at, true
	}
	closed := q.closed
	if !closed {
		q.park().taker = t
	}
	q.mu.Unlock()
	if closed {
		t.Arrive(0, false)
	}
	return 0, false
}

// park puts a client behind those that are parked. The caller holds q.mu.
func (q *Queue) park() *parked {
	p := q.unused
	if p == nil {
		p = new(parked)
	}
	q.unused, p.next = p.next, nil
	if q.first == nil {
		q.first = p
	} else {
		q.last.next = p
	}
	q.last = p
	return p
}

// unuse keeps what was parked for the next one. The caller holds q.mu.
func (q *Queue) unuse(p *parked) { p.taker, p.next, q.unused = nil, q.unused, p }

// Close ends the queue and wakes all who are parked. It returns when the arrivals that still waited had been due, in
// their order, also if it is called again.
func (q *Queue) Close() (left []time.Duration) {
	q.mu.Lock()
	if !q.closed {
		q.closed = true
		q.left = make([]time.Duration, 0, q.waiting.len())
		for q.waiting.len() > 0 {
			q.left = append(q.left, q.waiting.pop())
		}
	}
	p := q.first
	q.first = nil
	left = q.left
	q.mu.Unlock()
	for p != nil {
		next := p.next // before its client can be awake
		if p.taker != nil {
			p.taker.Arrive(0, false)
		} else {
			close(p.wake)
		}
		p = next
	}
	return left
}

// Len returns how many arrivals wait for a client; 0 after Close.
func (q *Queue) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.waiting.len()
}

// Offered returns how many arrivals came.
func (q *Queue) Offered() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.offered
}

// line is a first-in-first-out list in blocks of memory: a backlog of millions grows by one block at a time, without
// the pause in which a slice would be copied.
type line struct {
	n           int
	head, tail  *block
	from, until int // where head's first value and tail's first free place are
	spare       *block
}

type block struct {
	at   [blockLen]time.Duration
	next *block
}

const blockLen = 1023 // 8 KB with next

func (l *line) len() int { return l.n }

func (l *line) push(at time.Duration) {
	if l.tail == nil || l.until == blockLen {
		b := l.spare
		if b == nil {
			b = new(block)
		}
		l.spare = nil
		if l.tail == nil {
			l.head, l.from = b, 0
		} else {
			l.tail.next = b
		}
		l.tail, l.until = b, 0
	}
	l.tail.at[l.until] = at
	l.until++
	l.n++
}

// pop takes the first one out; there has to be one.
func (l *line) pop() time.Duration {
	at := l.head.at[l.from]
	l.from++
	l.n--
	switch {
	case l.n == 0: // which was the only block: begin it anew
		l.from, l.until = 0, 0
	case l.from == blockLen:
		b := l.head
		l.head, l.from = b.next, 0
		b.next = nil
		l.spare = b
	}
	return at
}
