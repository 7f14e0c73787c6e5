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
// A lock that is passed to a waiter (see line.go) is held when Wait returns, and the next Try confirms it. A waiter
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

	state     state // while it is standing or claimed, others change it under the shard's mutex
	woken     slot  // they have, or it has to look
	sleeper   sleeper
	depth     int           // repeated acquisitions of the lock that it holds
	sent      time.Duration // when the last Try began, or the request that passed it the lock
	successor *queued       // the client that its lock is being passed to, nil if it is being released; stale unless releasing
	shard     *shard        // of the key
	key       string        // of its line; stale when idle or refused

	// The shard's mutex guards these.
	line     *line          // at whose front or in which it is; nil if in none, or if its lease ran out and its place was taken
	link     link           // in that line; stale unless standing
	lease    *drivers.Lease // of its Wait; stale unless standing or claimed, like the next two
	deadline time.Duration  // of the lease; never if it has none
	until    time.Duration  // when it looks by itself
}

// state is where a client stands.
type state uint8

const (
	none       state = iota
	idle             // wants nothing, or its last Try was refused here
	refused          // was refused by the server at its first Try, and has given up the front for that
	trying           // at the front, its first Try is under way
	standing         // in line
	claimed          // out of the line, a request to pass it the lock is under way
	yielding         // at the front after the most hand-overs, which it has not seen yet
	contending       // at the front, asks the server
	granted          // like holding: the lock was passed to it, and the next Try says so
	holding          // at the front, unless its lease ran out and its place was taken
	releasing        // like holding: its last release is under way
)

// event is what changes the state of a client. Other clients cause yield, claim and pass, and any event in line.
type event uint8

const (
	try     event = iota // its first Try begins, at the front
	refuse               // the server refuses that
	join                 // it goes into the line
	turn                 // it gets the front
	yield                // it gets the front after the most hand-overs in a row
	claim                // it is the one to pass the lock to
	pass                 // the lock was passed to it
	grant                // a Try is granted
	release              // its last release begins
	quit                 // it gives up, has released, or is dead
	events
)

// after has the state that follows each state at each event. What it leaves out does not happen.
var after = [...][events]state{
	idle:       {try: trying, join: standing, turn: contending, quit: idle},
	refused:    {try: trying, join: standing, turn: contending, quit: idle},
	trying:     {grant: holding, refuse: refused, quit: idle},
	standing:   {turn: contending, yield: yielding, claim: claimed, quit: idle},
	claimed:    {pass: granted, turn: contending, join: standing},
	yielding:   {turn: contending},
	contending: {grant: holding, quit: idle},
	granted:    {grant: holding, release: releasing, quit: idle},
	holding:    {grant: holding, release: releasing, quit: idle},
	releasing:  {quit: idle},
}

// on changes the state.
func (q *queued) on(e event) {
	next := after[q.state][e]
	if next == none {
		panic(fmt.Sprintf("wait: queue: event %d in state %d", e, q.state))
	}
	q.state = next
}

// Unwrap finds the session's other capabilities.
func (q *queued) Unwrap() drivers.Session { return q.Session }

