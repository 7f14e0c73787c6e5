// How the holder of a queued lock gives it to the next: by a release, or by passing it on at the server.

package wait

import (
	"context"

	"github.com/lockbench/lockbench/drivers"
)

// Release gives the lock up. If somebody stands in line and the hand-over is a swap, the lock goes straight to him, but
// not too often in a row, since clients of other processes get no turn meanwhile.
func (q *queued) Release(ctx context.Context, l *drivers.Lease) (bool, error) {
	if !q.holds(l) {
		return q.Session.Release(ctx, l)
	}
	next := q.claim()
	if next == nil {
		owned, err := q.Session.Release(ctx, l)
		q.released()
		return owned, err
	}
	owned, err := q.passer.Pass(ctx, l, next.lease)
	if err != nil {
		q.failed(ctx, l, next)
		return false, err
	}
	q.passed(next, owned)
	return owned, nil
}

// holds tells whether l is the lock that it has from its line, for the last time if it was acquired repeatedly.
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

// claim is who gets the lock passed, nil if it is to be released. A holder whose lease has run out and whose place
// was taken passes nothing.
//
//go:noinline
func (q *queued) claim() *queued {
	if q.passer == nil {
		return nil
	}
	now := q.lines.clock.Now()
	q.shard.mu.Lock()
	defer q.shard.mu.Unlock()
	if q.line.front != q || q.line.passes >= q.max {
		return nil
	}
	next := q.line.claim(now)
	if next != nil {
		next.sent = now
	}
	return next
}

// released gives the turn to the next, who acquires the lock as a pubsub waiter does: not before the release was
// answered, and so not before others have heard of it.
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

// passed notes that the lock is the next one's, or that it had been lost before: then he has to contend for it.
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
		if front { // else somebody took its place because its lease seemed over
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

// back puts a client to the head of the line again, which may be another line by now. The caller has the lock.
func (q *queued) back() {
	ln := q.shard.line(q.key)
	if ln.front == nil {
		ln.turn(q)
		return
	}
	q.state, q.line = standing, ln
	ln.prepend(q)
}

// failed is the rare end of a Pass whose answer was not heard: the lock may be this client's still, or the next one's,
// or lost. He must not believe that he has it. Both owners are released, best effort, while he contends.
func (q *queued) failed(ctx context.Context, l *drivers.Lease, next *queued) {
	lost := *next.lease // he sets his own from now on
	q.passed(next, false)
	if ctx.Err() != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
		defer cancel()
	}
	q.Session.Release(ctx, l)
	q.Session.Release(ctx, &lost)
}
