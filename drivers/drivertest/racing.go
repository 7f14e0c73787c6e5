package drivertest

// Cases in which a call ends just as the key comes free. A server may grant the key to a statement that then fails; a
// driver that takes the failure for a refusal leaves the key locked.

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

const (
	races     = 24 // of each kind
	raceWidth = 300 * time.Microsecond
	headStart = 2 * time.Millisecond // of the call that is to end
)

// racing runs races of two events, of which the second is triggered about late after the first. If the second loses it is
// triggered earlier the next time, otherwise later: so both win about as often, whatever the machine takes for either.
func (t *T) racing(kinds int, race func(kind int, late time.Duration) (second bool)) {
	for kind := range kinds {
		var late time.Duration
		for n := range races {
			step := max(raceWidth/4, 2*time.Millisecond>>n)
			if race(kind, late+rand.N(2*raceWidth)-raceWidth) {
				late += step
			} else {
				late -= step
			}
		}
	}
}

// waitEndsAtRelease ends waits, by their contexts and by their deadlines, just as the key is released.
func waitEndsAtRelease(t *T) {
	holder, w, other := t.three()
	key := t.key()
	t.recovered(holder) // a wait whose context ends may be what connects, for a release that needs that connection as well
	t.racing(2, func(kind int, late time.Duration) (won bool) {
		held, l, next := holder.takes(key, long), lease(key, long), lease(key, long)
		ctx, cancel := context.WithCancel(t.ctx)
		defer cancel()
		end := time.Now().Add(headStart)
		l.Deadline = end
		if kind == 0 {
			l.Deadline = end.Add(waitTime)
			defer time.AfterFunc(headStart, cancel).Stop()
		}
		t.ends(slack, "a wait has not ended within %v, though the key was released and the wait's time was over", func(context.Context) {
			for won = w.try(l); !won && ctx.Err() == nil && time.Now().Before(l.Deadline); won = w.try(l) {
				if w.waiter.Wait(ctx, l) != nil {
					return
				}
			}
		}, func() {
			time.Sleep(time.Until(end.Add(late)))
			holder.release(held, true, "the client held the key; another one waited")
		})
		w.leave(l)
		if won {
			w.release(l, true, "the client held the key")
		}
		t.eventually("a key whose holder released it just as the only wait for it ended did not come free",
			func() bool { return other.tries(next) })
		other.release(next, true, "the client held the key")
		return won
	})
}

// attemptEndsAtRelease ends the contexts of attempts just as the key is released. Only an error that says so excludes a
// grant.
func attemptEndsAtRelease(t *T) {
	holder, c, other := t.three()
	t.recovered(holder) // some pools connect within the attempt that needs it, for all who wait for that connection
	t.racing(1, func(_ int, late time.Duration) bool {
		key := t.key() // its own, because a stalled library may send the attempt later still
		held, l, next := holder.takes(key, long), lease(key, long), lease(key, long)
		start := time.Now().Add(headStart)
		ctx, cancel := context.WithDeadline(t.ctx, start.Add(late+raceWidth))
		defer cancel()
		var got bool
		var err error
		t.ends(slack, "Try has not returned %v after its context ended", func(context.Context) {
			time.Sleep(time.Until(start))
			got, err = c.Try(ctx, l)
		}, func() {
			time.Sleep(time.Until(start.Add(rand.N(2*raceWidth) - raceWidth)))
			holder.release(held, true, "the client held the key; another one tried")
		})
		unknown := got || err != nil && !drivers.NoEffect(err)
		t.eventually("a key that was released while an attempt failed, and then by that client, did not come free", func() bool {
			if unknown { // again and again: a client library may send the first on another connection, ahead of the attempt
				_, err := c.Release(t.ctx, l)
				t.fatalIf(err != nil, "Release: %v", err)
			}
			c.leave(l)
			return other.tries(next)
		})
		other.release(next, true, "the client held the key")
		return err != nil
	})
}
