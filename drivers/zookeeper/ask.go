// Requests that end when they have to, which the library's own do not.
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
	last   entry         // the last request that was made
	busy   chan struct{} // closed when the library is done with it; nil before the first
}

// result is what a request has answered.
type result[T any] struct {
	value T
	err   error
}

// ask makes a request. It returns when that is answered, after the endpoint's time limit, or when ctx is done,
// whatever comes first; the caller's next one is made after the library is done with this one, so that it finds what
// this one has done. within, unless 0, is the session that the request is meant for: in another one it is not made.
func ask[T any](ctx context.Context, k *caller, within int64, request func(*zk.Conn) (T, error)) (T, error) {
	var none T
	if err := ctx.Err(); err != nil {
		return none, err
	}
	k.start()
	defer k.timer.Stop()
	if err := k.settle(ctx); err != nil {
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

// settle waits until the library is done with the last request, which may have been given up.
func (k *caller) settle(ctx context.Context) error {
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
