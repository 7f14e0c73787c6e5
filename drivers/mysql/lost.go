// Sessions, and what becomes of a connection that has failed: the server may still run its last statement and keep its
// locks, so it is killed over another one, and nothing is said of its locks before it is gone.
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
	tally  *tally
	owners drivers.Owners
	lost   []*conn // connections that have failed, and that the server may still keep
	dead   bool    // it has crashed
}

// begin starts every call: it refuses what is over, and settles what an earlier call has left open.
func (s *session) begin(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.svc.closed() || s.dead {
		return errClosed
	}
	return s.settle(ctx)
}

// settle makes sure that the server has ended the connections that were lost. An error of it leaves all as it was, and
// means that the call that settles has sent nothing of its own.
func (s *session) settle(ctx context.Context) error {
	for len(s.lost) > 0 {
		if err := s.bury(ctx, s.lost[0]); err != nil {
			return &drivers.Error{Class: settleClass(err), Op: "end a lost connection", Err: err}
		}
		s.lost = s.lost[1:]
	}
	return nil
}

// settleClass returns the class of an error whose request was about another connection: the call has had no effect, so that
// it is as if there had been no connection.
func settleClass(err error) drivers.Class {
	switch class := drivers.ClassOf(err); class {
	case drivers.ClassTimeout, drivers.ClassClosed:
		return drivers.ClassConnect
	default:
		return class
	}
}

// bury has the server end a connection that was lost.
func (s *session) bury(ctx context.Context, lost *conn) error {
	c, err := s.svc.control.get(ctx)
	if err != nil {
		return err
	}
	defer s.svc.control.put(c)
	return c.bury(ctx, lost, s.tally)
}

// bury waits until the server has ended a connection, and kills it if it does not by itself. The mark, and not the
// number, says whether it is there: numbers begin anew with each start of the server. The mark is released last, when
// the connection's transaction is rolled back.
func (c *conn) bury(ctx context.Context, lost *conn, t *tally) error {
	const first, last = time.Millisecond, 20 * time.Millisecond
	until := time.Now().Add(c.io)
	for pause := first; ; pause = min(2*pause, last) {
		t.trips.Add(1)
		row, err := c.row(ctx, "SELECT IS_USED_LOCK(?)", lost.mark)
		if err != nil || row[0] == nil {
			return err
		}
		t.trips.Add(1)
		if _, _, err := c.exec(ctx, "KILL IS_USED_LOCK(?)", lost.mark); err != nil && numberOf(err) != errUnknownThread {
			return err
		}
		if time.Now().After(until) {
			return errors.New("the server does not end it")
		}
		time.Sleep(pause)
	}
}

// exec and row run a statement on c and count it.
func (s *session) exec(ctx context.Context, c *conn, query string, args ...any) (affected, insertID int64, err error) {
	s.tally.trips.Add(1)
	return c.exec(ctx, query, args...)
}

func (s *session) row(ctx context.Context, c *conn, query string, args ...any) ([]sqldriver.Value, error) {
	s.tally.trips.Add(1)
	return c.row(ctx, query, args...)
}

// abandon gives a connection up that has failed.
func (s *session) abandon(c *conn) {
	c.close()
	s.lost = append(s.lost, c)
}

// crash breaks connections. Nobody asks any more what the server makes of them, nor of those that were lost before.
func (s *session) crash(conns ...*conn) {
	for _, c := range conns {
		if c != nil {
			c.crash()
		}
	}
	s.dead, s.lost = true, nil
}

// left settles what a wait has left open, also when its context is over.
func (s *session) left(ctx context.Context) error {
	if len(s.lost) == 0 || s.svc.closed() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.svc.cfg.IO())
	defer cancel()
	return fail("leave", s.settle(ctx))
}

// leave closes a connection. If a lock may be on it, it waits until the server has ended it; the error says that it has
// not said so in time, which it will do nevertheless.
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
	return fail("close a session", s.settle(ctx))
}
