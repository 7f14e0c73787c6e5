package renew

// The goroutines: the dispatcher knows which hold is due, and the workers send.

import "time"

// dispatch looks at every hold that is due.
func (s *Scheduler) dispatch() {
	timer := time.NewTimer(never)
	defer timer.Stop()
	for {
		now := s.clock.Now()
		next, closed := s.round(now)
		if closed {
			return
		}
		timer.Reset(next - now)
		select {
		case <-timer.C:
		case <-s.sooner:
		}
	}
}

// round looks at the holds that are due, and returns when to call it again.
func (s *Scheduler) round(now time.Duration) (next time.Duration, closed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = -1
	for len(s.queue) > 0 && s.queue[0].wake <= now+s.queue[0].slack {
		s.look(s.queue[0], now)
	}
	s.next = never
	if len(s.queue) > 0 {
		s.next = s.queue[0].wake
	}
	return s.next, s.closed
}

// look decides what to do with a hold that is due. Its holder may start or stop it meanwhile, but not once it is
// claimed.
func (s *Scheduler) look(h *Hold, now time.Duration) {
	for {
		state := h.state.Load()
		due := time.Duration(state >> flagBits)
		switch {
		case state&active == 0: // it has stopped, and was not started again
			if h.state.CompareAndSwap(state, 0) {
				s.queue.remove(h)
				return
			}
		case state&claimed != 0: // and its lease has ended without an answer
			s.lose(h)
			return
		case due > now+h.slack: // it was started again after it was queued
			s.queue.place(h, due)
			return
		default:
			if h.state.CompareAndSwap(state, state|claimed) {
				s.claim(h, now)
				return
			}
		}
	}
}

// claim queues a hold for a worker, and makes the dispatcher look at it again when its lease ends. That cannot be left
// to the workers: a server that does not answer keeps them all waiting.
func (s *Scheduler) claim(h *Hold, now time.Duration) {
	if now >= h.term.Valid {
		s.lose(h)
		return
	}
	s.plan(h, h.term.Valid, 0)
	s.enlist(h)
}

// lose reports a hold as lost and forgets it.
func (s *Scheduler) lose(h *Hold) {
	h.state.Store(lost)
	s.queue.remove(h)
	h.told <- struct{}{} // there is room: Stop has drained it, and a hold is lost once
}

// worker sends one renewal after the other.
func (s *Scheduler) worker() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if s.closed {
			return
		}
		if len(s.ready) == 0 {
			s.work.Wait()
			continue
		}
		h := s.ready[0]
		s.ready = s.ready[1:]
		h.listed = false
		if h.state.Load()&claimed == 0 {
			continue // stopped or lost while it was queued
		}
		h.inFlight = true
		s.mu.Unlock()
		r := s.renew(h)
		s.mu.Lock()
		s.finish(h, r)
	}
}

// finish handles the result of a renewal.
func (s *Scheduler) finish(h *Hold, r Renewal) {
	h.inFlight = false
	switch {
	case h.state.Load()&claimed == 0: // lost meanwhile
	case h.term.Lost:
		s.lose(h)
	case h.waiting: // its holder is stopping it: no other renewal may come in between
		h.state.Store(active)
		s.queue.remove(h)
	default:
		due := h.term.Due // read before the holder may start it again
		h.state.Store(word(due, active|queued))
		s.plan(h, due, h.every/early)
	}
	if h.waiting {
		h.waiting = false
		h.finished <- struct{}{}
	}
}
