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

// The events.
const (
	eventWrite   = "write"
	eventRenewed = "renewed"
	eventLost    = "lost"
	eventGap     = "gap"
)

// hold is one numbered lease of a worker.
type hold struct {
	number int
	lease  drivers.Lease
	began  time.Duration // when the last try was sent
	held   bool
	lost   chan struct{} // closed when the watchdog knows that the lease is lost; a new one for each grant

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

func (s *server) try(ctx context.Context, text []byte) (answer line, err error) {
	r, err := lines.Decode[tryRequest](text)
	if err != nil {
		return answer, err
	}
	if err := r.check(); err != nil {
		return answer, err
	}
	h := s.holds[r.Lease]
	switch {
	case h == nil:
		h = &hold{number: r.Lease}
		s.holds[r.Lease] = h
	case h.watchdog != nil || h.writer != nil:
		return answer, lines.Refuse("lease", "%d is watched or written under: release it first", r.Lease)
	}
	h.lease.Key, h.lease.TTL = r.Key, r.TTL
	s.using.Lock()
	defer s.using.Unlock()
	h.began = s.Clock.Now()
	held, err := s.session.Try(ctx, &h.lease)
	if h.held = held && err == nil; h.held {
		h.lost = make(chan struct{})
	}
	answer = line{Held: &held, Owner: h.lease.Owner, Fence: h.lease.Fence, Valid: s.valid(h.lease.ValidUntil, h.began)}
	return answer, err
}

func (r *tryRequest) check() error {
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
func (s *server) valid(until time.Time, from time.Duration) time.Duration {
	if until.IsZero() {
		return 0
	}
	return s.Clock.Reading(until) - from
}

func (s *server) release(ctx context.Context, text []byte) (answer line, err error) {
	_, l, err := s.given(text, (*hold).end)
	if err != nil {
		return answer, err
	}
	s.using.Lock()
	defer s.using.Unlock()
	owned, err := s.session.Release(ctx, l)
	return line{Owned: &owned}, err
}

func (s *server) renew(ctx context.Context, text []byte) (answer line, err error) {
	if s.renewer == nil {
		return answer, lines.Refuse("op", "the lock does not renew")
	}
	h, l, err := s.given(text, nil)
	if err != nil {
		return answer, err
	}
	if h != nil && h.watchdog != nil {
		return answer, lines.Refuse("lease", "%d is watched, which renews it", h.number)
	}
	s.using.Lock()
	defer s.using.Unlock()
	began := s.Clock.Now()
	owned, err := s.renewer.Renew(ctx, l)
	return line{Owned: &owned, Valid: s.valid(l.ValidUntil, began)}, err
}

// given returns the lease of a release or a renew. Unless it is the present one of its number, for which prepare is
// called, it is made of what the request says.
func (s *server) given(text []byte, prepare func(*hold)) (*hold, *drivers.Lease, error) {
	r, err := lines.Decode[leaseRequest](text)
	if err != nil {
		return nil, nil, err
	}
	if err := r.check(); err != nil {
		return nil, nil, err
	}
	h := s.holds[r.Lease]
	if h == nil || h.lease.Key != r.Key || r.Owner != "" && r.Owner != h.lease.Owner {
		return nil, &drivers.Lease{Key: r.Key, TTL: r.TTL, Owner: r.Owner}, nil
	}
	if prepare != nil {
		prepare(h)
	}
	return h, &h.lease, nil
}

// present returns a lease that is held, as far as the worker knows.
func (s *server) present(number int) (*hold, error) {
	h := s.holds[number]
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

func (s *server) watch(_ context.Context, text []byte) (answer line, err error) {
	r, err := lines.Decode[watchRequest](text)
	if err != nil {
		return answer, err
	}
	if s.renewer == nil {
		return answer, lines.Refuse("op", "the lock does not renew")
	}
	h, err := s.present(r.Lease)
	switch {
	case err != nil:
		return answer, err
	case h.watchdog != nil:
		return answer, lines.Refuse("lease", "%d is watched already", r.Lease)
	case h.lease.TTL == 0:
		return answer, lines.Refuse("lease", "%d was tried without ttl_ns", r.Lease)
	}
	d := &watchdog{
		scheduler: renew.New(renew.Options{Clock: s.Clock, Workers: 1, Renewed: func(r renew.Renewal) { s.renewed(h.number, r) }}),
		renewals:  renew.NewHold(oneAtATime{s}),
		stop:      make(chan struct{}), done: make(chan struct{}),
	}
	h.watchdog = d
	d.scheduler.Start(d.renewals, &h.lease, h.began)
	go s.guard(h, d)
	return answer, nil
}

// oneAtATime renews while no request uses the session.
type oneAtATime struct{ s *server }

func (o oneAtATime) Renew(ctx context.Context, l *drivers.Lease) (bool, error) {
	o.s.using.Lock()
	defer o.s.using.Unlock()
	return o.s.renewer.Renew(ctx, l)
}

func (s *server) renewed(number int, r renew.Renewal) {
	l := &line{LineHeader: lines.LineHeader{Event: eventRenewed}, Lease: number, Begun: r.Sent}
	if r.Err != nil {
		l.Error = lines.FailureOf(r.Err)
	} else {
		l.Owned = &r.Owned
	}
	s.Send(l)
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
	s.Send(&line{LineHeader: lines.LineHeader{Event: eventLost}, Lease: h.number})
}

func (s *server) write(_ context.Context, text []byte) (answer line, err error) {
	r, err := lines.Decode[writeRequest](text)
	if err != nil {
		return answer, err
	}
	if r.Every <= 0 {
		return answer, lines.Refuse("every_ns", "must be positive")
	}
	h, err := s.present(r.Lease)
	if err != nil {
		return answer, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.writer != nil {
		return answer, lines.Refuse("lease", "%d is written under already", r.Lease)
	}
	h.writer = &writer{make(chan struct{}), make(chan struct{})}
	go s.work(h.writer, h.number, h.lease.Fence, h.lost, r.Every)
	return answer, nil
}

// work writes until the lease is released, or known to be lost. Before each write it looks, and then works, during which
// anything may happen.
func (s *server) work(w *writer, number int, fence uint64, lost <-chan struct{}, every time.Duration) {
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
		s.Send(&line{LineHeader: lines.LineHeader{Event: eventWrite}, Lease: number, Count: count, Fence: fence})
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
