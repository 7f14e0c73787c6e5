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
	"container/heap"
	"context"
	"sync"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/alarm"
	"github.com/lockbench/lockbench/drivers/renew"
	"github.com/lockbench/lockbench/drivers/wait"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/workloads/matrix"
)

// worker carries some of the clients of a trial.
type worker struct {
	e       *engine
	batch   drivers.Batch
	clients []virtualClient
	running int // clients whose loop has not ended

	wrote time.Duration // when it has last begun to send all that was ready, in one write or several
	sent  time.Duration // just before the last write
	heard time.Duration // when the answers to the write before that one came
	late  delays
	class *class         // that shard is of
	shard *results.Shard // borrowed until the next write; nil if none is

	asking   []*virtualClient // whose requests are sent next
	asked    []*virtualClient // whose were sent before
	requests [maxBatch]drivers.Request

	refused  []*virtualClient // by the local line, without a request
	sleeping sleepers
	timer    alarm.Timer
	waiting  int // clients in a Wait

	signal chan struct{} // one slot: some are awake
	mu     sync.Mutex
	awake  []*virtualClient // clients whose Wait has returned, or that arrivals have come to; guarded by mu
	woken  []*virtualClient // those before
}

// virtualClient is a client that a worker carries.
type virtualClient struct {
	*client
	worker  *worker
	stage   stage
	after   stage // a pause: what comes then
	crashes bool
	since   time.Duration // see stage
	wake    time.Duration // see stage
	tries   wait.Attempt
	cause   error      // of an acquisition that is undone, or of a Wait
	line    *linePlace // nil: it stands in no local line
	over    bool       // no arrival will come
	hold    *renewed   // the present hold, if it is renewed; nil if no hold is
	inner   *inner     // the re-entries of the present hold; nil without any
}

// inner are re-entries.
type inner struct {
	granted int           // and not released
	before  drivers.Lease // that before the one under way
}

// linePlace is a client in a local line.
type linePlace struct {
	wait.LineSession
	to *drivers.Lease // that its lock is being passed to; nil if it is being released
}

// renewed is a hold that is renewed.
type renewed struct {
	renew.Term
	until  time.Duration // its end; 0 if this one is not renewed
	before time.Time     // the ValidUntil of the lease before the renewal under way
}

// stage is what a client waits for. "The hold" is reentering or holding, or its end if it takes no time; "its end" is unwinding,
// sampling or releasing; "the next cycle" is flushing, thinking, beginning or trying.
//
//	stage       since is when              wake is when     next
//	beginning   its rest began                              trying
//	trying      the request was ready                       the hold; retrying, awaiting, undoing, pausing, the next cycle
//	retrying                               it tries again   trying, undoing, pausing, the next cycle
//	awaiting                               Wait returned    trying, undoing, pausing, the next cycle
//	undoing     the request was ready                       pausing
//	reentering  it was ready, then sent                     reentering, holding, its end
//	holding                                it goes on       renewing, its end
//	renewing    it was ready, then sent                     holding, its end
//	unwinding   the request was ready                       unwinding, sampling, releasing
//	sampling    the hold was over          sampling ends    releasing, or the next cycle if the client has crashed
//	releasing   the request was ready                       pausing, the next cycle
//	pausing     what failed began          the pause ends   the next cycle; after says where in it
//	flushing    the request was ready                       flushing, thinking, beginning, trying
//	thinking    the pause began            the pause ends   beginning, trying
type stage uint8

const (
	trying     stage = iota // an answer
	releasing               // an answer
	undoing                 // the answer to the release after an attempt of unknown outcome
	reentering              // an answer
	unwinding               // the answer to the release of a re-entry
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
	p := &e.run.Plan
	b, ok := drivers.As[drivers.Batcher](e.run.Service)
	if !ok {
		return &matrix.Misfit{What: p.Driver + " -pipelining batch", Why: "its requests cannot be sent in batches"}
	}
	n := min(matrix.Batches(p), len(e.clients))
	for i := range n {
		batch, err := b.Batch(ctx)
		if err != nil {
			for _, w := range e.workers {
				w.batch.Close()
			}
			return &matrix.Misfit{What: p.Driver + " -pipelining batch", Why: err.Error()}
		}
		e.workers = append(e.workers, newWorker(e, batch, i, n))
	}
	return nil
}

