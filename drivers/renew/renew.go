// Package renew is the watchdog (-renew): it extends the leases of those who hold on, every third of the lease, as
// Redisson does with its 30 s and 10 s. One Scheduler serves all holds of a process with a handful of goroutines.
//
// A hold costs two compare-and-swaps and no allocation. It enters the scheduler's queue only if it is not there yet,
// and what is queued stays so when it is stopped, until its turn comes: then the scheduler forgets it, or looks
// again a third of the lease after it was last started. So a client that holds over and over takes the scheduler's
// lock three times a lease however fast it is, and nothing is ever sent for holds that are short.
//
// From Start to Stop the holder's session belongs to the scheduler, which renews through it: "one goroutine at a time"
// holds, and drivers need no session that may speak for another one.
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
	// periods is how often a lease is renewed in its own time.
	periods = 3

	// DefaultWorkers is how many renewals are under way at once. So many let a client library that pipelines send
	// those of one tick together, and one slow reply delays no other; and 10,000 holds whose turn comes at once, as after
	// a common start, are through in a few hundred round trips.
	DefaultWorkers = 32

	// early is the part of its period by which a hold may be renewed too soon, so that one wake-up serves many.
	early = 100

	never = time.Duration(math.MaxInt64)
)

// Options are what a Scheduler is made with.
type Options struct {
	Clock   drivers.Clock // which Start is given readings of
	Workers int           // renewals under way at once; 0 means DefaultWorkers

	// Renewed, if set, is told of every renewal when it was answered, before the hold is planned anew or reported lost,
	// and before a Stop that waits for it returns. Workers call it at the same time.
	Renewed func(Renewal)
}

// Renewal is one renewal, with readings of the clock. An Err hides the answer; else Owned is it.
type Renewal struct {
	Sent, Answered time.Duration
	Owned          bool
	Err            error
}

// Stats count what a scheduler has done.
type Stats struct {
	Sent    int64 // renewals, those under way included
	Failed  int64 // renewals that ended in an error
	Lost    int64 // holds lost because a renewal was answered with "not yours"
	Expired int64 // holds lost because no renewal was confirmed while the lease lasted
}

// Scheduler renews holds. It is safe for concurrent use, by one goroutine at a time for each Hold.
type Scheduler struct {
	clock   drivers.Clock
	renewed func(Renewal)
	sooner  chan struct{} // wakes the dispatcher before its time
	running sync.WaitGroup

	mu     sync.Mutex
	queue  queue         // by the time at which they have to be looked at
	next   time.Duration // until when the dispatcher sleeps; below zero while it is awake
	ready  line          // claimed, and waiting for a worker
	work   sync.Cond     // ready has grown, or closed is true
	closed bool
	stats  Stats
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

// Stats returns the counts so far.
func (s *Scheduler) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats
}

// Hold is one client's place in the scheduler, used from one hold to the next. It has to be made by NewHold.
type Hold struct {
	// state is due<<flagBits | flags. Who sets claimed owns what stands below it until claimed is cleared: the
	// scheduler, under its mu. While it is clear the holder does.
	state   atomic.Int64
	lease   *drivers.Lease
	valid   time.Duration // when the lease ends, as far as it is confirmed
	session drivers.Renewer
	told    chan struct{} // the hold is lost
	landed  chan struct{} // the renewal that Stop or Await waits for was answered

	// Guarded by the scheduler's mu; every is written by the holder alone, who reads it without.
	every   time.Duration // between two renewals
	wake    time.Duration // its place in the queue
	slack   time.Duration // how much earlier it may be looked at
	index   int           // in the queue; -1 if it is not there
	after   *Hold         // behind it in the line
	listed  bool          // it is in the line
	flying  bool          // a renewal is under way
	waiting bool          // somebody reads landed
}

const (
	queued  = 1 << iota // it is in the queue, or on its way there: a lease that starts now need not be put in
	active              // between Start and Stop
	claimed             // its turn has come: it waits for a worker, or a renewal is under way
	lost                // reported, and not stopped yet

	flagBits = iota
)

func word(due time.Duration, flags int64) int64 { return int64(due)<<flagBits | flags }

