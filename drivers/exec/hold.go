package exec

// What a worker does with leases.

import (
	"context"
	"sync"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/lines"
	"github.com/lockbench/lockbench/drivers/renew"
)

// hold is one numbered lease of a worker.
type hold struct {
	lease drivers.Lease
	began time.Duration // when the last try was sent
	held  bool
	lost  chan struct{} // closed when the watchdog knows that the lease is lost; a new one for each grant

	watchdog *watchdog // nil: none

	mu     sync.Mutex
	writer *writer // nil: none
}

// writer is what the lock is for: a goroutine that writes.
type writer struct{ stop, done chan struct{} }

// watchdog renews one lease. Each has a scheduler of its own, so that a renewal is known to be of its lease.
type watchdog struct {
	scheduler  *renew.Scheduler
	renewals   *renew.Hold
	stop, done chan struct{}
}

func (c *client) try(ctx context.Context, r *request) (answer line, err error) {
	h, err := c.use(r)
	if err != nil {
		return answer, err
	}
	if a, ok := drivers.As[drivers.Adopter](c.session); ok && r.Owner != "" {
		a.Adopt(r.Owner)
	}
	c.using.Lock()
	defer c.using.Unlock()
	h.began = c.s.Clock.Now()
	held, err := c.session.Try(ctx, &h.lease)
	if h.held = held && err == nil; h.held {
		h.lost = make(chan struct{})
	}
	answer = line{Held: &held, Fence: h.lease.Fence, Valid: c.valid(h.lease.ValidUntil, h.began)}
	if h.lease.Owner != r.Owner {
		answer.Owner = h.lease.Owner
	}
	return answer, err
}

// use returns the lease of a try or a wait.
func (c *client) use(r *request) (*hold, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	h := c.holds[r.Lease]
	switch {
	case h == nil:
		h = &hold{}
		c.holds[r.Lease] = h
	case h.watchdog != nil || h.writer != nil:
		return nil, lines.Refuse("lease", "%d is watched or written under: release it first", r.Lease)
	}
	h.lease.Key, h.lease.TTL = r.Key, r.TTL
	return h, nil
}

// wait waits as the session does. If a library has acquired the lock, a try confirms it here; after any other wait, the
// answer is that a try is worth it.
func (c *client) wait(ctx context.Context, r *request) (answer line, err error) {
	w, ok := drivers.As[drivers.Waiter](c.session)
	if !ok {
		return answer, lines.Refuse("op", "the lock does not wait")
	}
	h, err := c.use(r)
	if err != nil {
		return answer, err
	}
	h.lease.Deadline = time.Time{}
	if r.Timeout > 0 {
		h.lease.Deadline = time.Now().Add(r.Timeout)
	}
	library, calls := w.(drivers.Caller)
	tally := new(drivers.Tally)
	if calls {
		tally = library.Tallied()
		tally.Refused = func() {
			c.s.Send(&line{LineHeader: lines.LineHeader{Event: refusedEvent}, Session: r.Session})
			tally.Refused = nil
		}
	}
	read := c.s.Clock.Now()
	err = w.Wait(ctx, &h.lease)
	gaveUp, sent := err == drivers.ErrGaveUp, tally.Sent
	switch {
	case gaveUp:
		err = nil
	case err == nil && calls && (r.Timeout == 0 || time.Now().Before(h.lease.Deadline)):
		answer, err = c.try(ctx, r)
		answer.Valid = c.valid(h.lease.ValidUntil, read)
		answer.Tries = sent
		return answer, err
	}
	return line{Held: new(bool), Tries: sent, GaveUp: &gaveUp}, err
}

// cancellable returns a context for a wait, which ends at its deadline by itself.
func (c *client) cancellable(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cancel = cancel
	return ctx
}

// interrupt ends the wait that is under way, or about to be.
func (c *client) interrupt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cancel != nil {
		c.cancel()
		c.cancel = nil
	}
}

func (c *client) leave(ctx context.Context, r *request) (answer line, err error) {
	w, ok := drivers.As[drivers.Waiter](c.session)
	if h := c.holds[r.Lease]; ok && h != nil {
		err = w.Leave(ctx, &h.lease)
	}
	return answer, err
}

func (r *request) check() error {
	switch {
	case r.Lease < 1:
		return lines.Refuse("lease", "is missing, or below 1")
	case r.Key == "":
		return lines.Refuse("key", "is missing")
	case r.TTL < 0:
		return lines.Refuse("ttl_ns", "must not be negative")
	}
	return nil
}

// valid returns how long a lease lasts from a reading of the clock on; 0 if the driver does not say.
func (c *client) valid(until time.Time, from time.Duration) time.Duration {
	if until.IsZero() {
		return 0
	}
	return c.s.Clock.Reading(until) - from
}

func (c *client) release(ctx context.Context, r *request) (answer line, err error) {
	h, l, err := c.given(r)
	if err != nil {
		return answer, err
	}
	if h != nil {
		h.end()
	}
	c.using.Lock()
	defer c.using.Unlock()
	owned, err := c.session.Release(ctx, l)
	return line{Owned: &owned}, err
}

