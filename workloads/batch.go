// The batch loop (-pipelining batch): two workers a core carry many clients each through the same stages as the client loop, and
// send the requests that are ready in one write. A client is a few words here and no goroutine, so that what limits the load is
// the server, and not stacks and wake-ups.
//
// What the lock sees happens when a request is handed to the write. So a hold ends there, for the oracle as well, and a release, a
// renewal and a re-entry begin there. What a client does by itself happens when it is due: the end of a pause or of a wait, an
// arrival. If the worker sees that late because it waited for answers, the client was ready when it was due.
//
// An acquisition that was ready while the worker waited for answers would have been sent at once by a goroutine, and have had its
// answer behind those that the worker waited for, but not sooner than a request takes. So what counts as its time is the longer of
// the two: from when it was ready until those answers came, as when the server stalls, or from its write to its own answer.
//
// The rest, from when a request was ready to where its time begins, is the worker's: metric worker. It belongs to lockbench.
//
// A client that waits to be woken (-wait pubsub and queue) has a goroutine for as long as it sleeps.

package workloads

import (
	"cmp"
	"container/heap"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/alarm"
	"github.com/lockbench/lockbench/drivers/renew"
	"github.com/lockbench/lockbench/drivers/wait"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/workloads/matrix"
)

// maxBatch is how many requests go into one write at most. The server answers the first of them while the last are on their
// way; with more, each client waits longer and nothing is gained.
const maxBatch = 256

// worker carries some of the clients of a trial.
type worker struct {
	e       *engine
	batch   drivers.Batch
	clients []virtual
	running int           // clients whose loop has not ended
	now     time.Duration // when what it handles has happened to the client: the answer, or what was due

	wrote time.Duration // when it has last begun to send all that was ready, in one write or several
	sent  time.Duration // just before the last write
	heard time.Duration // when the answers to the write before that one came
	late  delays
	class *class         // that shard is of
	shard *results.Shard // borrowed until the next write; nil if none is

	asking   []*virtual // whose requests are sent next
	asked    []*virtual // whose were sent before
	requests [maxBatch]drivers.Request

	refused  []*virtual // by the local line, without a request
	sleeping sleepers
	timer    alarm.Timer
	waiting  int // clients in a Wait

	bell  chan struct{} // one slot: some are awake
	mu    sync.Mutex
	awake []*virtual // clients whose Wait has returned, or that arrivals have come to; guarded by mu
	woken []*virtual // those before
}

// virtual is a client that a worker carries.
type virtual struct {
	*client
	worker *worker
	stage  stage
	after  stage // a pause: what comes then
	ends   holdEnd
	since  time.Duration // when a pause, a rest or a renewal began, or when what failed before it did
	wake   time.Duration // when its sleep ends, or its Wait has returned
	tries  wait.Attempt
	cause  error    // of an acquisition that is undone, or of a Wait
	line   *lined   // nil: it stands in no local line
	over   bool     // no arrival will come
	hold   *renewed // the present hold, if it is renewed; nil if no hold is
	inner  *inner   // the re-entries of the present hold; nil without any
}

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

// inner are re-entries.
type inner struct {
	granted int           // and not released
	before  drivers.Lease // that before the one under way
}

// lined is a client in a local line.
type lined struct {
	wait.Lined
	to *drivers.Lease // that its lock is being passed to; nil if it is being released
}

// renewed is a hold that is renewed.
type renewed struct {
	renew.Term
	until  time.Duration // its end; 0 if this one is not renewed
	before time.Time     // the ValidUntil of the lease before the renewal under way
}

// stage is what a client waits for.
type stage uint8

const (
	trying     stage = iota // an answer
	releasing               // an answer
	undoing                 // the answer to the release after an attempt of unknown outcome
	reentering              // an answer
	goingOut                // the answer to the release of a re-entry
	flushing                // the answer to a pending release
	retrying                // the time to try again
	awaiting                // the end of its Wait
	holding                 // the end of a hold, or the time to renew it
	renewing                // an answer
	sampling                // the end of what a hold was made longer by
	pausing                 // the end of a pause after an error
	thinking                // the end of a think pause
	beginning               // an arrival
)

