// The connections of row-lock, the rows that it locks, and how it waits.
package mysql

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// connect makes the session's first connection.
func (s *txSession) connect(ctx context.Context) (err error) {
	s.idle, err = s.take(ctx)
	return err
}

// take returns a connection without a lock.
func (s *txSession) take(ctx context.Context) (*conn, error) {
	if c := s.idle; c != nil {
		s.idle = nil
		if c.alive() {
			return c, nil
		}
		s.abandon(c)
		if err := s.killLost(ctx); err != nil {
			return nil, err
		}
	}
	return s.svc.dial(ctx, forTransactions)
}

// keepIdle keeps a connection without a lock. One is enough for a client that holds one lock at a time. undo is for a
// transaction that may have locked a row: it keeps what a statement has locked that failed.
func (s *txSession) keepIdle(c *conn, undo bool) {
	if undo && !c.broken.Load() {
		if _, _, err := c.exec(context.Background(), "ROLLBACK"); err != nil {
			c.broken.Store(true)
		}
	}
	switch {
	case c.broken.Load():
		s.abandon(c)
	case s.idle == nil:
		s.idle = c
	default:
		c.close()
	}
}

// lock makes the row of l.Key, if necessary, and calls lock; it reports whether the row was there. A lock that waits may
// be interrupted in the moment in which it is granted.
func (s *txSession) lock(ctx context.Context, l *drivers.Lease, waits bool, lock func(*conn) (bool, error)) (bool, error) {
	if err := s.begin(ctx); err != nil {
		return false, err
	}
	c, err := s.take(ctx)
	if err != nil {
		return false, err
	}
	held := false
	for range 2 { // a server that came back empty may lack the row or the table
		if err = s.makeRow(ctx, l.Key); err != nil {
			break
		}
		if held, err = lock(c); held || err != nil && numberOf(err) != errNoSuchTable {
			break
		}
		s.svc.rows.Delete(l.Key)
		if err != nil {
			err = s.svc.restore(ctx)
		} else { // now the gap where the row would be is locked
			_, _, err = c.exec(ctx, "ROLLBACK")
		}
		if err != nil {
			break
		}
	}
	if !held && err == nil {
		err = errors.New("the row that was made for the key is not there")
	}
	if held {
		s.held[l.Owner] = c
	} else {
		s.keepIdle(c, waits || !contended(err))
	}
	return held, err
}

// row records whether the row of a key has been made.
type row struct {
	mu   sync.Mutex
	made bool
}

// makeRow inserts the row of a key once: inserting an existing row would wait for its holder. One session does it, after
// checking whether another process has, which does not wait.
func (s *txSession) makeRow(ctx context.Context, key string) error {
	known, ok := s.svc.rows.Load(key)
	if !ok {
		known, _ = s.svc.rows.LoadOrStore(key, &row{})
	}
	r := known.(*row)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.made {
		return nil
	}
	insert := func(c *conn) error {
		there, err := c.row(ctx, s.svc.onTable("SELECT 1 FROM `%` WHERE k = ?"), []byte(rowName(key)))
		if err != nil || there != nil {
			return err
		}
		_, _, err = c.exec(ctx, s.svc.onTable("INSERT IGNORE INTO `%` (k) VALUES (?)"), []byte(rowName(key)))
		return err
	}
	err := s.svc.controlled(ctx, "make a row", insert)
	if numberOf(err) == errNoSuchTable {
		if err = s.svc.restore(ctx); err == nil {
			err = s.svc.controlled(ctx, "make a row", insert)
		}
	}
	r.made = err == nil
	return err
}

// Wait implements drivers.Waiter: it runs the same statement without NOWAIT. The server gives up after its
// innodb_lock_wait_timeout, 50 s by default, which is an error. MariaDB accepts a deadline; on MySQL the statement is
// killed then, which takes time on a busy server.
func (s *txSession) Wait(ctx context.Context, l *drivers.Lease) error {
	if pastDeadline(l) && ctx.Err() == nil || s.won.Key != "" {
		return nil
	}
	own := drivers.Lease{Key: l.Key, Owner: s.owners.Next()}
	held, err := s.lock(ctx, &own, true, func(c *conn) (bool, error) {
		query, kill := s.svc.onTable(lockRow), l.Deadline
		if s.svc.about.maria() && !kill.IsZero() {
			limit, own := max(time.Until(kill), time.Millisecond), s.svc.about.limits["max_statement_time"]
			limit = min(limit, cmp.Or(own, limit))
			query, kill = fmt.Sprintf("SET STATEMENT max_statement_time = %.6f FOR ", limit.Seconds())+query, kill.Add(killLate)
		}
		row, err := s.wait(ctx, c, kill, query, []byte(rowName(l.Key)))
		return row != nil, err
	})
	if held {
		s.won = own
	}
	if held && !s.svc.closed() { // otherwise its holder was closed first
		return nil
	}
	return s.waited(ctx, l, err)
}

// Leave implements drivers.Waiter: it releases what Wait has won and no Try has confirmed, or may still win on a
// connection that has failed.
func (s *txSession) Leave(ctx context.Context, _ *drivers.Lease) error {
	if s.won.Key == "" {
		return s.left(ctx)
	}
	won := s.won
	_, err := s.Release(context.WithoutCancel(ctx), &won)
	if err == nil {
		s.won = drivers.Lease{}
	}
	return err
}

// Crash implements drivers.Crasher. The server rolls back as soon as it notices that a connection has ended.
func (s *txSession) Crash() {
	for _, c := range s.held {
		s.crash(c)
	}
	s.crash(s.idle)
	s.idle, s.won = nil, drivers.Lease{}
	clear(s.held)
}

// Close implements io.Closer. When it returns, what the session held is free.
func (s *txSession) Close() error {
	var errs []error
	for owner, c := range s.held {
		delete(s.held, owner)
		errs = append(errs, s.leave(c, true))
	}
	errs = append(errs, s.leave(s.idle, false))
	s.idle = nil
	return errors.Join(errs...)
}