func (c *client) renew(ctx context.Context, r *request) (answer line, err error) {
	if c.renewer == nil {
		return answer, lines.Refuse("op", "the lock does not renew")
	}
	h, l, err := c.given(r)
	if err != nil {
		return answer, err
	}
	if h != nil && h.watchdog != nil {
		return answer, lines.Refuse("lease", "%d is watched, which renews it", r.Lease)
	}
	c.using.Lock()
	defer c.using.Unlock()
	began := c.s.Clock.Now()
	owned, err := c.renewer.Renew(ctx, l)
	return line{Owned: &owned, Valid: c.valid(l.ValidUntil, began)}, err
}

// given returns the lease of a release or a renew. Unless it is the present one of its number, it is made of what the request
// says.
func (c *client) given(r *request) (*hold, *drivers.Lease, error) {
	if err := r.check(); err != nil {
		return nil, nil, err
	}
	h := c.holds[r.Lease]
	if h == nil || h.lease.Key != r.Key || r.Owner != "" && r.Owner != h.lease.Owner {
		return nil, &drivers.Lease{Key: r.Key, TTL: r.TTL, Owner: r.Owner}, nil
	}
	return h, &h.lease, nil
}

// present returns a lease that is held, as far as the worker knows.
func (c *client) present(number int) (*hold, error) {
	h := c.holds[number]
	if h == nil || !h.held {
		return nil, lines.Refuse("lease", "%d is not held", number)
	}
	select {
	case <-h.lost:
		return nil, lines.Refuse("lease", "%d is lost", number)
	default:
		return h, nil
	}
}

func (c *client) watch(_ context.Context, r *request) (answer line, err error) {
	if c.renewer == nil {
		return answer, lines.Refuse("op", "the lock does not renew")
	}
	h, err := c.present(r.Lease)
	switch {
	case err != nil:
		return answer, err
	case h.watchdog != nil:
		return answer, lines.Refuse("lease", "%d is watched already", r.Lease)
	case h.lease.TTL == 0:
		return answer, lines.Refuse("lease", "%d was tried without ttl_ns", r.Lease)
	}
	d := &watchdog{
		scheduler: renew.New(renew.Options{Clock: c.s.Clock, Workers: 1}),
		renewals:  renew.NewHold(oneAtATime{c}),
		stop:      make(chan struct{}), done: make(chan struct{}),
	}
	h.watchdog = d
	d.scheduler.Start(d.renewals, &h.lease, h.began)
	go c.s.guard(h, d)
	return answer, nil
}

// oneAtATime renews while no request uses the session.
type oneAtATime struct{ c *client }

func (o oneAtATime) Renew(ctx context.Context, l *drivers.Lease) (bool, error) {
	o.c.using.Lock()
	defer o.c.using.Unlock()
	return o.c.renewer.Renew(ctx, l)
}

// guard tells of the loss of a lease, after the write that is under way then.
func (s *server) guard(h *hold, d *watchdog) {
	defer close(d.done)
	select {
	case <-d.renewals.Lost():
	case <-d.stop:
		return
	}
	close(h.lost)
	h.mu.Lock()
	w := h.writer
	h.mu.Unlock()
	if w != nil {
		<-w.done
	}
	s.Send(&line{LineHeader: lines.LineHeader{Event: string(Lost)}})
}

func (c *client) write(_ context.Context, r *request) (answer line, err error) {
	if r.Every <= 0 {
		return answer, lines.Refuse("every_ns", "must be positive")
	}
	h, err := c.present(r.Lease)
	if err != nil {
		return answer, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.writer != nil {
		return answer, lines.Refuse("lease", "%d is written under already", r.Lease)
	}
	h.writer = &writer{make(chan struct{}), make(chan struct{})}
	go c.s.work(h.writer, h.lease.Fence, h.lost, r.Every)
	return answer, nil
}

// work writes until the lease is released, or known to be lost. Before each write it looks, and then works, during which
// anything may happen.
func (s *server) work(w *writer, fence uint64, lost <-chan struct{}, every time.Duration) {
	defer close(w.done)
	timer := time.NewTimer(every)
	defer timer.Stop()
	for count := uint64(1); ; count++ {
		select {
		case <-lost:
			return
		default:
		}
		timer.Reset(every)
		select {
		case <-timer.C:
		case <-w.stop:
			return
		}
		s.Send(&line{LineHeader: lines.LineHeader{Event: string(Wrote)}, Count: count, Fence: fence})
	}
}

// end ends the writes and then the watchdog, before a release.
func (h *hold) end() {
	if w := h.writer; w != nil {
		close(w.stop)
		<-w.done
		h.mu.Lock()
		h.writer = nil
		h.mu.Unlock()
	}
	if d := h.watchdog; d != nil {
		close(d.stop)
		<-d.done
		if isLost, _ := d.scheduler.Stop(d.renewals); isLost {
			d.scheduler.Await(d.renewals)
		}
		d.scheduler.Close()
		h.watchdog = nil
	}
	h.held = false
}