// openBatches makes the workers, and deals out the clients.
func (e *engine) openBatches(ctx context.Context) error {
	b, ok := drivers.As[drivers.Batcher](e.run.Service)
	if !ok {
		return matrix.Unbatched(&e.run.Plan, errors.New("its requests cannot be sent in batches"))
	}
	n := min(matrix.Batches(&e.run.Plan), len(e.clients))
	for i := range n {
		batch, err := b.Batch(ctx)
		if err != nil {
			return matrix.Unbatched(&e.run.Plan, err)
		}
		e.workers = append(e.workers, newWorker(e, batch, i, n))
	}
	return nil
}

// ring wakes the worker if it sleeps.
func (w *worker) ring() {
	select {
	case w.bell <- struct{}{}:
	default:
	}
}

// newWorker returns one that carries every n-th client from first on: each has clients of every class.
func newWorker(e *engine, batch drivers.Batch, first, n int) *worker {
	w := &worker{e: e, batch: batch, bell: make(chan struct{}, 1)}
	w.clients = make([]virtual, 0, (len(e.clients)-first+n-1)/n)
	for id := first; id < len(e.clients); id += n {
		w.clients = append(w.clients, virtual{client: &e.clients[id], worker: w})
		w.clients[len(w.clients)-1].equip()
	}
	w.running = len(w.clients)
	return w
}

// equip prepares a client for its session.
func (v *virtual) equip() {
	if line, ok := v.session.(wait.Lined); ok {
		v.line = &lined{Lined: line}
	}
	if v.e.run.Plan.Renew {
		v.hold = new(renewed)
	}
	if v.e.run.Plan.Reentry > 1 {
		v.inner = new(inner)
	}
}

// loop carries the clients until the window closes.
func (w *worker) loop() {
	defer w.over()
	<-w.e.start
	w.now = w.e.clock.Now()
	for i := range w.clients {
		v := &w.clients[i]
		v.joined, v.wants = w.now, w.now
		w.begin(v)
	}
	for w.running > 0 {
		w.gather()
		switch {
		case len(w.asking) > 0:
			w.send()
		case len(w.refused) == 0 && w.running > 0:
			w.rest()
		}
	}
}

// gather goes on with all clients that can.
func (w *worker) gather() {
	w.now = w.e.clock.Now()
	w.refuse()
	w.expire()
	w.wakeUp()
}

// rest sleeps until a client wakes up, or an arrival comes.
func (w *worker) rest() {
	d := time.Hour
	if len(w.sleeping) > 0 {
		d = w.sleeping[0].wake - w.now
	}
	stop := w.e.stop
	if w.waiting > 0 && len(w.sleeping) == 0 && w.e.stopping.Err() != nil {
		stop = nil // it has rung, and a request of a Wait may take its time
	}
	w.returnShard()
	w.timer.Sleep(d, stop, w.bell)
}

// at returns when a client went on that was to do so at a time that has passed: then, if the worker waited for answers, or else now.
func (w *worker) at(due, now time.Duration) time.Duration {
	if due < w.heard {
		return max(due, w.wrote)
	}
	return now
}

// refuse goes on with the clients that their local line has refused.
func (w *worker) refuse() {
	refused := w.refused
	w.refused = nil
	for _, v := range refused {
		first := v.firstTry()
		v.tries.Local++
		w.goOn(v, first, nil)
	}
}

// takeUp lets a client serve arrivals: one that had to wait, or else the next one, which Arrive tells of.
func (w *worker) takeUp(v *virtual) {
	for {
		v.stage, v.since = beginning, w.now
		due, come := v.class.queue.Park(v)
		if !come || w.serve(v, due, true) {
			return
		}
	}
}

// Arrive implements pace.Taker.
func (v *virtual) Arrive(due time.Duration, ok bool) {
	v.due, v.over = due, !ok
	v.worker.wakes(v)
}

