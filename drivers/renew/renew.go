// Package renew is the watchdog (-renew): it extends the leases of long holds, every third of the lease, like Redisson
// with its 30 s and 10 s. One Scheduler serves all holds of a process with a few goroutines.
//
// A hold costs two compare-and-swaps and no allocation. It enters the scheduler's queue only if it is not there yet,
// and stays there when it is stopped, until it is due: then the scheduler forgets it, or looks again a third of the
// lease after it was last started. So a client that holds over and over takes the scheduler's lock three times per
// lease, however fast it is, and nothing is ever sent for short holds.
//
// From Start to Stop the holder's session belongs to the scheduler, which renews through it: "one goroutine at a time"
// remains true, and drivers need no session that can speak for another one.
package renew

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

const (
	// periods is how many times a lease is renewed within its length.
	periods = 3

	// DefaultWorkers is the number of renewals under way at once. It lets a client library that pipelines send those of
	// one tick together, and one slow reply does not delay the others; 10,000 holds that are due at once, as after a
	// common start, need a few hundred round trips.
	DefaultWorkers = 32

	// early is the part of its period by which a hold may be renewed too soon, so that one wake-up serves many.
	early = 100

	never = time.Duration(math.MaxInt64)
)

// Options are the settings of a Scheduler.
type Options struct {
	Clock   drivers.Clock // of the readings given to Start
	Workers int           // renewals under way at once; 0 means DefaultWorkers

	// Renewed, if set, is called after every answer to a renewal, before the hold is planned again or reported lost,
	// and before a Stop that waits for it returns. Workers call it concurrently.
	Renewed func(Renewal)
}

// Renewal is one renewal, with readings of the clock. Owned is the answer unless there is an Err.
type Renewal struct {
	Sent, Answered time.Duration
	Owned          bool
	Err            error
}

// Scheduler renews holds. It is safe for concurrent use, by one goroutine at a time for each Hold.
type Scheduler struct {
	clock   drivers.Clock
	renewed func(Renewal)
	sooner  chan struct{} // wakes the dispatcher early
	running sync.WaitGroup

	mu     sync.Mutex
	queue  queue         // by the time at which they are due
	next   time.Duration // until when the dispatcher sleeps; negative while it is awake
	ready  []*Hold       // claimed, and waiting for a worker; the first comes first
	work   sync.Cond     // ready has grown, or closed is true
	closed bool
}

// New starts a scheduler. Close it when all holds have been stopped.
func New(o Options) *Scheduler {
	s := &Scheduler{clock: o.Clock, renewed: o.Renewed, sooner: make(chan struct{}, 1), next: never}
	s.work.L = &s.mu
	if o.Workers <= 0 {
		o.Workers = DefaultWorkers
	}
	s.running.Go(s.dispatch)
	for range o.Workers {
		s.running.Go(s.worker)
	}
	return s
}

// Close ends the scheduler's goroutines, once the renewals under way have been answered.
func (s *Scheduler) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.work.Broadcast()
	s.wake()
	s.running.Wait()
}

// Hold is one client's place in the scheduler, reused from one hold to the next. Make it with NewHold.
type Hold struct {
	// state is due<<flagBits | flags. Whoever sets claimed owns the fields below until claimed is cleared: the
	// scheduler, under its mu. While it is clear, the holder does.
	state    atomic.Int64
	lease    *drivers.Lease
	term     Term
	session  drivers.Renewer
	told     chan struct{} // the hold is lost
	finished chan struct{} // the renewal that Stop or Await waits for was answered

	// Guarded by the scheduler's mu. Only the holder writes every, so it reads it without mu.
	every    time.Duration // between two renewals
	wake     time.Duration // its place in the queue
	slack    time.Duration // how much earlier it may be looked at
	index    int           // in the queue; -1 if it is not there
	listed   bool          // it is in ready
	inFlight bool          // a renewal is under way
	waiting  bool          // Stop or Await reads finished
}

const (
	queued  = 1 << iota // it is in the queue, or about to be: a lease that starts now need not be put in
	active              // between Start and Stop
	claimed             // it is due: it waits for a worker, or a renewal is under way
	lost                // reported, and not stopped yet

	flagBits = iota
)

