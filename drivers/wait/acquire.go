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
}

// After is what follows the first Try of an acquisition, whose answer was held and err: while somebody else has the
// lock it waits by w and tries again, until l.Deadline. Without a waiter that one try was all.
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
	clock *drivers.Clock) (Attempt, error) {
	var a Attempt
	a.answer(held, err, s)
	if held || err != nil || w == nil {
		return a, err
	}
	err = a.wait(ctx, s, w, l, clock)
	a.Leave = leave(ctx, w, l) // also without any Wait: the refused Try may have taken a place in line
	return a, err
}

// wait waits and tries until l is held, its deadline has passed, or something fails.
func (a *Attempt) wait(ctx context.Context, s drivers.Session, w drivers.Waiter, l *drivers.Lease,
	clock *drivers.Clock) error {
	for !past(l, clock, clock.Now()) {
		a.Waits++
		if err := w.Wait(ctx, l); err != nil {
			return err
		}
		if past(l, clock, clock.Now()) && !passed(s) {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err // woken and cancelled at once: a Try now would only turn a plain end into an unknown outcome
		}
		held, err := s.Try(ctx, l)
		a.answer(held, err, s)
		if held || err != nil {
			return err
		}
	}
	return nil
}

// passed tells whether the last Wait has got the lock, so that the next Try only confirms it. It was passed before the
// deadline, and the answer came later.
func passed(s drivers.Session) bool {
	q, ok := drivers.As[interface{ granted() bool }](s)
	return ok && q.granted()
}

// answer notes what the last Try of s has answered.
func (a *Attempt) answer(held bool, err error, s drivers.Session) {
	switch {
	case err != nil:
		a.Unknown = !drivers.Refused(err)
	case held:
		a.Held = true
	case refusedLocally(s):
		a.Local++
		return
	}
	a.Tries++
}

// refusedLocally tells whether the last Try, which was refused, was never sent.
func refusedLocally(s drivers.Session) bool {
	q, ok := drivers.As[*queued](s)
	return ok && q.local
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