// NewHold makes a place for the holds of one session.
func NewHold(session drivers.Renewer) *Hold {
	return &Hold{session: session, index: -1, told: make(chan struct{}, 1), landed: make(chan struct{}, 1)}
}

// Lost receives when the hold is lost: a renewal was answered with "not yours", or the lease ran out while none was
// confirmed. It receives once at the most between Start and Stop, and nothing that was left over from an earlier hold.
func (h *Hold) Lost() <-chan struct{} { return h.told }

// Start has l renewed to l.TTL every third of that, from began on, which is when the lease began or was granted. Until
// Stop has returned, l and the session are the scheduler's.
func (s *Scheduler) Start(h *Hold, l *drivers.Lease, began time.Duration) {
	every := l.TTL / periods
	due := began + every
	h.lease, h.valid = l, began+l.TTL
	if !l.ValidUntil.IsZero() {
		h.valid = s.clock.Reading(l.ValidUntil)
		due = min(due, h.valid)
	}
	started := word(due, active|queued)
	if every == h.every { // else its place in the queue may be too late
		if old := h.state.Load(); old&queued != 0 && h.state.CompareAndSwap(old, started) {
			return
		}
	}
	s.mu.Lock()
	h.every = every
	h.state.Store(started)
	s.plan(h, due, every/early)
	s.mu.Unlock()
}

// Stop ends the hold. When it returns, no renewal of it is under way and none will be sent: it waits for one that is,
// which the driver's IO time-out bounds. It reports whether the hold was lost, and whether it has waited.
//
// It does not wait if the hold is lost, because its holder has to stop believing at once; then Await has to follow
// before the session or the lease is used for anything.
func (s *Scheduler) Stop(h *Hold) (isLost, waited bool) {
	old := h.state.Load()
	if old&(active|claimed|lost) == active && h.state.CompareAndSwap(old, queued) {
		return false, false
	}
	return s.halt(h)
}

// halt is the rare part of Stop.
func (s *Scheduler) halt(h *Hold) (isLost, waited bool) {
	s.mu.Lock()
	if h.flying && h.state.Load()&lost == 0 {
		waited = true
		h.waiting = true
		s.mu.Unlock()
		select {
		case <-h.landed:
		case <-h.told:
		}
		s.mu.Lock()
		h.waiting = false
	}
	isLost = h.state.Load()&lost != 0
	h.state.Store(0)
	s.queue.remove(h)
	drain(h.told)
	drain(h.landed)
	s.mu.Unlock()
	return isLost, waited
}

// Await waits until no renewal of a hold that was lost is under way any more.
func (s *Scheduler) Await(h *Hold) {
	s.mu.Lock()
	h.waiting = h.flying
	waiting := h.waiting
	s.mu.Unlock()
	if waiting {
		<-h.landed
	}
}

func drain(c <-chan struct{}) {
	select {
	case <-c:
	default:
	}
}

// wake has the dispatcher look.
func (s *Scheduler) wake() {
	select {
	case s.sooner <- struct{}{}:
	default:
	}
}

// plan has h looked at when the time has come. The caller holds mu.
func (s *Scheduler) plan(h *Hold, at, slack time.Duration) {
	h.slack = slack
	s.queue.place(h, at)
	if at < s.next {
		s.next = -1
		s.wake()
	}
}

// send renews a lease. A driver that crashes has not answered.
func send(r drivers.Renewer, l *drivers.Lease) (owned bool, err error) {
	defer drivers.Catch(&err)
	return r.Renew(context.Background(), l)
}

// renew sends one renewal. The hold is claimed.
func (s *Scheduler) renew(h *Hold) (r Renewal) {
	l := h.lease
	before := l.ValidUntil
	l.ValidUntil = time.Time{} // so that only what this very renewal sets counts
	r.Sent = s.clock.Now()
	r.Owned, r.Err = send(h.session, l)
	r.Answered = s.clock.Now()
	switch {
	case r.Err != nil || !r.Owned:
		l.ValidUntil = before
	case l.ValidUntil.IsZero():
		h.valid = r.Sent + l.TTL
	default:
		h.valid = s.clock.Reading(l.ValidUntil)
	}
	if s.renewed != nil {
		s.renewed(r)
	}
	return r
}