func word(due time.Duration, flags int64) int64 { return int64(due)<<flagBits | flags }

// NewHold returns the Hold of one session.
func NewHold(session drivers.Renewer) *Hold {
	return &Hold{session: session, index: -1, told: make(chan struct{}, 1), finished: make(chan struct{}, 1)}
}

// Lost receives when the hold is lost: a renewal was answered with "not yours", or the lease ran out before one was
// confirmed. It receives at most once between Start and Stop, and nothing left over from an earlier hold.
func (h *Hold) Lost() <-chan struct{} { return h.told }

// Start makes the scheduler renew l to l.TTL every third of that, counted from began, when the lease began at the earliest:
// when the Try was sent, or the request that passed the lock on, not when its answer came. Otherwise a hold that is never
// renewed would be reported lost after its lease had ended. Until Stop has returned, l and the session belong to the scheduler.
func (s *Scheduler) Start(h *Hold, l *drivers.Lease, began time.Duration) {
	every := l.TTL / periods
	t := Begun(l, began, &s.clock)
	h.lease, h.term = l, t
	started := word(t.Due, active|queued)
	if every == h.every && t.Due == began+every { // otherwise its place in the queue may be too late
		if old := h.state.Load(); old&queued != 0 && h.state.CompareAndSwap(old, started) {
			return
		}
	}
	s.mu.Lock()
	h.every = every
	h.state.Store(started)
	s.plan(h, t.Due, every/early)
	s.mu.Unlock()
}

// Stop ends the hold. When it returns, no renewal of it is under way and none will be sent: it waits for the present
// one, which the driver's IO time-out bounds. It reports whether the hold was lost, and whether it has waited.
//
// It does not wait if the hold is lost, because the holder must know that at once; then call Await before using the
// session or the lease again.
func (s *Scheduler) Stop(h *Hold) (isLost, waited bool) {
	if old := h.state.Load(); old&(active|claimed|lost) == active && h.state.CompareAndSwap(old, queued) {
		return false, false
	}
	return s.halt(h)
}

// halt is the rare part of Stop.
func (s *Scheduler) halt(h *Hold) (isLost, waited bool) {
	s.mu.Lock()
	if h.inFlight && h.state.Load()&lost == 0 {
		waited = true
		h.waiting = true
		s.mu.Unlock()
		select {
		case <-h.finished:
		case <-h.told:
		}
		s.mu.Lock()
		h.waiting = false
	}
	isLost = h.state.Load()&lost != 0
	h.state.Store(0)
	s.queue.remove(h)
	drain(h.told)
	drain(h.finished)
	s.mu.Unlock()
	return isLost, waited
}

// Await waits until no renewal of a lost hold is under way.
func (s *Scheduler) Await(h *Hold) {
	s.mu.Lock()
	h.waiting = h.inFlight
	waiting := h.waiting
	s.mu.Unlock()
	if waiting {
		<-h.finished
	}
}

func drain(c <-chan struct{}) {
	select {
	case <-c:
	default:
	}
}

// wake makes the dispatcher look.
func (s *Scheduler) wake() {
	select {
	case s.sooner <- struct{}{}:
	default:
	}
}

// plan makes the dispatcher look at h at that time. The caller holds mu.
func (s *Scheduler) plan(h *Hold, at, slack time.Duration) {
	h.slack = slack
	s.queue.place(h, at)
	if at < s.next {
		s.next = -1
		s.wake()
	}
}

// send renews a lease. A panic of the driver counts as no answer.
func send(r drivers.Renewer, l *drivers.Lease) (owned bool, err error) {
	defer drivers.Catch(&err)
	return r.Renew(context.Background(), l)
}

// renew sends one renewal. The hold is claimed.
func (s *Scheduler) renew(h *Hold) (r Renewal) {
	l := h.lease
	before := h.term.Asks(l)
	r.Sent = s.clock.Now()
	r.Owned, r.Err = send(h.session, l)
	r.Answered = s.clock.Now()
	h.term.Answered(l, before, r, &s.clock)
	if s.renewed != nil {
		s.renewed(r)
	}
	return r
}
