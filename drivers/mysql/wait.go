// Waiting in the server, by a statement that ends with the lock, or with KILL QUERY from another connection.
package mysql

import (
	"context"
	sqldriver "database/sql/driver"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// interruptEvery is the interval of repeated KILL QUERYs: one does nothing to a connection whose statement has not
// begun.
const interruptEvery = 20 * time.Millisecond

// wait runs a query that waits on the server for another holder. It ends the query at until (never if that is zero),
// when ctx is done, and when the service closes: then the query fails with errInterrupted, unless it was faster.
//
// The connection cannot simply be closed: the session may hold other locks on it, and the server would notice only
// after the statement that there is no client to answer.
func (s *session) wait(
	ctx context.Context, c *conn, until time.Time, query string, args ...any,
) ([]sqldriver.Value, error) {
	over, kills := make(chan struct{}), make(chan int)
	go func() {
		var timeUp <-chan time.Time
		if !until.IsZero() {
			timer := time.NewTimer(time.Until(until))
			defer timer.Stop()
			timeUp = timer.C
		}
		select {
		case <-over:
			kills <- 0
			return
		case <-timeUp:
		case <-ctx.Done():
		case <-s.svc.closing:
		}
		kills <- s.interrupt(c, over)
	}()
	s.counts.trips.Add(1)
	row, err := c.rowWithin(context.Background(), forever, query, args...)
	close(over)
	if n := <-kills; n > 1 || n == 1 && numberOf(err) != errInterrupted {
		// A kill came after the statement. If the server keeps it for the next one, this is the next one.
		if _, _, err := s.exec(context.Background(), c, "DO 0"); c.broken.Load() {
			return nil, err
		}
	}
	return row, err
}

// interrupt ends the statement of c, and returns the number of kills that took. If the server cannot be told, it closes
// the connection.
func (s *session) interrupt(c *conn, over <-chan struct{}) (kills int) {
	ctx, cancel := context.WithTimeout(context.Background(), s.svc.cfg.IO())
	defer cancel()
	for {
		other, err := s.svc.control.get(ctx)
		if err == nil {
			_, _, err = other.exec(ctx, "KILL QUERY IS_USED_LOCK(?)", c.mark)
			s.svc.control.put(other)
			s.counts.trips.Add(1)
		}
		if err != nil && numberOf(err) != errUnknownThread {
			_ = c.wire.Close()
			return kills
		}
		kills++
		select {
		case <-over:
			return kills
		case <-time.After(interruptEvery):
		}
	}
}

// waited returns the result of an interrupted or refused wait.
func waited(ctx context.Context, s *session, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case s.svc.closed():
		return fail("wait", errClosed)
	case contended(err), numberOf(err) == errInterrupted:
		return nil
	}
	return fail("wait", err)
}

// pastDeadline reports whether there is no time left to wait.
func pastDeadline(l *drivers.Lease) bool {
	return !l.Deadline.IsZero() && !time.Now().Before(l.Deadline)
}
