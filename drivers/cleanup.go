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

// RetryCleanup calls attempt, which deletes what a run has made, until it succeeds or ctx is done, because a server
// that restarts or loads its data soon answers again. It gives up earlier if the server rejects the login, or hangs,
// that is, two attempts in a row time out. It returns the error of the last attempt that failed before ctx was done.
func RetryCleanup(ctx context.Context, attempt func() error) error {
	var reason error
	timeouts := 0
	for pause := cleanupPause; ; pause = min(2*pause, maxCleanupPause) {
		err := attempt()
		if err == nil {
			return nil
		}
		if reason == nil || ctx.Err() == nil { // otherwise err only says that ctx is done
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

// TimedOut reports whether a request or a connection attempt timed out. The class of the latter is connect.
func TimedOut(err error) bool {
	var timeout interface{ Timeout() bool }
	return ClassOf(err) == ClassTimeout || errors.As(err, &timeout) && timeout.Timeout()
}
