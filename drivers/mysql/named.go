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

// drop gives up the connection, and everything that it holds.
func (s *nameSession) drop() {
	s.lose(s.conn)
	s.conn, s.won = nil, ""
	clear(s.held)
}

// owner returns the owner of the key's hold, or a new one.
func (s *nameSession) owner(key string) string {
	if h := s.held[key]; h != nil {
		return h.owner
	}
	return s.owners.Next()
}

// answered handles the answer of GET_LOCK: 1 is held, 0 is refused, NULL is an unspecified error.
func (s *nameSession) answered(c *conn, l *drivers.Lease, row []sqldriver.Value, err error) (bool, error) {
	switch {
	case err != nil:
		if c.broken.Load() {
			s.drop()
		}
		return false, err
	case row[0] == nil:
		err := errors.New("the server answers NULL, its name for any error")
		for _, setting := range []string{"max_statement_time", "max_execution_time"} {
			if limit := s.svc.about.limits[setting]; limit > 0 && time.Since(c.used) >= limit {
				return false, s.svc.ended(setting, err)
			}
		}
		return false, &drivers.Error{Class: drivers.ClassServer, Op: "GET_LOCK", Err: err}
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

// gone waits until connections whose marks are released no longer hold the key: the server releases the names of a
// closing connection one after the other. If a restarted server gives the same number to another connection, the wait
// ends as well.
func (s *nameSession) gone(ctx context.Context, lost []*conn, key string) error {
	if len(lost) == 0 {
		return nil
	}
	return s.svc.controlled(ctx, "look for the holder", func(c *conn) error {
		for range 50 {
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

// unlimited is the time-out of GET_LOCK without a deadline; interrupt may end it earlier.
const unlimited = 30 * 24 * time.Hour

// killLate is how much GET_LOCK may exceed its time-out before it is killed.
const killLate = 100 * time.Millisecond

// Wait implements drivers.Waiter with a single GET_LOCK for the whole time: a client that asked repeatedly would lose
// its place in line each time. MariaDB accepts fractions of a second; on MySQL it is killed at the deadline.
func (s *nameSession) Wait(ctx context.Context, l *drivers.Lease) error {
	if pastDeadline(l) && ctx.Err() == nil || s.won != "" {
		return nil
	}
	c, err := s.take(ctx)
	if err != nil {
		return s.waited(ctx, l, err)
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
	ended := interrupted(err) || err == nil && row[0] == nil
	held, err := s.answered(c, &own, row, err)
	if held {
		s.won = l.Key
	}
	if held && !s.svc.closed() { // otherwise its holder was closed first
		return nil
	}
	if ended && !c.broken.Load() && s.held[l.Key] == nil { // it may have been granted at the same moment
		if _, err := c.row(context.Background(), "SELECT RELEASE_LOCK(?)", lockName(l.Key)); err != nil {
			s.drop()
		}
	}
	if ended && pastDeadline(l) {
		err = nil
	}
	return s.waited(ctx, l, err)
}

// Leave implements drivers.Waiter: it releases what Wait has won and no Try has confirmed, or may still win on a
// connection that has failed.
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

// Crash implements drivers.Crasher. The server frees what the connection held as soon as it notices its end.
func (s *nameSession) Crash() {
	s.crash(s.conn)
	s.conn, s.won = nil, ""
	clear(s.held)
}

// Close implements io.Closer. When it returns, what the session held is free.
func (s *nameSession) Close() error {
	c, holds := s.conn, len(s.held) > 0
	s.conn, s.won = nil, ""
	clear(s.held)
	return s.leave(c, holds)
}
