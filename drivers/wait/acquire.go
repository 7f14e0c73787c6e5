// The acquisition loop: try, wait, try again.

package wait

import (
	"context"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// Attempt is the result of an acquisition.
type Attempt struct {
	Tries   int   // calls of Try that the service has seen, and the one that confirmed a hand-over
	Local   int   // calls of Try that the local line refused (Queue)
	Waits   int   // calls of Wait, and so wake-ups, except for one that ended in an error
	Held    bool  // the lock was granted
	GaveUp  bool  // the library has given up by itself (drivers.ErrGaveUp)
	Unknown bool  // the last Try failed, but may have been granted: release, best effort
	Guessed bool  // Tries counts calls, since the library does not tell how many requests they sent
	Leave   error // what Leave returned: after an error, something may remain in a queue on the server

	Began time.Duration // when the first wait began, by the clock; 0 if there was none
	Asked time.Duration // when the last Try that followed a wait was sent; 0 if none was, or it only confirmed a hand-over
}

// attempting is an Attempt under way.
type attempting struct {
	Attempt
	line     *queued // nil without a local line
	call     *called // nil unless the library waits by itself
	observer Observer
}

// Observer is told of each Try that the service refused.
type Observer interface{ ServiceRefused() }

// After does what follows the first Try of an acquisition, which returned held and err: while another client has the
// lock, it waits by w and tries again, until l.Deadline. With a nil w it does not wait. The observer may be nil.
//
// If the lock is not held and err is nil, it was taken: the attempt was contended if w is nil; otherwise it timed
// out, or the library gave up. The last Try is sent before the Deadline; its answer counts even if it comes later. An
// error of Try ends the acquisition at once and leaves its outcome unknown, unless drivers.NoEffect says otherwise.
// An error of Wait, such as ctx.Err(), follows a Try that was refused, so nothing is held and nothing is unknown.
//
// The caller makes the first Try itself because most acquisitions end with it and it blocks: with hundreds of clients,
// each finds its stack out of the cache when the answer arrives, and one more frame between caller and driver is
// expensive.
//
// After allocates nothing, unless ctx ends while it waits.
func After(ctx context.Context, held bool, err error, s drivers.Session, w drivers.Waiter, l *drivers.Lease,
	clock *drivers.Clock, observer Observer) (Attempt, error) {
	a := attempting{observer: observer}
	a.line, _ = drivers.As[*queued](s)
	if a.call, _ = drivers.As[*called](s); a.call != nil && w == nil { // Try has sent nothing
		held, err = a.call.now(ctx, l)
	}
	if a.call == nil || w == nil {
		a.answer(held, err)
	} else {
		a.call.observer, a.call.clock, a.call.refused = observer, clock, 0
	}
	if held || err != nil || w == nil {
		return a.Attempt, err
	}
	err = a.wait(ctx, s, w, l, clock)
	a.Leave = leave(ctx, w, l) // also without any Wait: the refused Try may have taken a place in line
	return a.Attempt, err
}

// wait waits and tries until l is held, its deadline has passed, or something fails.
func (a *attempting) wait(ctx context.Context, s drivers.Session, w drivers.Waiter, l *drivers.Lease,
	clock *drivers.Clock) error {
	now := clock.Now()
	a.Began = now
	for !past(l, clock, now) {
		a.Waits++
		err := w.Wait(ctx, l)
		if a.call != nil {
			a.calledBack(err)
		}
		if a.GaveUp = err == drivers.ErrGaveUp; a.GaveUp {
			return nil
		} else if err != nil {
			return err
		}
		now = clock.Now()
		passed := a.line != nil && a.line.Passed() // before the deadline; the answer came later
		if past(l, clock, now) && !passed {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err // woken and cancelled at once: a Try now would turn a plain end into an unknown outcome
		}
		if !passed {
			a.Asked = now
		}
		held, err := s.Try(ctx, l)
		a.answer(held, err)
		if held || err != nil {
			return err
		}
		if !l.Deadline.IsZero() {
			now = clock.Now()
		}
	}
	return nil
}

// answer counts the answer of the last Try.
func (a *attempting) answer(held bool, err error) {
	switch {
	case !held && err == nil && a.line != nil && a.line.state == idle: // the line has refused it
		a.Local++
		return
	case held && a.call != nil && a.Tries > 0: // it confirms what the library has won
		a.Held = true
		return
	}
	a.Answer(held, err, a.observer)
}

// Answer counts the service's answer to a Try. The observer may be nil.
func (a *Attempt) Answer(held bool, err error, observer Observer) {
	switch {
	case err != nil:
		a.Unknown = !drivers.NoEffect(err)
	case held:
		a.Held = true
	case observer != nil:
		observer.ServiceRefused()
	}
	a.Tries++
}

func past(l *drivers.Lease, clock *drivers.Clock, now time.Duration) bool {
	return !l.Deadline.IsZero() && !clock.Time(now).Before(l.Deadline)
}

// leaveTimeout bounds the withdrawal once ctx has ended.
const leaveTimeout = drivers.DefaultIOTimeout

// leave withdraws what w has registered, also when ctx is done: a client that gives up must not block the queue behind
// it.
func leave(ctx context.Context, w drivers.Waiter, l *drivers.Lease) error {
	ctx, cancel := outlive(ctx)
	defer cancel()
	return w.Leave(ctx, l)
}

// outlive returns ctx or, if that has ended, one that lives on for a while.
func outlive(ctx context.Context) (context.Context, context.CancelFunc) {
	if ctx.Err() == nil {
		return ctx, func() {}
	}
	return context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
}
