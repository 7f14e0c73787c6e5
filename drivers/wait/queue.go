// The waiter that stands in a local line, whose front alone contends at the server.

package wait

import (
	"context"
	"fmt"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// queued is a client of -wait queue. It is both session and waiter, because a release has to know who is in line. Of
// all clients of a room, one at a time contends for a key, like a pubsub waiter; the others do not load the server.
// They are served in order of arrival. Clients of other rooms get their turn when the lock is really released. They race
// for it, except that under -handover swap the room goes first that has waited for the most turns (see asks).
//
// A Try while a client of the same room holds or contends for the key is refused here. Nothing announces the end of a
// lease, so the next client in line watches the holder's lease and contends once it is over.
//
// A lock that is passed to a waiter (see handover.go) is held when Wait returns, and the next Try confirms it. A waiter
// that was claimed before its deadline learns only afterwards whether it got the lock. If it did, that is a grant, as
// with a Try whose answer comes late; if it leaves nevertheless, Leave releases the lock.
type queued struct {
	drivers.Session
	sub        subscriber // waits at the server
	lines      *lines
	passer     drivers.Passer          // nil: release, and let the next client acquire
	counter    drivers.ListenerCounter // nil: it is not known how many processes take turns
	max        int                     // hand-overs in a row
	localOwner string                  // the Owner of tries that the server has not seen
	expires    bool
	reentrant  bool

	// The client's own while it is idle, contends or holds; guarded by the shard's mutex while it stands in line.
	state    state
	shard    *shard
	line     *line
	key      string
	lease    *drivers.Lease
	deadline time.Duration // of the lease; never if it has none
	until    time.Duration // when it looks by itself
	woken    chan struct{} // one slot

	prev, next *queued // in line; guarded by the shard's mutex

	sleeper sleeper
	sent    time.Duration // when the last Try began
	local   bool          // the last Try was answered here
	heir    *queued       // the client that the lock is being passed to; nil if it is being released
	last    bool          // the release under way is the last one
	first   bool          // the last Try was made from the front and was refused: no client was before it
	fresh   bool          // it contends, and has not called Wait yet
	yields  bool          // its turn came after too many hand-overs in a row; guarded by the shard's mutex
	depth   int           // repeated acquisitions of the lock that it holds
}

type state uint8

const (
	idle       state = iota
	contending       // at the front, asks the server
	holding          // at the front, unless its lease ran out
	standing         // in line
	claimed          // out of the line, a request to pass it the lock is under way
	granted          // the lock was passed to it; the next Try says so
)

// Unwrap finds the session's other capabilities.
func (q *queued) Unwrap() drivers.Session { return q.Session }

// Lined is the session of a client that stands in a local line (Queue), for a harness that sends its requests by other means than
// its methods: in a batch, with the session that Unwrap returns. The harness calls a method before, and one after the answer.
type Lined interface {
	Unwrap() drivers.Session

	// Passed reports whether the last Wait ended because the lock was passed to the client, which then holds it whatever the
	// time. The next Try confirms it.
	Passed() bool

	// BeginTry answers a Try if the server need not be asked. Otherwise EndTry has to follow.
	BeginTry(l *drivers.Lease) (held, asks bool)
	EndTry(l *drivers.Lease, held bool, err error)

	// BeginRelease returns the lease that the lock is to be passed to, by a drivers.Passer, in place of its release; nil if there
	// is none. EndRelease follows in any case.
	BeginRelease(l *drivers.Lease) (to *drivers.Lease)
	EndRelease(ctx context.Context, l *drivers.Lease, owned bool, err error)
}

// Passed implements Lined.
func (q *queued) Passed() bool { return q.state == granted }

func (q *queued) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	held, asks := q.BeginTry(l)
	if !asks {
		return held, nil
	}
	held, err := q.Session.Try(ctx, l)
	q.EndTry(l, held, err)
	return held, err
}

