// The batch loop (-pipelining batch): a worker a core carries many clients through the same stages as the client loop, and
// sends the requests that are ready in one write. A client is a few words here and no goroutine, so that what limits the load is
// the server, and not stacks and wake-ups.
//
// A latency has the same meaning as in the client loop: from when the client was ready to when its answer was read. So it
// includes the time until the worker gets round to its write, and until all answers to that write have come. A client whose hold
// or pause ends while the worker waits for answers was ready then, and not when the worker sees it.

package workloads

import (
	"container/heap"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/alarm"
	"github.com/lockbench/lockbench/drivers/wait"
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
	now     time.Duration // when the answer or the wake-up came that it handles

	asking   []*virtual // whose requests are sent next
	asked    []*virtual // whose were sent before
	requests [maxBatch]drivers.Request

	sleeping sleepers
	timer    alarm.Timer
	resting  [][]*virtual  // of each class, the clients that have no arrival to serve, who has rested longest first
	bell     chan struct{} // one slot: arrivals have come
}

// virtual is a client that a worker carries.
type virtual struct {
	*client
	delay wait.Delayer // nil: it does not wait
	stage stage
	after stage         // a pause: what comes then
	since time.Duration // when a pause or rest began, or when what failed before it did
	wake  time.Duration // when its sleep ends
	ends  holdEnd
	tries wait.Attempt
	cause error // of an acquisition that is undone
}

// stage is what a client waits for.
type stage uint8

const (
	trying    stage = iota // an answer
	releasing              // an answer
	undoing                // the answer to the release after an attempt of unknown outcome
	retrying               // the time to try again
	holding                // the end of a hold
	sampling               // the end of what a hold was made longer by
	pausing                // the end of a pause after an error
	thinking               // the end of a think pause
	beginning              // an arrival
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
	for _, cl := range e.classes {
		if cl.open {
			cl.queue.Carry(e.ring)
		}
	}
	return nil
}

// ring wakes the workers that sleep.
func (e *engine) ring() {
	for _, w := range e.workers {
		select {
		case w.bell <- struct{}{}:
		default:
		}
	}
}

// newWorker returns one that carries every n-th client from first on: each has clients of every class.
func newWorker(e *engine, batch drivers.Batch, first, n int) *worker {
	w := &worker{e: e, batch: batch, resting: make([][]*virtual, len(e.classes)), bell: make(chan struct{}, 1)}
	for id := first; id < len(e.clients); id += n {
		v := virtual{client: &e.clients[id]}
		if v.waiter != nil {
			v.delay = v.waiter.(stoppable).Waiter.(wait.Delayer)
		}
		w.clients = append(w.clients, v)
	}
	w.running = len(w.clients)
	return w
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
		busy := len(w.asking) > 0
		if busy {
			w.send()
		} else {
			w.rest()
		}
		w.expire(busy)
		w.arrive()
	}
}

// rest sleeps until a client wakes up, or arrivals come.
func (w *worker) rest() {
	d := time.Hour
	if len(w.sleeping) > 0 {
		d = w.sleeping[0].wake - w.now
	}
	w.timer.Sleep(d, w.e.stop, w.bell)
	w.now = w.e.clock.Now()
}

// arrive lets clients that rest serve arrivals.
func (w *worker) arrive() {
	for i := range w.resting {
		for len(w.resting[i]) > 0 {
			due, waited, come, over := w.e.classes[i].queue.Look()
			if !come && !over {
				break
			}
			v := w.resting[i][0]
			w.resting[i] = w.resting[i][1:]
			v.rested(w.now)
			if come {
				w.serve(v, due, waited)
			} else {
				w.end(v)
			}
		}
	}
}

// serve lets a client serve an arrival.
func (w *worker) serve(v *virtual, due time.Duration, waited bool) {
	if w.now >= w.e.until() {
		w.e.turnAway(v.class, due)
		w.begin(v)
		return
	}
	v.due, v.waited, v.wants, v.claimed = due, waited, due, due >= w.e.from
	v.tryOnly = v.class.TryOnly > 0 && v.unit() < v.class.TryOnly
	w.acquire(v)
}

// rested counts the time in which a client had no arrival to serve.
func (v *virtual) rested(now time.Duration) { v.counters.idle += v.e.inside(v.since, now) }

// over ends the loop; see client.over.
func (w *worker) over() {
	if v := recover(); v != nil {
		w.e.crashed(drivers.Panicked(v))
	}
	w.batch.Close()
}

