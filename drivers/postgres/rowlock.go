package postgres

// How a session of row-lock gets connections, makes rows, releases, waits and ends. A transaction holds one lock, so
// that each can be released separately; a second lock at the same time needs a second connection.

import (
	"context"

	"github.com/lockbench/lockbench/drivers"
)

type rowLock struct {
	client
	idle   *conn           // without a lock; may be nil
	holds  map[string]hold // by key
	won    hold            // won by Wait, and not yet confirmed
	wonKey string
	name   []byte // of the row; the buffer is reused
}

// hold is a lock that is held, or was won by Wait.
type hold struct {
	conn  *conn
	owner string
}

func (s *rowLock) open(ctx context.Context) (err error) {
	s.idle, err = s.dial(ctx)
	return err
}

// take returns a connection without a lock, which now belongs to the caller.
func (s *rowLock) take(ctx context.Context) (*conn, error) {
	c := s.idle
	s.idle = nil
	if c != nil && !c.alive() {
		s.abandon(c, c.lastWords())
		c = nil
	}
	if c == nil {
		return s.dial(ctx)
	}
	return c, nil
}

// put returns a connection. One is kept.
func (s *rowLock) put(c *conn) {
	if err := c.settle(); err != nil {
		s.abandon(c, err)
		return
	}
	if s.idle != nil {
		c.leave()
		return
	}
	s.idle = c
}

// lock locks the row, which it makes if necessary, with a statement that waits or one that does not. It returns the
// connection, which may hold the lock now, or an error. A transaction that has failed because the lock was taken ends
// at the beginning of the next packet.
func (s *rowLock) lock(ctx context.Context, statement string, l *drivers.Lease) (*conn, *reply, error) {
	c, err := s.take(ctx)
	if err != nil {
		return nil, nil, err
	}
	s.name = append(s.name[:0], l.Key...)
	for {
		if c.tx != 'I' {
			c.run("rollback", nil, nil)
		}
		c.run("begin", nil, nil)
		ask, until := c.ask, c.soon()
		if statement == "lock" {
			var limit []byte
			limit, until = s.limit(l.Deadline)
			c.run("limit", textFormat, limit)
			ask = c.wait
		}
		c.run(statement, textFormat, s.name)
		rows := 1
		if statement == "lock" {
			rows++ // of the limit
		}
		r, err := ask(ctx, until)
		if err == nil && (r.refused != nil || r.rows == rows) {
			return c, r, nil
		}
		if err == nil {
			// Outside the transaction: others who make it would wait for the transaction's end.
			c.run("rollback", nil, nil)
			c.run("make", textFormat, s.name)
			if r, err = c.ask(ctx, c.soon()); err == nil && r.refused != nil {
				return c, r, nil
			}
		}
		if err != nil {
			s.abandon(c, err)
			return nil, nil, err
		}
	}
}

func (s *rowLock) release(ctx context.Context, l *drivers.Lease) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	h, ok := s.holds[l.Key]
	if !ok || h.owner != l.Owner {
		return false, s.killAbandoned(ctx) // never held, or lost with its connection
	}
	delete(s.holds, l.Key)
	if !h.conn.alive() {
		s.abandon(h.conn, h.conn.lastWords())
		return false, s.killAbandoned(ctx)
	}
	h.conn.run("commit", nil, nil)
	r, err := h.conn.ask(ctx, h.conn.soon())
	if err != nil {
		s.abandon(h.conn, err)
		if dead(err) {
			return false, s.killAbandoned(ctx)
		}
		return false, err
	}
	s.put(h.conn)
	if r.refused != nil {
		return false, r.refused
	}
	s.ended = nil
	return !r.undone, nil
}

// Wait implements drivers.Waiter: it acquires on the server.
func (s *rowLock) Wait(ctx context.Context, l *drivers.Lease) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.won.conn != nil || past(l) {
		return nil
	}
	c, r, err := s.lock(ctx, "lock", l)
	switch {
	case err != nil:
	case r.refused == nil:
		s.won, s.wonKey = hold{conn: c}, l.Key
	default: // the whole transaction has failed
		err = r.ended(l)
		s.put(c)
	}
	return s.waited(ctx, err)
}

// Leave implements drivers.Waiter: it releases what Wait has won and no Try has confirmed.
func (s *rowLock) Leave(ctx context.Context, _ *drivers.Lease) error {
	ctx = context.WithoutCancel(ctx)
	if c := s.won.conn; c != nil {
		s.won = hold{}
		c.run("rollback", nil, nil)
		if _, err := c.ask(ctx, c.soon()); err != nil {
			s.abandon(c, err)
		} else {
			s.put(c)
		}
	}
	return s.left(ctx)
}

// Crash implements drivers.Crasher. The server rolls back as soon as it notices that a connection has ended.
func (s *rowLock) Crash() {
	for _, h := range s.holds {
		s.crash(h.conn)
	}
	s.crash(s.won.conn, s.idle)
	s.idle, s.won, s.holds = nil, hold{}, nil
}

// Close frees what the session holds.
func (s *rowLock) Close() error {
	for _, h := range s.holds {
		h.conn.leave()
	}
	if s.won.conn != nil {
		s.won.conn.leave()
	}
	if s.idle != nil {
		s.idle.leave()
	}
	s.idle, s.won, s.holds = nil, hold{}, nil
	s.closeAbandoned()
	return nil
}
