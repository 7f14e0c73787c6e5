package postgres

import (
	"cmp"
	"context"
	"strconv"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// design is a lock design: its listing, and the statements that its sessions run, by name:
//
//	begin    begins the transaction of a lock, if it needs one of its own
//	limit    sets lock_timeout, for what follows in the packet
//	try      returns true if it has the lock. The error notAvailable is a refusal, too
//	lock     waits for the lock, and returns true
//	make     makes the row of the lock, if try or lock return none
//	release  returns true, or is COMMIT, if there was a lock
//	undo     frees what a failed try or lock may have locked
type design struct {
	drivers.Design
	statements func(table string) map[string]string
	shares     bool                                // a session has one connection, which the server lets in again
	param      func(dst []byte, key string) []byte // appends the parameter of a statement for a key
	persists   func(fsync, late bool) string       // see drivers.Server; late: a commit is answered before the fsync
}

// session is a client. Each of its holds has a connection of its own, unless the design shares it.
type session struct {
	svc    *service
	owners drivers.Owners
	idle   *conn           // free for the next lock; may be nil
	holds  map[string]hold // by key
	param  []byte          // reused
	ended  error           // why the last connection was lost
	dead   bool            // the session has ended
}

// hold is a lock that is held or, with times 0, that Wait has won and no Try has confirmed.
type hold struct {
	conn  *conn
	owner string
	times int
}

func (s *session) dial(ctx context.Context) (*conn, error) {
	if s.dead {
		return nil, errClosed
	}
	c, err := s.svc.dial(ctx)
	if stateOf(err) == noTable {
		if err = s.svc.use(ctx, s.svc.makeTable); err == nil {
			c, err = s.svc.dial(ctx)
		}
	}
	return c, err
}

// take returns a connection for a lock.
func (s *session) take(ctx context.Context) (c *conn, err error) {
	if c = s.idle; c == nil {
		c, err = s.dial(ctx)
	}
	if s.idle = nil; s.svc.design.shares {
		s.idle = c
	}
	return c, err
}

// put takes a connection back that has no lock. One is kept.
func (s *session) put(c *conn) {
	switch {
	case s.svc.pooled && c.TxStatus() != 'I': // until its end, the pooler lends the connection to nobody else
		s.undo(c)
	case s.idle == nil:
		s.idle = c
	case s.idle != c:
		c.leave()
	}
}

// undo takes a connection back that may have what s.param names locked.
func (s *session) undo(c *conn) {
	c.run("undo", s.param)
	r, err := c.ask(context.Background(), c.soon())
	switch {
	case err != nil:
		s.lose(c, err)
	case r.refused != nil:
		s.lose(c, r.refused)
	default:
		s.put(c)
	}
}

// lose gives up a connection that may be broken, with all that it holds: the server frees that when it notices.
func (s *session) lose(c *conn, err error) {
	s.svc.drop(c)
	s.ended = err
	if s.idle == c {
		s.idle = nil
	}
	for key, h := range s.holds {
		if h.conn == c {
			delete(s.holds, key)
		}
	}
}

// lock runs try or lock, and makes the row or the table if it is missing: outside the transaction, whose end others
// who make it would wait for. It returns the connection, which may have the lock, or an error. A transaction that has
// failed ends at the beginning of the next packet.
func (s *session) lock(ctx context.Context, statement string, l *drivers.Lease) (*conn, reply, error) {
	c, err := s.take(ctx)
	if err != nil {
		return nil, reply{}, err
	}
	s.param = s.svc.design.param(s.param[:0], l.Key)
	for {
		if c.TxStatus() != 'I' {
			c.run("undo", nil)
		}
		if !s.svc.design.shares {
			c.run("begin", nil)
		}
		until := c.soon()
		if statement == "lock" {
			var limit []byte
			limit, until = s.limit(l.Deadline)
			c.run("limit", limit)
		}
		c.run(statement, s.param)
		r, err := c.ask(ctx, until)
		switch {
		case err != nil:
		case r.is(noTable):
			err = s.svc.use(ctx, s.svc.makeTable)
		case r.yes || r.refused != nil || s.svc.table == "":
			return c, r, nil
		default:
			c.run("undo", nil)
			c.run("make", s.param)
			if r, err = c.ask(ctx, c.soon()); err == nil && r.refused != nil && !r.is(noTable) {
				return c, r, nil
			}
		}
		if err != nil {
			s.lose(c, err)
			return nil, r, err
		}
	}
}

// limit returns a lock_timeout that ends at the deadline or, if that is sooner, after the user's own, in milliseconds,
// and the time at which the answer is due. Zero means none.
func (s *session) limit(deadline time.Time) (milliseconds []byte, until time.Time) {
	left := s.svc.limits["lock_timeout"]
	switch {
	case !deadline.IsZero():
		until := max(time.Until(deadline), time.Millisecond)
		left = min(until, cmp.Or(left, until), 24*24*time.Hour) // the most that fits into its 31 bits
	case left == 0:
		return []byte("0"), time.Time{}
	}
	whole := (left + time.Millisecond - 1) / time.Millisecond
	return strconv.AppendInt(nil, int64(whole), 10), time.Now().Add(left + s.svc.cfg.IO())
}

// Try implements drivers.Session. A key that Wait has won it only confirms.
func (s *session) Try(ctx context.Context, l *drivers.Lease) (held bool, err error) {
	l.Reset()
	h := s.holds[l.Key]
	won := h.conn != nil && h.times == 0
	again := s.svc.design.shares && h.times > 0
	if !again {
		h.owner, h.times = s.owners.Next(), 0
	}
	l.Owner = h.owner
	if err = ctx.Err(); err == nil && !won {
		var r reply
		h.conn, r, err = s.lock(ctx, "try", l)
		switch {
		case err != nil || r.yes:
		case r.refused == nil || r.is(notAvailable):
			s.put(h.conn)
			return false, nil
		default:
			if err = r.refused; !again {
				s.undo(h.conn)
			}
		}
	}
	if err != nil && !won {
		return false, s.svc.fail("try", err)
	}
	h.times++
	s.grant(l.Key, h)
	return true, nil
}

// grant notes a hold. The server grants a key again whose connection it has ended.
func (s *session) grant(key string, h hold) {
	if old := s.holds[key].conn; old != nil && old != h.conn {
		s.svc.drop(old)
	}
	s.holds[key] = h
}

// Release implements drivers.Session. What a connection held has gone with it.
func (s *session) Release(ctx context.Context, l *drivers.Lease) (bool, error) {
	h, held := s.holds[l.Key]
	switch {
	case ctx.Err() != nil:
		return false, s.svc.fail("release", ctx.Err())
	case s.dead || s.svc.closing.Err() != nil:
		return false, s.svc.fail("release", errClosed)
	case !held || h.owner != l.Owner:
		return false, nil
	}
	s.param = s.svc.design.param(s.param[:0], l.Key)
	h.conn.run("release", s.param)
	r, err := h.conn.ask(ctx, h.conn.soon())
	unread := err != nil && !r.begun && endsConnection(err) // the server had ended it before
	if err == nil && r.refused != nil {
		err = r.refused
	}
	if err != nil {
		if s.lose(h.conn, err); unread {
			return false, nil
		}
		return false, s.svc.fail("release", err)
	}
	if h.times--; h.times > 0 {
		s.holds[l.Key] = h
	} else {
		delete(s.holds, l.Key)
		s.put(h.conn)
	}
	if !r.yes {
		s.ended = nil // the connection is there
	}
	return r.yes, nil
}

// Ended implements drivers.Ender: a hold ends with its connection.
func (s *session) Ended() error {
	_, err := s.svc.explain(s.ended)
	return err
}

// Wait implements drivers.Waiter: it acquires on the server. At the deadline, and after a deadlock, it has not.
func (s *session) Wait(ctx context.Context, l *drivers.Lease) error {
	h := s.holds[l.Key]
	past := func() bool { return !l.Deadline.IsZero() && !time.Now().Before(l.Deadline) }
	if ctx.Err() != nil || past() || h.conn != nil && (h.times == 0 || s.svc.design.shares) {
		return ctx.Err()
	}
	c, r, err := s.lock(ctx, "lock", l)
	switch {
	case err != nil:
	case r.refused == nil:
		s.grant(l.Key, hold{conn: c})
	default:
		if s.undo(c); !r.is(deadlock) && !(r.is(notAvailable) && past()) {
			err = r.refused
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return s.svc.fail("wait", err)
}

// Leave implements drivers.Waiter: it releases what Wait has won and no Try has confirmed.
func (s *session) Leave(_ context.Context, l *drivers.Lease) error {
	if h := s.holds[l.Key]; h.conn != nil && h.times == 0 {
		delete(s.holds, l.Key)
		s.param = s.svc.design.param(s.param[:0], l.Key)
		s.undo(h.conn)
	}
	return nil
}

// end calls f with each of the session's connections, which it has no more.
func (s *session) end(f func(*conn)) {
	all := map[*conn]bool{s.idle: true}
	for _, h := range s.holds {
		all[h.conn] = true
	}
	delete(all, nil)
	for c := range all {
		f(c)
	}
	s.idle, s.dead = nil, true
	clear(s.holds)
}

// Crash implements drivers.Crasher: it tells the server nothing, which frees what a connection held when it notices
// its end.
func (s *session) Crash() {
	s.end(s.svc.drop)
	s.svc.crashes.Add(1)
}

// Close frees what the session holds.
func (s *session) Close() error {
	s.end((*conn).leave)
	return nil
}
