// Sessions, and what happens to a connection that has failed: the server may still run its last statement and keep its
// locks. So it is killed over another connection, and nothing is reported about its locks before it is gone.
// And waiting in the server, by a statement that ends with the lock, or with KILL QUERY from another connection.
package mysql

import (
	"context"
	sqldriver "database/sql/driver"
	"errors"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// session is what the sessions of all designs have in common.
type session struct {
	svc    *service
	owners drivers.Owners
	lost   []*conn // failed connections that the server may still keep
	ended  error   // why the last of them has failed
	dead   bool    // it has crashed
}

// begin starts every call: it returns an error if the session is over, and kills lost connections.
func (s *session) begin(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.svc.closed() || s.dead {
		return errClosed
	}
	return s.killLost(ctx)
}

// killLost makes sure that the server has ended the lost connections. If it fails, nothing has changed, and the caller
// has sent nothing of its own.
func (s *session) killLost(ctx context.Context) error {
	for len(s.lost) > 0 {
		if err := s.kill(ctx, s.lost[0]); err != nil {
			return &drivers.Error{Class: lostClass(err), Op: "end a lost connection", Err: err}
		}
		s.lost = s.lost[1:]
	}
	return nil
}

// lostClass returns the class of an error of killLost. The call had no effect, as if there had been no connection.
func lostClass(err error) drivers.Class {
	switch class := drivers.ClassOf(err); class {
	case drivers.ClassTimeout, drivers.ClassClosed:
		return drivers.ClassConnect
	default:
		return class
	}
}

// kill makes the server end a lost connection.
func (s *session) kill(ctx context.Context, lost *conn) error {
	c, err := s.svc.control.get(ctx)
	if err != nil {
		return err
	}
	defer s.svc.control.put(c)
	return c.kill(ctx, lost)
}

// kill waits until the server has ended a connection, and kills it if necessary. The mark, not the number, tells
// whether it exists: numbers begin again with each start of the server. The mark is released last, when the
// connection's transaction is rolled back.
func (c *conn) kill(ctx context.Context, lost *conn) error {
	const first, last = time.Millisecond, 20 * time.Millisecond
	until := time.Now().Add(c.io)
	for pause := first; ; pause = min(2*pause, last) {
		row, err := c.row(ctx, "SELECT IS_USED_LOCK(?)", lost.mark)
		if err != nil || row[0] == nil {
			return err
		}
		if _, _, err := c.exec(ctx, "KILL IS_USED_LOCK(?)", lost.mark); err != nil && numberOf(err) != errUnknownThread {
			return err
		}
		if time.Now().After(until) {
			return errors.New("the server does not end it")
		}
		time.Sleep(pause)
	}
}

// Ended implements drivers.Ender: a hold ends with its connection.
func (s *session) Ended() error { return s.ended }

// lose gives up a connection that is not alive or has failed, and keeps the reason.
func (s *session) lose(c *conn) {
	s.ended = c.lastWords()
	s.abandon(c)
}

func (s *session) abandon(c *conn) {
	c.close()
	s.lost = append(s.lost, c)
}

// crash breaks connections. The session no longer checks what becomes of them, or of those lost before.
func (s *session) crash(conns ...*conn) {
	for _, c := range conns {
		if c != nil {
			c.crash()
		}
	}
	s.dead, s.lost = true, nil
}

// left kills what a wait has lost, even if its context is over.
func (s *session) left(ctx context.Context) error {
	if len(s.lost) == 0 || s.svc.closed() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.svc.cfg.IO())
	defer cancel()
	return fail("leave", s.killLost(ctx))
}

// leave closes a connection. If it may hold a lock, leave waits until the server has ended it; an error means that the
// server has not confirmed that in time, which it will do later.
func (s *session) leave(c *conn, holds bool) error {
	switch {
	case s.svc.closed():
		return nil
	case c != nil && holds:
		s.abandon(c)
	case c != nil:
		c.close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.svc.cfg.IO())
	defer cancel()
	return fail("close a session", s.killLost(ctx))
}

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
	row, err := c.rowWithin(context.Background(), forever, query, args...)
	close(over)
	if n := <-kills; n > 1 || n == 1 && numberOf(err) != errInterrupted {
		// A kill came after the statement. If the server keeps it for the next one, this is the next one.
		if _, _, err := c.exec(context.Background(), "DO 0"); c.broken.Load() {
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

// waited returns the result of a wait for l that was not won: nil at its deadline, and after a deadlock.
func (s *session) waited(ctx context.Context, l *drivers.Lease, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case s.svc.closed():
		return fail("wait", errClosed)
	case deadlocked(err), interrupted(err) && pastDeadline(l):
		return nil
	}
	return fail("wait", err)
}

// pastDeadline reports whether there is no time left to wait.
func pastDeadline(l *drivers.Lease) bool {
	return !l.Deadline.IsZero() && !time.Now().Before(l.Deadline)
}