// arrived goes on with a client that rested.
func (w *worker) arrived(v *virtual) {
	w.now = max(v.since, w.at(v.due, w.now)) // it may have begun to rest after that was due
	v.counters.idle += w.e.inside(v.since, w.now)
	switch {
	case v.over:
		w.end(v)
	case !w.serve(v, v.due, false):
		w.takeUp(v)
	}
}

// serve lets a client serve an arrival, unless the window has closed.
func (w *worker) serve(v *virtual, due time.Duration, waited bool) bool {
	if w.now >= w.e.until() {
		w.e.turnAway(v.class, due)
		return false
	}
	v.due, v.waited, v.wants, v.claimed = due, waited, due, due >= w.e.from
	v.tryOnly = v.class.TryOnly > 0 && v.unit() < v.class.TryOnly
	w.acquire(v)
	return true
}

// over ends the loop; see client.over.
func (w *worker) over() {
	if v := recover(); v != nil {
		w.e.crashed(drivers.Panicked(v))
	}
	w.recordDelays()
	w.returnShard()
	w.batch.Close()
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
				w.leaves(v)
			}
			v.request(&requests[i])
		}
		w.returnShard()
		w.batch.Do(context.Background(), requests)
		w.now = w.e.clock.Now()
		for i, v := range some {
			w.answer(v, requests[i].Yes, requests[i].Err)
		}
		w.heard = w.now
	}
}