// send sends requests, and goes on with the clients that have their answers.
func (w *worker) send() {
	w.asking, w.asked = w.asked[:0], w.asking
	for some := range slices.Chunk(w.asked, maxBatch) {
		requests := w.requests[:len(some)]
		for i, v := range some {
			requests[i] = drivers.Request{Session: v.session, Op: v.stage.op(), Lease: &v.lease}
		}
		w.batch.Do(context.Background(), requests)
		w.now = w.e.clock.Now()
		for i, v := range some {
			w.answer(v, requests[i].Yes, requests[i].Err)
		}
	}
}

// ask sends a client's request next, the one that this stage waits for.
func (w *worker) ask(v *virtual, next stage) {
	v.stage = next
	w.asking = append(w.asking, v)
}

// op is the request whose answer a client in stage s waits for.
func (s stage) op() drivers.Op {
	if s == trying {
		return drivers.OpTry
	}
	return drivers.OpRelease
}

// answer goes on with a client whose request has been answered.
func (w *worker) answer(v *virtual, yes bool, err error) {
	switch v.stage {
	case trying:
		w.tried(v, yes, err)
	case releasing:
		v.settle(yes, err, w.now)
		if err != nil {
			w.pause(v, v.sent, thinking)
		} else {
			w.think(v)
		}
	case undoing:
		w.failed(v)
	}
}

// begin begins a cycle, or lets the client rest until there is an arrival, unless its loop is over.
func (w *worker) begin(v *virtual) {
	e := w.e
	switch {
	case v.class.open:
		v.stage, v.since = beginning, w.now
		n := slices.Index(e.classes, v.class)
		w.resting[n] = append(w.resting[n], v)
		v.class.queue.Rest()
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
	w.ask(v, trying)
}

// tried goes on after a try.
func (w *worker) tried(v *virtual, held bool, err error) {
	first := v.tries.Tries == 0
	v.tries.Answer(held, err, v.refusal)
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
func (v *virtual) waits() bool { return v.delay != nil && !v.tryOnly }

// late reports whether the time-out of an acquisition has passed.
func (v *virtual) late(now time.Duration) bool {
	l := &v.lease
	return !l.Deadline.IsZero() && !v.e.clock.Time(now).Before(l.Deadline)
}

// wait lets a client sleep until it tries again.
func (w *worker) wait(v *virtual) {
	if v.tries.Waits++; v.tries.Waits == 1 {
		v.tries.Began = w.now
	}
	w.sleep(v, retrying, v.delay.Delay(&v.lease))
}

// waited goes on after that sleep.
func (w *worker) waited(v *virtual) {
	switch {
	case w.e.stopping.Err() != nil:
		w.acquired(v, w.e.stopping.Err())
	case v.late(w.now):
		w.acquired(v, nil)
	default:
		v.tries.Asked = w.now
		w.ask(v, trying)
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
		w.ask(v, undoing)
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
	v.ends = endRelease
	if v.class.managedHold {
		v.ends = v.drawEnd()
	}
	switch {
	case v.ends == endOverstay:
		w.sleep(v, holding, v.overstayFor())
	case v.class.timedHold:
		w.sleep(v, holding, v.drawHold())
	default:
		w.held(v)
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
	if most := v.sampleFor(); most > 0 {
		v.since = v.sent
		w.sleep(v, sampling, most)
		return
	}
	w.leave(v)
}

// leave ends a hold by a release, or without one.
func (w *worker) leave(v *virtual) {
	v.leave()
	if v.crashed {
		w.now = v.crash()
		w.begin(v)
		return
	}
	w.ask(v, releasing)
}

// think ends a cycle.
func (w *worker) think(v *virtual) {
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

// expire goes on with the clients whose sleep is over; with all, when the run stops. If the worker was busy meanwhile, they were
// ready when it was over; otherwise, when its timer rang.
func (w *worker) expire(busy bool) {
	now, stopped := w.now, w.e.stopping.Err() != nil
	for len(w.sleeping) > 0 && (stopped || w.sleeping[0].wake <= now) {
		v := heap.Pop(&w.sleeping).(*virtual)
		if w.now = now; busy {
			w.now = min(now, v.wake)
		}
		w.wake(v)
	}
	w.now = now
}

// wake goes on with a client whose sleep is over.
func (w *worker) wake(v *virtual) {
	switch v.stage {
	case retrying:
		w.waited(v)
	case holding:
		v.sent = w.now
		w.held(v)
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
