// The connection of get-lock, and how it waits.
package mysql

import (
	"context"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// connect makes the session's connection.
func (s *nameSession) connect(ctx context.Context) error {
	_, err := s.take(ctx)
	return err
}

// take returns the session's connection, a new one if the old one is lost.
func (s *nameSession) take(ctx context.Context) (*conn, error) {
	if s.conn != nil && !s.conn.alive() && !s.svc.closed() && ctx.Err() == nil {
		s.drop()
	}
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	if s.conn == nil {
		c, err := s.svc.dial(ctx, forStatements)
		if err != nil {
			return nil, err
		}
		s.conn = c
	}
	return s.conn, nil
}

// drop gives the connection up, and everything that it holds.
func (s *nameSession) drop() {
	s.abandon(s.conn)
	s.conn, s.won = nil, ""
	clear(s.held)
}

// owner returns that of the key's hold, or a new one.
func (s *nameSession) owner(key string) string {
	if h := s.held[key]; h != nil {
		return h.owner
	}
	return s.owners.Next()
}

// answered takes down what GET_LOCK has answered: 1 is held, 0 is refused, NULL is an error that it does not name.
func (s *nameSession) answered(c *conn, l *drivers.Lease, row []sqldriver.Value, err error, op string) (bool, error) {
	switch {
	case err != nil:
		if c.broken.Load() {
			s.drop()
		}
		return false, fail(op, err)
	case row[0] == nil:
		err := errors.New("the server answers NULL, its name for any error")
		return false, fail(op, &drivers.Error{Class: drivers.ClassServer, Op: "GET_LOCK", Err: err})
	case number(row[0]) != 1:
		return false, nil
	}
	if h := s.held[l.Key]; h != nil {
		h.times++
	} else {
		s.held[l.Key] = &hold{l.Owner, 1}
	}
	return true, nil
}

// gone makes sure that connections whose marks are released hold the key no longer: the server releases the names of
// a connection that ends one after the other. That a later start of the server gives the same number to another
// connection ends the question, too.
func (s *nameSession) gone(ctx context.Context, lost []*conn, key string) error {
	if len(lost) == 0 {
		return nil
	}
	return s.svc.controlled(ctx, "look for the holder", func(c *conn) error {
		for range 50 {
			s.tally.trips.Add(1)
			row, err := c.row(ctx, "SELECT IS_USED_LOCK(?)", lockName(key))
			if err != nil {
				return err
			}
			left := false
			for _, old := range lost {
				left = left || number(row[0]) == old.id
			}
			if !left {
				return nil
			}
			time.Sleep(time.Millisecond)
		}
		return nil
	})
}

// unlimited is how long GET_LOCK waits for who has no deadline; interrupt ends it before that if need be.
const unlimited = 30 * 24 * time.Hour

// killLate is by how much GET_LOCK may overrun the time that it was told before it is killed.
const killLate = 100 * time.Millisecond

// Wait implements drivers.Waiter with one GET_LOCK for all the time that there is: whoever asked again in slices would
// lose his place in line each time. MariaDB takes fractions of a second; MySQL is killed at the deadline.
func (s *nameSession) Wait(ctx context.Context, l *drivers.Lease) error {
	if pastDeadline(l) && ctx.Err() == nil || s.won != "" {
		return nil
	}
	c, err := s.take(ctx)
	if err != nil {
		return waited(ctx, s.session, err)
	}
	kill, limit := l.Deadline, unlimited
	if !kill.IsZero() {
		limit = time.Until(kill)
	}
	seconds := strconv.FormatInt(int64(math.Ceil(limit.Seconds())), 10)
	if s.svc.about.maria() && !kill.IsZero() {
		seconds, kill = fmt.Sprintf("%.6f", max(0, limit.Seconds())), kill.Add(killLate)
	}
	own := drivers.Lease{Key: l.Key, Owner: s.owner(l.Key)}
	row, err := s.wait(ctx, c, kill, "SELECT GET_LOCK(?, "+seconds+")", lockName(l.Key))
	interrupted := numberOf(err) == errInterrupted || err == nil && row[0] == nil
	if interrupted && (ctx.Err() != nil || s.svc.closed() || pastDeadline(l)) {
		return waited(ctx, s.session, nil)
	}
	held, err := s.answered(c, &own, row, err, "wait")
	if held {
		s.won = l.Key
	}
	if held && !s.svc.closed() { // else who held it was closed first
		return nil
	}
	return waited(ctx, s.session, err)
}

// Leave implements drivers.Waiter: it gives back what Wait has won and no Try has confirmed, or may be about to win on
// a connection that has failed.
func (s *nameSession) Leave(ctx context.Context, _ *drivers.Lease) error {
	if s.won == "" {
		return s.left(ctx)
	}
	l := drivers.Lease{Key: s.won, Owner: s.held[s.won].owner}
	_, err := s.Release(context.WithoutCancel(ctx), &l)
	if err == nil {
		s.won = ""
	}
	return err
}

// Crash implements drivers.Crasher. The server frees what the connection held as soon as it hears that it has ended.
func (s *nameSession) Crash() {
	s.crash(s.conn)
	s.conn, s.won = nil, ""
	clear(s.held)
}

// Close implements io.Closer. What the session holds is free when it has returned.
func (s *nameSession) Close() error {
	c, holds := s.conn, len(s.held) > 0
	s.conn, s.won = nil, ""
	clear(s.held)
	return s.leave(c, holds)
}