// BeginTry implements Lined.
func (q *queued) BeginTry(l *drivers.Lease) (held, asks bool) {
	if q.state == granted {
		q.state = holding
		return true, false
	}
	q.local = !q.enter(l)
	return false, !q.local
}

// enter reports whether to ask the server: not if another client of this room holds or contends for the key.
//
//go:noinline
func (q *queued) enter(l *drivers.Lease) bool {
	q.sent = q.lines.clock.Now()
	if q.state != idle {
		return true
	}
	s := q.lines.shard(l.Key)
	s.mu.Lock()
	defer s.mu.Unlock()
	ln := s.lines[l.Key]
	if ln == nil {
		ln = s.line(l.Key)
	} else if !ln.vacant(q.sent) {
		l.Reset()
		l.Owner = q.localOwner
		q.first = false
		return false
	}
	ln.turn(q)
	q.shard, q.fresh = s, true
	return true
}

// EndTry implements Lined. A first try that was refused gives up the place at the front, because a Wait need not follow; if it
// does, it goes back to the head of the line.
//
//go:noinline
func (q *queued) EndTry(l *drivers.Lease, held bool, err error) {
	held = held && err == nil
	if q.state == holding {
		q.again(l, held)
		return
	}
	q.shard.mu.Lock()
	defer q.shard.mu.Unlock()
	switch {
	case held:
		q.state, q.depth = holding, 0
		q.line.hold(q.ends(l))
	case err != nil || q.fresh:
		q.first = err == nil
		q.shard.advance(q.line)
		q.state, q.line = idle, nil
	}
}

// again handles a Try by a client that already holds a lock: this one, or another one, which then has no line.
func (q *queued) again(l *drivers.Lease, held bool) {
	switch {
	case !held || l.Key != q.key:
	case q.reentrant:
		q.depth++
	default: // the lease had run out, and this is a new one
		q.shard.mu.Lock()
		defer q.shard.mu.Unlock()
		if q.line.front == q {
			q.line.hold(q.ends(l))
		}
	}
}

// ends returns when the lease of a grant that was requested at q.sent runs out.
func (q *queued) ends(l *drivers.Lease) time.Duration {
	switch {
	case !q.expires:
		return never
	case !l.ValidUntil.IsZero():
		return q.lines.clock.Now() + time.Until(l.ValidUntil) + Grace
	}
	return q.sent + l.TTL + Grace
}

func (q *queued) Wait(ctx context.Context, l *drivers.Lease) error {
	switch q.state {
	case granted:
		return nil
	case holding, contending:
		q.fresh = false
		return q.contend(ctx, l)
	}
	if err := ctx.Err(); err != nil || left(l) <= 0 {
		return err
	}
	turn, err := q.join(l)
	if err != nil {
		return err
	}
	if turn { // it was refused just now, so it registers before it tries
		return q.sub.Wait(ctx, l)
	}
	for {
		_, err := q.sleeper.sleep(ctx, q.until-q.lines.clock.Now(), q.woken)
		if done, err := q.look(err); done {
			if q.yields && q.state == contending && err == nil {
				return q.yield(ctx, l)
			}
			return err
		}
	}
}

// yield lets the clients of other processes go first after the maximum of hand-overs in a row: it subscribes and asks
// how many they are before it tries, one round trip later than they do. Where leases do not end there is nothing to ask
// for, and a second Wait would sleep although the lock is free.
func (q *queued) yield(ctx context.Context, l *drivers.Lease) error {
	if why, err := q.sub.await(ctx, l); err != nil || why != confirmed || q.sub.lease == nil {
		return err
	}
	if q.counter == nil {
		return q.sub.Wait(ctx, l)
	}
	n, err := q.counter.Listeners(ctx, l)
	if err != nil {
		return fmt.Errorf("wait: queue: ask how many processes want the lock: %w", err)
	}
	if q.sub.hub.share(&q.sub, n); n <= 1 {
		return nil
	}
	return q.contend(ctx, l)
}