// LineSession is the session of a client that stands in a local line (Queue), for a harness that sends its requests by other means than
// its methods: in a batch, with the session that Unwrap returns. The harness calls a method before, and one after the answer.
type LineSession interface {
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

// Passed implements LineSession.
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

// BeginTry implements LineSession.
func (q *queued) BeginTry(l *drivers.Lease) (held, asks bool) {
	if q.state == granted {
		q.on(grant)
		return true, false
	}
	return false, q.enter(l)
}

// enter reports whether to ask the server: not if another client of this room holds or contends for the key.
//
//go:noinline
func (q *queued) enter(l *drivers.Lease) bool {
	q.sent = q.lines.clock.Now()
	if q.state != idle && q.state != refused {
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
		q.on(quit)
		return false
	}
	q.shard = s
	ln.take(q, try)
	return true
}

// EndTry implements LineSession. A first try that was refused gives up the place at the front, because a Wait need not follow; if it
// does, it goes back to the head of the line.
//
//go:noinline
func (q *queued) EndTry(l *drivers.Lease, held bool, err error) {
	held = held && err == nil
	switch {
	case q.state == holding && (!held || l.Key != q.key): // it goes on holding; a lock beside it has no line
	case q.state == holding && q.reentrant:
		q.depth++
	case held: // of a holder: its lease had run out, and this is a new one
		q.shard.mu.Lock()
		defer q.shard.mu.Unlock()
		q.on(grant)
		if q.line != nil {
			q.line.hold(q.ends(l))
		}
	case err != nil:
		q.depart(quit)
	case q.state == trying:
		q.depart(refuse)
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

// depart gives up the client's place at the front, if it has one.
func (q *queued) depart(e event) {
	q.shard.mu.Lock()
	defer q.shard.mu.Unlock()
	if q.line != nil {
		q.shard.advance(q.line)
		q.line = nil
	}
	q.on(e)
	q.depth = 0
}

func (q *queued) Wait(ctx context.Context, l *drivers.Lease) error {
	switch q.state {
	case granted:
		return nil
	case holding, contending:
		return q.contend(ctx, l)
	}
	if err := ctx.Err(); err != nil || left(l) <= 0 {
		return err
	}
	if front, err := q.join(l); err != nil {
		return err
	} else if front { // it was refused just now, so it registers before it tries
		return q.sub.Wait(ctx, l)
	}
	for {
		_, err := q.sleeper.sleep(ctx, q.until-q.lines.clock.Now(), q.woken)
		switch found, err := q.look(err); {
		case found == yielding && err == nil:
			return q.yield(ctx, l)
		case found != standing:
			return err
		}
	}
}

// yield lets the clients of other processes go first after the maximum of hand-overs in a row: it subscribes and asks
// how many they are before it tries, one round trip later than they do. Where leases do not end there is nothing to ask
// for, and a second wait would sleep although the lock is free.
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

// join stands in line, or takes the front if that is vacant.
func (q *queued) join(l *drivers.Lease) (front bool, err error) {
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
	q.shard = s
	if ln.vacant(now) {
		ln.take(q, turn)
		return true, nil
	}
	q.woken.drain()
	ln.stand(q, q.state == refused)
	q.rest(now)
	return false, nil
}

// rest sets the time at which the client looks by itself: at the end of the holder's lease, though only the head acts
// on it then, and the others must not look again and again until it has; at its own deadline; and after MaxSleep at the
// latest.
func (q *queued) rest(now time.Duration) {
	q.until = min(q.deadline, now+MaxSleep)
	if q.line.head() == q || q.line.end > now {
		q.until = min(q.until, q.line.end)
	}
}

// look finds out why a sleep ended, with err if ctx did, and returns the state that it has found: standing, if the sleep
// is to go on.
func (q *queued) look(err error) (found state, _ error) {
	q.shard.mu.Lock()
	defer q.shard.mu.Unlock()
	for q.state == claimed {
		q.shard.mu.Unlock()
		<-q.woken // soon: the request that passes it the lock is bounded by the driver's I/O time-out
		q.shard.mu.Lock()
	}
	now := q.lines.clock.Now()
	ln := q.line
	switch {
	case q.state == granted:
		return granted, nil
	case q.state == yielding:
		q.on(turn)
		return yielding, err
	case q.state != standing: // its turn; or its deadline has passed
		return q.state, err
	case q.shard.closed:
		err = errClosed
	case err != nil || now >= q.deadline:
	case ln.head() == q && ln.over(now): // the holder is dead
		q.link.remove()
		ln.take(q, turn)
		return contending, nil
	default:
		q.rest(now)
		return standing, nil
	}
	q.link.remove()
	q.on(quit)
	ln.watch()
	return idle, err
}

func (q *queued) Leave(ctx context.Context, l *drivers.Lease) error {
	err := q.sub.Leave(ctx, l)
	switch q.state {
	case refused, contending:
		q.depart(quit)
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
	if q.state != idle {
		q.depart(quit)
	}
	if inner, ok := drivers.As[drivers.Crasher](q.Session); ok {
		inner.Crash()
	}
}