// leaves records when a request goes that is no try. Those begin in began, when they have their answers.
func (w *worker) leaves(v *virtual) {
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

// delayed counts a request that was ready before its own time began.
func (w *worker) delayed(v *virtual, began time.Duration) {
	if l := &w.late; l.began != began || l.ready != v.since || l.class != v.class {
		w.delayedApart(v, began)
	}
	w.late.requests++
}

// delayedApart begins to count requests that are not like those before.
func (w *worker) delayedApart(v *virtual, began time.Duration) {
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

// ask sends a client's request next, the one that this stage waits for.
func (w *worker) ask(v *virtual, next stage) {
	v.stage, v.since = next, w.now
	w.asking = append(w.asking, v)
}

// request fills in the one whose answer the client waits for in its stage. In place: to return it and to copy it took a fifth of
// the null cycle.
func (v *virtual) request(r *drivers.Request) {
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

// answer goes on with a client whose request has been answered.
func (w *worker) answer(v *virtual, yes bool, err error) {
	if v.line != nil {
		v.tellLine(yes, err)
	}
	switch v.stage {
	case trying:
		w.began(v)
		w.tried(v, yes, err)
	case releasing:
		v.settle(w.shardOf(v.class), yes, err, w.now)
		if err != nil {
			w.pause(v, v.sent, thinking)
		} else {
			w.think(v)
		}
	case renewing:
		w.renewed(v, yes, err)
	case undoing:
		v.undone(v.cause, err)
		w.failed(v)
	case reentering:
		w.reentered(v, yes, err)
	case goingOut:
		if v.inner.granted--; !v.wentOut(yes, err) {
			v.inner.granted = 0
		}
		w.goOut(v)
	case flushing:
		v.flushed(err)
		v.counters.failing += w.e.inside(v.since, w.now)
		w.think(v)
	}
}

// began records when a try began that has been answered.
func (w *worker) began(v *virtual) {
	began := min(w.sent, w.now-max(0, w.heard-v.since)) // see the comment at the top
	w.delayed(v, began)
	if v.firstTry() {
		w.late.first++
		v.start, v.asked = began, w.sent
	} else if v.tries.Asked > 0 {
		v.tries.Asked = w.sent
	}
}

// begin begins a cycle, or lets the client rest until there is an arrival, unless its loop is over.
func (w *worker) begin(v *virtual) {
	e := w.e
	switch {
	case v.class.open:
		w.takeUp(v)
	case w.now >= e.until() || e.budget != nil && !v.claim(w.now):
		if v.wants < e.until() && e.budget == nil {
			v.counters.longest = max(v.counters.longest, e.until()-v.wants)
		}
		w.end(v)
	default:
		w.acquire(v)
	}
}

// end ends a client's loop.
func (w *worker) end(v *virtual) {
	v.left = w.now
	w.running--
}

// acquire begins an acquisition.
func (w *worker) acquire(v *virtual) {
	v.client.begin(w.now)
	v.tries = wait.Attempt{}
	w.try(v)
}

// try asks for the key, unless the local line has the answer.
func (w *worker) try(v *virtual) {
	if v.line == nil {
		w.ask(v, trying)
		return
	}
	switch held, asks := v.line.BeginTry(&v.lease); {
	case asks:
		w.ask(v, trying)
	case held:
		w.tried(v, true, nil)
	default: // later, because a client that does not wait would try again and again
		w.refused = append(w.refused, v)
	}
}

// release asks for the end of a hold, or of what may be one.
func (w *worker) release(v *virtual, next stage) {
	if v.line != nil {
		v.line.to = v.line.BeginRelease(&v.lease)
	}
	w.ask(v, next)
}

// tellLine tells the local line of an answer.
func (v *virtual) tellLine(yes bool, err error) {
	switch v.stage {
	case trying, reentering:
		v.line.EndTry(&v.lease, yes, err)
	case releasing, undoing, goingOut, flushing:
		v.line.to = nil
		v.line.EndRelease(context.Background(), &v.lease, yes, err)
	}
}

// tried goes on after a try.
func (w *worker) tried(v *virtual, held bool, err error) {
	first := v.firstTry()
	v.tries.Answer(held, err, v.client)
	w.goOn(v, first, err)
}

// firstTry reports whether the acquisition has had no try yet.
func (v *virtual) firstTry() bool { return v.tries.Tries+v.tries.Local == 0 }

// goOn goes on with an acquisition after a try that is counted.
func (w *worker) goOn(v *virtual, first bool, err error) {
	switch {
	case v.tries.Held && first:
		v.answered(w.now)
		w.hold(v)
		return
	case first:
		v.unclaim()
		v.contends(1)
	}
	if !v.tries.Held && err == nil && v.waits() && !v.late(w.now) {
		w.wait(v)
		return
	}
	w.acquired(v, err)
}

// waits reports whether the client waits for the lock in this cycle.
func (v *virtual) waits() bool { return v.currentWaiter() != nil }

// late reports whether the time-out of an acquisition has passed.
func (v *virtual) late(now time.Duration) bool {
	l := &v.lease
	return !l.Deadline.IsZero() && !v.e.clock.Time(now).Before(l.Deadline)
}

// wait lets a client wait until it tries again.
func (w *worker) wait(v *virtual) {
	if v.tries.Waits++; v.tries.Waits == 1 {
		v.tries.Began = w.now
	}
	if d, ok := v.waiter.(stoppable).Waiter.(wait.Delayer); ok {
		w.sleep(v, retrying, d.Delay(&v.lease))
		return
	}
	v.stage = awaiting
	w.waiting++
	go w.await(v)
}

// await waits, in a goroutine of the client's own.
func (w *worker) await(v *virtual) {
	defer func() {
		if p := recover(); p != nil {
			v.cause = drivers.Panicked(p)
			w.e.crashed(v.cause)
		}
		v.wake = w.e.clock.Now()
		w.wakes(v)
	}()
	v.cause = v.waiter.Wait(context.Background(), &v.lease)
}

// wakes tells the worker that a client has something to go on with.
func (w *worker) wakes(v *virtual) {
	w.mu.Lock()
	w.awake = append(w.awake, v)
	w.mu.Unlock()
	w.ring()
}

// wakeUp goes on with the clients whose Wait has returned, or that arrivals have come to.
func (w *worker) wakeUp() {
	w.mu.Lock()
	w.awake, w.woken = w.woken[:0], w.awake
	w.mu.Unlock()
	now := w.now
	for _, v := range w.woken {
		if v.stage == beginning {
			w.arrived(v)
		} else {
			w.waiting--
			err := v.cause
			v.cause = nil
			w.now = w.at(v.wake, now)
			w.waited(v, err)
		}
		w.now = now
	}
}

// waited goes on after a wait.
func (w *worker) waited(v *virtual, err error) {
	passed := v.line != nil && v.line.Passed()
	switch {
	case err != nil: // mostly, the run has stopped: later than the wait was to end
		w.now = w.e.clock.Now()
		w.acquired(v, err)
	case v.late(w.now) && !passed:
		w.acquired(v, nil)
	default:
		if !passed {
			v.tries.Asked = w.now
		}
		w.try(v)
	}
}

// acquired ends an acquisition that was not granted at once.
func (w *worker) acquired(v *virtual, err error) {
	v.contends(-1)
	if v.waits() {
		v.tries.Leave = v.waiter.Leave(context.Background(), &v.lease)
	}
	v.answered(w.now)
	v.contended(&v.tries)
	switch {
	case v.tries.Held:
		w.hold(v)
	case err == nil:
		v.refused()
		w.think(v)
	case v.interrupted(err):
		w.begin(v)
	case v.undoes(&v.tries):
		v.cause = err
		w.release(v, undoing)
	default:
		v.cause = err
		w.failed(v)
	}
}

// failed ends an acquisition by an error.
func (w *worker) failed(v *virtual) {
	v.fail(&v.tries, v.cause)
	v.cause = nil
	w.pause(v, v.start, beginning)
}

// hold begins a hold.
func (w *worker) hold(v *virtual) {
	v.enter()
	if !v.class.timedHold && !v.class.managedHold {
		w.sample(v)
		return
	}
	v.ends, v.lost = endRelease, false
	if v.hold != nil {
		v.hold.until = 0
	}
	if v.class.managedHold {
		v.ends = v.drawEnd()
	}
	switch {
	case v.ends == endOverstay:
		w.sleep(v, holding, v.overstayFor())
	case v.inner != nil:
		w.reenter(v)
	default:
		w.holdFor(v)
	}
}

// reenter asks for the lock that a client holds.
func (w *worker) reenter(v *virtual) {
	v.inner.before = v.lease
	if v.line != nil {
		v.line.BeginTry(&v.lease) // a holder asks the server
	}
	w.ask(v, reentering)
}

// reentered goes on after the answer: with the next re-entry, with the hold itself, or with its end.
func (w *worker) reentered(v *virtual, held bool, err error) {
	switch {
	case !v.reentered(&v.inner.before, held, err, w.now-v.since):
		v.sent = w.now
		w.held(v)
	case v.inner.granted+2 < w.e.run.Plan.Reentry:
		v.inner.granted++
		w.reenter(v)
	default:
		v.inner.granted++
		w.holdFor(v)
	}
}

// holdFor holds for the time that is drawn.
func (w *worker) holdFor(v *virtual) {
	if !v.class.timedHold {
		w.held(v)
		return
	}
	d := v.drawHold()
	if v.hold == nil {
		w.sleep(v, holding, d)
		return
	}
	v.hold.Term, v.hold.until = renew.Begun(&v.lease, v.leaseBegan(), &w.e.clock), w.now+d
	w.holdOn(v)
}

// holdOn goes on with a hold that is renewed, until it is over or the next renewal is due.
func (w *worker) holdOn(v *virtual) { w.sleep(v, holding, min(v.hold.until, v.hold.Due)-w.now) }

// renew asks for a renewal, if the hold is not over or lost.
func (w *worker) renew(v *virtual) {
	if v.lost = w.now >= v.hold.Valid; v.lost {
		w.held(v)
		return
	}
	v.hold.before = v.hold.Asks(&v.lease)
	w.ask(v, renewing)
}

// renewed goes on after the answer.
func (w *worker) renewed(v *virtual, owned bool, err error) {
	r := renew.Renewal{Sent: v.since, Answered: w.now, Owned: owned, Err: err}
	v.hold.Answered(&v.lease, v.hold.before, r, &w.e.clock)
	w.e.renewed(r)
	v.sent, v.lost = w.now, v.hold.Lost
	if v.lost || w.now >= v.hold.until {
		w.held(v)
	} else {
		w.holdOn(v)
	}
}

// held goes on when a hold is over.
func (w *worker) held(v *virtual) {
	switch v.ends {
	case endOverstay:
		v.overstayed()
	case endCrash:
		v.markCrashed()
	}
	if v.inner == nil {
		w.sample(v)
		return
	}
	switch in := v.inner; {
	case v.crashed:
		in.granted = 0
	case v.lost:
		v.pendingReleases += int32(in.granted) // the hold has to end at once
		in.granted = 0
	}
	w.goOut(v)
}

// goOut releases the re-entries that are left.
func (w *worker) goOut(v *virtual) {
	if v.inner.granted > 0 {
		w.release(v, goingOut)
		return
	}
	v.sent = w.now
	w.sample(v)
}

// sample makes a hold longer until it is watched, if that is due, and ends it.
func (w *worker) sample(v *virtual) {
	if most := v.sampleFor(); most > 0 {
		v.since = v.sent
		w.sleep(v, sampling, most)
		return
	}
	w.leave(v)
}

// leave ends a hold by a release, or without one.
func (w *worker) leave(v *virtual) {
	if !v.crashed {
		w.release(v, releasing)
		return
	}
	v.leave()
	now := w.now
	w.now = v.crash()
	v.equip()
	w.begin(v)
	w.now = now
}

// think ends a cycle, when no release is pending.
func (w *worker) think(v *virtual) {
	if v.pendingReleases > 0 {
		w.release(v, flushing)
		return
	}
	if v.class.thinking {
		v.since = w.now
		w.sleep(v, thinking, v.drawThink())
		return
	}
	v.ended(w.now)
	w.begin(v)
}

// ended records that a client wants a lock again; one that was refused has wanted it all the time.
func (v *virtual) ended(now time.Duration) {
	if v.tries.Held {
		v.wants = now
	}
}

// pause lets a client rest after an error of what began at that time.
func (w *worker) pause(v *virtual, began time.Duration, after stage) {
	v.since, v.after = began, after
	w.sleep(v, pausing, v.drawPause())
}

// sleep lets a client sleep, and go on after that with what is in that stage.
func (w *worker) sleep(v *virtual, next stage, d time.Duration) {
	v.stage, v.wake = next, w.now+max(0, d)
	heap.Push(&w.sleeping, v)
}

// expire goes on with the clients whose sleep is over; with all, when the run stops.
func (w *worker) expire() {
	now, stopped := w.now, w.e.stopping.Err() != nil
	for len(w.sleeping) > 0 && (stopped || w.sleeping[0].wake <= now) {
		v := heap.Pop(&w.sleeping).(*virtual)
		w.now = w.at(v.wake, now)
		w.wake(v)
	}
	w.now = now
}

// wake goes on with a client whose sleep is over.
func (w *worker) wake(v *virtual) {
	switch v.stage {
	case retrying:
		w.waited(v, w.e.stopping.Err())
	case holding:
		v.sent = w.now
		if v.hold != nil && w.now < v.hold.until && w.e.stopping.Err() == nil {
			w.renew(v)
		} else {
			w.held(v)
		}
	case sampling:
		v.sent = w.now
		v.sampled(v.since)
		w.leave(v)
	case pausing:
		v.counters.failing += w.e.inside(v.since, w.now)
		if v.after == thinking {
			w.think(v)
		} else {
			w.begin(v)
		}
	case thinking:
		v.thought(v.since, w.now)
		v.ended(w.now)
		w.begin(v)
	}
}

// sleepers are clients by the time when they wake up, as a heap.
type sleepers []*virtual

func (s sleepers) Len() int           { return len(s) }
func (s sleepers) Less(i, j int) bool { return s[i].wake < s[j].wake }
func (s sleepers) Swap(i, j int)      { s[i], s[j] = s[j], s[i] }
func (s *sleepers) Push(v any)        { *s = append(*s, v.(*virtual)) }

func (s *sleepers) Pop() any {
	last := len(*s) - 1
	v := (*s)[last]
	(*s)[last], *s = nil, (*s)[:last]
	return v
}
