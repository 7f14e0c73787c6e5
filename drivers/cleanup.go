package drivers

import (
	"context"
	"errors"
	"time"
)

const (
	cleanupPause    = 50 * time.Millisecond // before the second attempt; it doubles before each further one
	maxCleanupPause = 2 * time.Second
	cleanupTimeouts = 2 // attempts in a row that may time out
)

// RetryCleanup calls attempt, which deletes what a run has made, until it succeeds or ctx is done: a server that restarts or
// loads its data answers again soon. It gives up earlier on a server that rejects the login, and on one that lets two
// attempts in a row time out, because that server hangs. It returns the error of the last attempt that failed while
// there was time.
func RetryCleanup(ctx context.Context, attempt func() error) error {
	var reason error
	timeouts := 0
	for pause := cleanupPause; ; pause = min(2*pause, maxCleanupPause) {
		err := attempt()
		if err == nil {
			return nil
		}
		if reason == nil || ctx.Err() == nil { // otherwise err only says that the time is over
			reason = err
		}
		if timeouts++; !TimedOut(err) {
			timeouts = 0
		}
		if timeouts == cleanupTimeouts || ClassOf(err) == ClassAuth {
			return reason
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return reason
		}
	}
}

// TimedOut reports whether a request or an attempt to connect has timed out. The class of the latter is connect.
func TimedOut(err error) bool {
	var timeout interface{ Timeout() bool }
	return ClassOf(err) == ClassTimeout || errors.As(err, &timeout) && timeout.Timeout()
}
