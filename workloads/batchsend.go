// What the workers of batches write and hear, and when.

package workloads

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results"
)

// maxBatch is how many requests go into one write at most. The server answers the first of them while the last are on their
// way; with more, each client waits longer and nothing is gained.
const maxBatch = 256

// delays are requests of clients of a class that were ready at the same time, and whose own time began at the same time. Most of a
// write are alike, so that it is cheap to record them.
type delays struct {
	class        *class
	ready, began time.Duration
	requests     int64
	first        int64 // of those, the ones that begin acquisitions
	holds        int64 // and those that end holds, in the window, that were to take no time

	acquiring time.Duration // by which acquisitions were late, in the window and all together
}

// send sends requests, and goes on with the clients that have their answers.
func (w *worker) send() {
	w.asking, w.asked = w.asked[:0], w.asking
	w.wrote = 0
	for some := range slices.Chunk(w.asked, maxBatch) {
		w.sent = w.e.clock.Now()
		w.wrote = cmp.Or(w.wrote, w.sent)
		requests := w.requests[:len(some)]
		for i, v := range some {
			if v.stage != trying {
				w.beforeWrite(v)
			}
			v.request(&requests[i])
		}
		w.returnShard()
		w.batch.Do(context.Background(), requests)
		now := w.e.clock.Now()
		for i, v := range some {
			w.answer(v, now, requests[i].Yes, requests[i].Err)
		}
		w.heard = now
	}
}

// request fills in the one whose answer the client waits for in its stage. In place: to return it and to copy it took a fifth of
// the null cycle.
func (v *virtualClient) request(r *drivers.Request) {
	r.Session, r.Op, r.Lease, r.To = v.session, drivers.OpRelease, &v.lease, nil
	if v.line != nil {
		if r.Session, r.To = v.line.Unwrap(), v.line.to; r.To != nil {
			r.Op = drivers.OpPass
		}
	}
	switch v.stage {
	case trying, reentering:
		r.Op = drivers.OpTry
	case renewing:
		r.Op = drivers.OpRenew
	}
}

// beforeWrite records that a request which is no try is handed to the write. A try is recorded when it has its answer, by tryBegan.
func (w *worker) beforeWrite(v *virtualClient) {
	w.delayed(v, w.sent)
	switch v.stage {
	case releasing:
		if v.sent = w.sent; v.recorded && !v.class.timedHold {
			w.late.holds++
		}
		v.leave()
	case renewing, reentering:
		v.since = w.sent
	}
}

// answer goes on with a client whose request has been answered.
func (w *worker) answer(v *virtualClient, now time.Duration, yes bool, err error) {
	if v.line != nil {
		v.tellLine(yes, err)
	}
	switch v.stage {
	case trying:
		w.tryBegan(v, now)
		w.tried(v, now, yes, err)
	case releasing:
		v.settle(w.shardOf(v.class), yes, err, now)
		if err != nil {
			w.pause(v, now, v.sent, thinking)
		} else {
			w.think(v, now)
		}
	case renewing:
		w.renewed(v, now, yes, err)
	case undoing:
		v.undone(err)
		w.failed(v, now)
	case reentering:
		w.reentered(v, now, yes, err)
	case unwinding:
		if v.inner.granted--; !v.reentryReleased(yes, err) {
			v.inner.granted = 0
		}
		w.unwind(v, now)
	case flushing:
		v.flushed(err)
		v.counters.failing += w.e.inside(v.since, now)
		w.think(v, now)
	}
}

// tryBegan records when a try began that has been answered.
func (w *worker) tryBegan(v *virtualClient, now time.Duration) {
	began := min(w.sent, now-max(0, w.heard-v.since)) // see the comment at the top
	w.delayed(v, began)
	if v.firstTry() {
		w.late.first++
		v.start, v.asked = began, w.sent
	} else if v.tries.Asked > 0 {
		v.tries.Asked = w.sent
	}
}

// tellLine tells the local line of an answer.
func (v *virtualClient) tellLine(yes bool, err error) {
	switch v.stage {
	case trying, reentering:
		v.line.EndTry(&v.lease, yes, err)
	case releasing, undoing, unwinding, flushing:
		v.line.to = nil
		v.line.EndRelease(context.Background(), &v.lease, yes, err)
	}
}

// delayed counts a request that was ready before its own time began.
func (w *worker) delayed(v *virtualClient, began time.Duration) {
	if l := &w.late; l.began != began || l.ready != v.since || l.class != v.class {
		w.delayedApart(v, began)
	}
	w.late.requests++
}

// delayedApart begins to count requests that are not like those before.
func (w *worker) delayedApart(v *virtualClient, began time.Duration) {
	w.recordDelays()
	w.late.class, w.late.ready, w.late.began = v.class, v.since, began
}

// recordDelays records the delays that have been counted.
func (w *worker) recordDelays() {
	e, l := w.e, &w.late
	if l.requests == 0 {
		return
	}
	late, shard := l.began-l.ready, w.shardOf(l.class)
	if l.began >= e.from && l.began < e.until() {
		shard.RecordN(results.WorkerIndex, late, l.requests)
	}
	if l.holds > 0 {
		shard.RecordN(results.HoldIndex, late, l.holds)
	}
	l.acquiring += time.Duration(l.first) * e.inside(l.ready, l.began)
	l.requests, l.first, l.holds = 0, 0, 0
}

// shardOf returns one to record to at once. It is borrowed until the next write, so that not every client does that.
func (w *worker) shardOf(cl *class) *results.Shard {
	if w.class != cl {
		w.returnShard()
		w.class, w.shard = cl, cl.recorder.Borrow()
	}
	return w.shard
}

// returnShard returns what was borrowed, before the worker waits.
func (w *worker) returnShard() {
	if w.class != nil {
		w.class.recorder.Return(w.shard)
		w.class = nil
	}
}