// contend waits at the server until it is worth trying. While it is the turn of other processes, that is not when a
// release is heard, but when the lock is still free a round trip later.
func (q *queued) contend(ctx context.Context, l *drivers.Lease) error {
	for {
		why, err := q.sub.await(ctx, l)
		if err != nil || why == timedOut || q.counter == nil || q.sub.lease == nil || !q.sub.hub.tooEarly(&q.sub) {
			return err
		}
	}
}

// join stands in line, or takes the turn if there is none.
func (q *queued) join(l *drivers.Lease) (turn bool, err error) {
	now := q.lines.clock.Now()
	q.lease, q.deadline = l, never
	if !l.Deadline.IsZero() {
		q.deadline = now + left(l)
	}
	s := q.lines.shard(l.Key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false, errClosed
	}
	ln := s.line(l.Key)
	q.shard, q.fresh = s, false
	if ln.vacant(now) {
		ln.turn(q)
		return true, nil
	}
	select {
	case <-q.woken: // left over
	default:
	}
	q.state, q.line, q.key, q.yields = standing, ln, l.Key, false
	if q.first {
		ln.prepend(q)
	} else {
		ln.append(q)
	}
	q.rest(now)
	return false, nil
}

// rest sets the time at which the client looks by itself: at the end of the holder's lease, though only the head acts
// on it then, and the others must not look again and again until it has; at its own deadline; and after MaxSleep at the
// latest.
func (q *queued) rest(now time.Duration) {
	q.until = min(q.deadline, now+MaxSleep)
	if q.line.head == q || q.line.end > now {
		q.until = min(q.until, q.line.end)
	}
}

// look finds out why a sleep ended, with err if ctx did, and whether the wait is over.
func (q *queued) look(err error) (done bool, _ error) {
	q.shard.mu.Lock()
	defer q.shard.mu.Unlock()
	for q.state == claimed {
		q.shard.mu.Unlock()
		<-q.woken // soon: the request that passes it the lock is bounded by the driver's I/O time-out
		q.shard.mu.Lock()
	}
	switch q.state {
	case granted:
		return true, nil
	case contending, idle: // its turn; or its deadline has passed
		return true, err
	}
	now := q.lines.clock.Now()
	switch {
	case q.shard.closed:
		err = errClosed
	case err != nil || now >= q.deadline:
	case q.line.head == q && q.line.over(now): // the holder is dead
		q.line.remove(q)
		q.line.turn(q)
		return true, nil
	default:
		q.rest(now)
		return false, nil
	}
	q.line.remove(q)
	q.line.watch()
	q.state, q.line = idle, nil
	return true, err
}

func (q *queued) wake() {
	select {
	case q.woken <- struct{}{}:
	default:
	}
}

func (q *queued) Leave(ctx context.Context, l *drivers.Lease) error {
	err := q.sub.Leave(ctx, l)
	q.first = false
	switch q.state {
	case contending:
		q.shard.mu.Lock()
		defer q.shard.mu.Unlock()
		q.shard.advance(q.line)
		q.state, q.line = idle, nil
	case granted:
		if _, err := q.Release(ctx, l); err != nil {
			return fmt.Errorf("wait: queue: give back what was passed to a client that had left: %w", err)
		}
	}
	return err
}

// Crash implements drivers.Crasher: the client is gone, and what it held stays held at the server. Like any other
// process, this one is not told when that ends; so the next client in line contends, and finds out like any waiter at
// the server. Crash passes nothing on.
func (q *queued) Crash() {
	if q.sub.topic != nil {
		q.sub.hub.leave(&q.sub)
	}
	switch q.state {
	case contending, holding, granted:
		q.shard.mu.Lock()
		if q.line.front == q { // otherwise its lease has run out, and its place was taken
			q.shard.advance(q.line)
		}
		q.shard.mu.Unlock()
	}
	q.state, q.line = idle, nil
	if inner, ok := drivers.As[drivers.Crasher](q.Session); ok {
		inner.Crash()
	}
}
