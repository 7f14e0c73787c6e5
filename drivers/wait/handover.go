// How the holder of a queued lock gives it to the next client: by a release, or by passing it on at the server.

package wait

import (
	"context"

	"github.com/lockbench/lockbench/drivers"
)

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
