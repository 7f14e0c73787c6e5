// Waiting in the server, by a statement that ends with the lock, or with KILL QUERY from another connection.
package mysql

import (
	"context"
	sqldriver "database/sql/driver"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// interruptEvery is how long a KILL QUERY may take to show before it is sent again: it does nothing to a connection
// whose statement has not begun.
const interruptEvery = 20 * time.Millisecond

// wait runs a query that waits on the server for another holder. It ends it at until (never if that is zero), when ctx
// is done, and when the service closes: the query fails with errInterrupted then, or it was faster.
//
// The connection cannot just be closed: the session may hold other locks on it, and the server would notice only when
// the statement is over that it is to answer nobody.
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
	s.tally.trips.Add(1)
	row, err := c.rowWithin(context.Background(), forever, query, args...)
	close(over)
	if n := <-kills; n > 1 || n == 1 && numberOf(err) != errInterrupted {
		// A kill has missed the statement. Where it is kept for the next one, that is this one.
		if _, _, err := s.exec(context.Background(), c, "DO 0"); c.broken.Load() {
			return nil, err
		}
	}
	return row, err
}

// interrupt ends the statement of c, and tells how many kills that has taken. If the server cannot be told, it closes
// the connection.
func (s *session) interrupt(c *conn, over <-chan struct{}) (kills int) {
	ctx, cancel := context.WithTimeout(context.Background(), s.svc.cfg.IO())
	defer cancel()
	for {
		other, err := s.svc.control.get(ctx)
		if err == nil {
			_, _, err = other.exec(ctx, "KILL QUERY IS_USED_LOCK(?)", c.mark)
			s.svc.control.put(other)
			s.tally.trips.Add(1)
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

// waited returns what an interrupted or refused wait answers.
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
