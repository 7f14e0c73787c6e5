// The acquisition loop: try, wait, try again.

package wait

import (
	"context"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// Attempt is how an acquisition went.
type Attempt struct {
	Held    bool  // the lock was granted
	Tries   int   // calls of Try that the service has seen, and the one that confirmed a hand-over
	Local   int   // calls of Try that the local line refused (Queue)
	Waits   int   // calls of Wait, and so wake-ups, but for one that ended in an error
	Unknown bool  // the last Try failed, and may have been granted all the same: release, best effort
	Leave   error // what Leave answered: after an error something of ours may remain in a queue on the server

	Began time.Duration // when the first wait began, by the clock; 0 without any
	Asked time.Duration // when the last Try that followed a wait was sent; 0 if none was, or it only confirmed a hand-over
}

// attempting is an Attempt under way.
type attempting struct {
	Attempt
	line    *queued // nil: there is none
	refused func()
}

// After is what follows the first Try of an acquisition, whose answer was held and err: while somebody else has the
// lock it waits by w and tries again, until l.Deadline. Without a waiter that one try was all. refused, unless nil, is
// called after each Try that the service has refused.
//
// Not held and no error means that the lock was found taken: contended if w is nil, and else timed out. The last Try
// is sent before the Deadline; its answer may come later, and then still counts. An error of Try ends the acquisition
// at once and leaves its outcome unknown, unless it is a refusal, as package drivers says. An error of Wait, ctx.Err()
// among them, comes after a Try that was answered with no, so that nothing is held and nothing is unknown.
//
// The first Try is the caller's because most acquisitions end with it and it blocks: of hundreds of clients each finds
// its stack out of the cache when the answer has come, and a frame between the caller and the driver is dear then.
//
// It allocates nothing of its own, unless ctx ends while it waits.
func After(ctx context.Context, held bool, err error, s drivers.Session, w drivers.Waiter, l *drivers.Lease,
	clock *drivers.Clock, refused func()) (Attempt, error) {
	a := attempting{refused: refused}
	a.line, _ = drivers.As[*queued](s)
	if a.answer(held, err); held || err != nil || w == nil {
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
		if err := w.Wait(ctx, l); err != nil {
			return err
		}
		now = clock.Now()
		passed := a.line != nil && a.line.granted() // before the deadline; the answer came later
		if past(l, clock, now) && !passed {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err // woken and cancelled at once: a Try now would only turn a plain end into an unknown outcome
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

// answer notes what the last Try has answered.
func (a *attempting) answer(held bool, err error) {
	switch {
	case err != nil:
		a.Unknown = !drivers.NoEffect(err)
	case held:
		a.Held = true
	case a.line != nil && a.line.local:
		a.Local++
		return
	case a.refused != nil:
		a.refused()
	}
	a.Tries++
}

func past(l *drivers.Lease, clock *drivers.Clock, now time.Duration) bool {
	return !l.Deadline.IsZero() && !clock.Time(now).Before(l.Deadline)
}

// leaveTimeout bounds the withdrawal after the end of ctx.
const leaveTimeout = drivers.DefaultIOTimeout

// leave withdraws what w has registered, also when ctx is done: whoever gives up must not block the queue behind him.
func leave(ctx context.Context, w drivers.Waiter, l *drivers.Lease) error {
	if ctx.Err() != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
		defer cancel()
	}
	return w.Leave(ctx, l)
}
