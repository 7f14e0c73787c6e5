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
		owned, err = q.passer.Pass(ctx, l, to)
	} else {
		owned, err = q.Session.Release(ctx, l)
	}
	q.EndRelease(ctx, l, owned, err)
	return owned && err == nil, err
}

// BeginRelease implements Lined.
func (q *queued) BeginRelease(l *drivers.Lease) (to *drivers.Lease) {
	q.heir = nil
	if q.last = q.holds(l); q.last {
		q.heir = q.claim()
	}
	if q.heir == nil {
		return nil
	}
	return q.heir.lease
}

// EndRelease implements Lined.
func (q *queued) EndRelease(ctx context.Context, l *drivers.Lease, owned bool, err error) {
	switch next := q.heir; {
	case !q.last:
	case next == nil:
		q.released()
	case err != nil:
		q.failed(ctx, l, next)
	default:
		q.passed(next, owned)
	}
}

// holds reports whether l is a lock that it got through its line, and this is the last of its releases.
func (q *queued) holds(l *drivers.Lease) bool {
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
	if q.line.front != q {
		return nil
	}
	if q.line.passes < q.max {
		if next := q.line.next(); next != nil {
			next.state, next.sent = claimed, q.lines.clock.Now()
			return next
		}
	}
	if q.line.passes > 0 {
		q.sub.hub.endTurn(q.key) // before the release is sent: its message counts
	}
	return nil
}

// released gives the turn to the next client, which acquires the lock like a pubsub waiter: only once the release is
// answered, so not before other processes hear of it.
//
//go:noinline
func (q *queued) released() {
	q.shard.mu.Lock()
	defer q.shard.mu.Unlock()
	if q.line.front == q {
		q.shard.advance(q.line)
	}
	q.state, q.line = idle, nil
}

// passed records that the lock is the next client's, or that it was lost before; then the next client has to contend
// for it.
//
//go:noinline
func (q *queued) passed(next *queued, owned bool) {
	q.shard.mu.Lock()
	defer q.shard.mu.Unlock()
	ln := q.line
	front := ln.front == q
	switch {
	case owned:
		next.state, next.depth = granted, 0
		if front { // otherwise another client took its place because its lease seemed over
			ln.front = next
			ln.passes++
			ln.hold(next.ends(next.lease))
		}
	case front:
		ln.turn(next)
	default:
		next.back()
	}
	q.state, q.line = idle, nil
	next.wake()
}

// back returns a client to the head of its line, which may be a new line by now. The caller holds the mutex.
func (q *queued) back() {
	ln := q.shard.line(q.key)
	if ln.front == nil {
		ln.turn(q)
		return
	}
	q.state, q.line = standing, ln
	ln.prepend(q)
}

// failed handles a Pass without an answer, which is rare: this client may still have the lock, or the next one, or
// neither. The next one must not believe that it has it. Both owners are released, best effort, while it contends.
func (q *queued) failed(ctx context.Context, l *drivers.Lease, next *queued) {
	lost := *next.lease // the next client sets its own from now on
	q.passed(next, false)
	if ctx.Err() != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
		defer cancel()
	}
	q.Session.Release(ctx, l)
	q.Session.Release(ctx, &lost)
}