// newWorker returns one that carries every n-th client from first on: each has clients of every class. Those of open loops rest
// already, because the first arrivals may come before the worker runs.
func newWorker(e *engine, batch drivers.Batch, first, n int) *worker {
	w := &worker{e: e, batch: batch, signal: make(chan struct{}, 1)}
	w.clients = make([]virtualClient, 0, (len(e.clients)-first+n-1)/n)
	for id := first; id < len(e.clients); id += n {
		w.clients = append(w.clients, virtualClient{client: &e.clients[id], worker: w})
		v := &w.clients[len(w.clients)-1]
		v.equip()
		if v.class.open {
			w.takeUp(v, 0)
		}
	}
	w.running = len(w.clients)
	return w
}

// equip prepares a client for its session.
func (v *virtualClient) equip() {
	if line, ok := v.session.(wait.LineSession); ok {
		v.line = &linePlace{LineSession: line}
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
	now := w.e.clock.Now()
	for i := range w.clients {
		if v := &w.clients[i]; !v.class.open {
			v.joined, v.wants = now, now
			w.begin(v, now)
		}
	}
	for w.running > 0 {
		now = w.resume()
		switch {
		case len(w.asking) > 0:
			w.send()
		case len(w.refused) == 0 && w.running > 0:
			w.rest(now)
		}
	}
}

// resume goes on with all clients that can, and returns the time.
func (w *worker) resume() (now time.Duration) {
	now = w.e.clock.Now()
	w.refuse(now)
	w.expire(now)
	w.wakeUp(now)
	return now
}

// refuse goes on with the clients that their local line has refused.
func (w *worker) refuse(now time.Duration) {
	refused := w.refused
	w.refused = nil
	for _, v := range refused {
		first := v.firstTry()
		v.tries.Local++
		w.goOn(v, now, first, nil)
	}
}

// expire goes on with the clients whose sleep is over; with all, when the run stops.
func (w *worker) expire(now time.Duration) {
	stopped := w.e.stopping.Err() != nil
	for len(w.sleeping) > 0 && (stopped || w.sleeping[0].wake <= now) {
		v := heap.Pop(&w.sleeping).(*virtualClient)
		w.wake(v, w.at(v.wake, now))
	}
}

// wakeUp goes on with the clients whose Wait has returned, or that arrivals have come to.
func (w *worker) wakeUp(now time.Duration) {
	w.mu.Lock()
	w.awake, w.woken = w.woken[:0], w.awake
	w.mu.Unlock()
	for _, v := range w.woken {
		if v.stage == beginning {
			w.arrived(v, now)
		} else {
			w.waiting--
			err := v.cause
			v.cause = nil
			w.waited(v, w.at(v.wake, now), err)
		}
	}
}

// at returns when a client went on that was to do so at a time that has passed: then, if the worker waited for answers, or else now.
func (w *worker) at(due, now time.Duration) time.Duration {
	if due < w.heard {
		return max(due, w.wrote)
	}
	return now
}

// rest sleeps until a client wakes up, or an arrival comes.
func (w *worker) rest(now time.Duration) {
	d := time.Hour
	if len(w.sleeping) > 0 {
		d = w.sleeping[0].wake - now
	}
	stop := w.e.stop
	if w.waiting > 0 && len(w.sleeping) == 0 && w.e.stopping.Err() != nil {
		stop = nil // it is closed, and a request of a Wait may take its time
	}
	w.returnShard()
	w.timer.Sleep(d, stop, w.signal)
}

// wakes tells the worker, which may sleep, that a client has something to go on with.
func (w *worker) wakes(v *virtualClient) {
	w.mu.Lock()
	w.awake = append(w.awake, v)
	w.mu.Unlock()
	select {
	case w.signal <- struct{}{}:
	default:
	}
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

// sleepers are clients by the time when they wake up, as a heap.
type sleepers []*virtualClient

func (s sleepers) Len() int           { return len(s) }
func (s sleepers) Less(i, j int) bool { return s[i].wake < s[j].wake }
func (s sleepers) Swap(i, j int)      { s[i], s[j] = s[j], s[i] }
func (s *sleepers) Push(v any)        { *s = append(*s, v.(*virtualClient)) }

func (s *sleepers) Pop() any {
	last := len(*s) - 1
	v := (*s)[last]
	(*s)[last], *s = nil, (*s)[:last]
	return v
}
