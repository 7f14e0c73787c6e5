// Requests with time limits, which the library's own do not have.
package zookeeper

import (
	"context"
	"time"

	"github.com/go-zookeeper/zk"
)

// caller makes one request at a time. Several callers may share a conn.
type caller struct {
	c      *conn
	counts *counts
	timer  *time.Timer
	last   entry         // the last request
	busy   chan struct{} // closed when the library is done with it; nil before the first
}

// result is the result of a request.
type result[T any] struct {
	value T
	err   error
}

// ask makes a request. It returns when that is answered, after the endpoint's time limit, or when ctx is done,
// whichever comes first. The caller's next request waits until the library is done with this one, so that it sees its
// effect. within, unless 0, is the session for the request: it is not made in another one.
func ask[T any](ctx context.Context, k *caller, within int64, request func(*zk.Conn) (T, error)) (T, error) {
	var none T
	if err := ctx.Err(); err != nil {
		return none, err
	}
	k.start()
	defer k.timer.Stop()
	if err := k.waitIdle(ctx); err != nil {
		return none, err
	}
	e, err := k.c.await(ctx, k.timer, within)
	if err != nil {
		return none, err
	}
	k.last, k.busy = e, make(chan struct{})
	k.counts.roundTrips.Add(1)
	r, done := &result[T]{}, k.busy
	go func() {
		r.value, r.err = request(k.c.zk)
		k.c.done(e)
		close(done)
	}()
	select {
	case <-done:
		return r.value, r.err
	case <-k.timer.C:
		k.c.cut(e.generation)
		return none, errNoReply
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

func (k *caller) start() {
	if k.timer == nil {
		k.timer = time.NewTimer(k.c.to.io)
	} else {
		k.timer.Reset(k.c.to.io)
	}
}

// waitIdle waits until the library is done with the last request, which may have been given up.
func (k *caller) waitIdle(ctx context.Context) error {
	if k.busy == nil {
		return nil
	}
	select {
	case <-k.busy:
		return nil
	default:
	}
	select {
	case <-k.busy:
		return nil
	case <-k.timer.C:
		k.c.cut(k.last.generation)
		return errEarlier
	case <-ctx.Done():
		return ctx.Err()
	}
}
