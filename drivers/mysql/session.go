// Sessions that keep connections: statements, each with a time limit, and waiting in the server, by a statement that ends
// with the lock, or with KILL QUERY.
package mysql

import (
	"cmp"
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// session is what the sessions of all designs have in common.
type session struct {
	svc    *service
	owners drivers.Owners
	dead   bool  // it has crashed, or was closed
	ended  error // why its last connection has failed
}

// begin starts every call: it returns an error if the session is over.
func (s *session) begin(ctx context.Context) error {
	if s.svc.closed() || s.dead {
		return errClosed
	}
	return ctx.Err()
}

// Ended implements drivers.Ender: a hold ends with its connection.
func (s *session) Ended() error { return s.ended }

// conn is a connection that its session keeps. One goroutine at a time uses it, but any may call closeBy.
type conn struct {
	svc    *service
	sql    *sql.Conn
	net    net.Conn // below it
	id     int64    // the server's number of it
	broken error    // why it cannot be used any more
	used   time.Time
	stmts  map[string]*sql.Stmt // prepared on it
}

// dialing is the key of the conn in the context that makes its connection.
type dialing struct{}

// unwatched is the context of statements. With one that can end, each would need a goroutine more: their limits are on
// the connection instead.
var unwatched = context.Background()

// dial makes a connection. After an error, nothing was requested from the server.
func (s *service) dial(ctx context.Context) (*conn, error) {
	soon, cancel := context.WithTimeout(ctx, s.cfg.IO())
	defer cancel()
	c := &conn{svc: s, stmts: map[string]*sql.Stmt{}}
	var err error
	if c.sql, err = s.sessions.Conn(context.WithValue(soon, dialing{}, c)); err != nil {
		return nil, s.noConnection(soon, err)
	}
	s.mu.Lock()
	over := s.closed()
	s.conns[c] = struct{}{}
	s.mu.Unlock()
	id, err := c.number(soon, "SELECT CONNECTION_ID()")
	if err != nil || over {
		c.close()
		return nil, s.noConnection(soon, cmp.Or[error](err, errClosed))
	}
	c.id = id.Int64
	return c, nil
}

// request sends a statement, and gives the answer as long as a request may take.
func (c *conn) request(ctx context.Context, send func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c.used = time.Now()
	limit := c.used.Add(c.svc.cfg.IO())
	if d, ok := ctx.Deadline(); ok && d.Before(limit) {
		limit = d
	}
	c.net.SetDeadline(limit) // an error shows in what follows
	return c.heard(ctx, c.used, send())
}

// heard classifies the error of a statement. One without an answer breaks the connection.
func (c *conn) heard(ctx context.Context, sent time.Time, err error) error {
	if err == nil || err == sql.ErrNoRows {
		return err
	}
	if err = c.svc.failed(ctx, sent, err); !drivers.NoEffect(err) {
		c.broken = err
	}
	return err
}

// exec runs a statement.
func (c *conn) exec(ctx context.Context, query string, args ...any) error {
	return c.request(ctx, func() error {
		_, err := c.sql.ExecContext(unwatched, query, args...)
		return err
	})
}

// change runs a statement that changes rows, which the server parses once.
func (c *conn) change(ctx context.Context, query string, args ...any) (result sql.Result, err error) {
	err = c.request(ctx, func() (err error) {
		if c.stmts[query] == nil {
			if c.stmts[query], err = c.sql.PrepareContext(unwatched, query); err != nil {
				delete(c.stmts, query)
				return err
			}
		}
		result, err = c.stmts[query].ExecContext(unwatched, args...)
		return err
	})
	return result, err
}

// number runs a query of one number; sql.ErrNoRows says that there is no row.
func (c *conn) number(ctx context.Context, query string, args ...any) (n sql.NullInt64, err error) {
	err = c.request(ctx, func() error { return c.sql.QueryRowContext(unwatched, query, args...).Scan(&n) })
	return n, err
}

// alive checks, without asking the server, whether it has hung up. If it has, whatever the connection held is lost for
// certain; what is sent on a connection that only seems to live has an unknown outcome.
func (c *conn) alive() bool {
	if c.broken != nil {
		return false
	}
	c.net.SetDeadline(time.Now().Add(c.svc.cfg.IO()))
	if alive(c.sql) {
		return true
	}
	c.broken = errors.New("the server has ended the connection")
	for _, name := range c.svc.ends {
		if limit := c.svc.limit(name); limit > 0 && time.Since(c.used) >= limit {
			c.broken = c.svc.ended(name, errors.New("the server has ended the connection, which was idle for longer"))
			break
		}
	}
	return false
}

func alive(c *sql.Conn) bool {
	return nil == c.Raw(func(library any) error { return library.(sqldriver.SessionResetter).ResetSession(unwatched) })
}

func (c *conn) close() { c.closeBy(time.Now().Add(c.svc.cfg.IO())) }

// closeBy ends the connection, after a statement under way, which may last until then.
func (c *conn) closeBy(until time.Time) {
	c.net.SetDeadline(until)
	_ = c.sql.Close() // the server notices the end of the connection in any case
	c.svc.mu.Lock()
	defer c.svc.mu.Unlock()
	delete(c.svc.conns, c)
}

// locker is a session that keeps connections, without what pinned adds.
type locker interface {
	// connect makes the first connection.
	connect(ctx context.Context) error

	// lock asks for l.Key as l.Owner wants it or, if that is empty, sets it. With wait it waits until l.Deadline.
	lock(ctx context.Context, l *drivers.Lease, wait bool) (held bool, err error)

	Release(ctx context.Context, l *drivers.Lease) (bool, error)

	// end calls f for all connections, and forgets them.
	end(f func(*conn))
}

// pinned implements drivers.Session and drivers.Waiter for a locker.
type pinned struct {
	*session
	locker
	won drivers.Lease // by Wait, for the next Try to confirm; without a Key if there is none
}

// Try implements drivers.Session.
func (s *pinned) Try(ctx context.Context, l *drivers.Lease) (held bool, err error) {
	l.Reset()
	if s.won.Key == l.Key && l.Key != "" {
		l.Owner, s.won = s.won.Owner, drivers.Lease{}
		return true, nil
	}
	if err = s.begin(ctx); err == nil {
		held, err = s.lock(ctx, l, false)
	}
	return held, fail("try", err)
}

// Wait implements drivers.Waiter: the server grants the lock to a statement that waits.
func (s *pinned) Wait(ctx context.Context, l *drivers.Lease) error {
	late := func() bool { return !l.Deadline.IsZero() && !time.Now().Before(l.Deadline) }
	if late() && ctx.Err() == nil || s.won.Key != "" {
		return nil
	}
	err := s.begin(ctx)
	if err == nil {
		own := drivers.Lease{Key: l.Key, Deadline: l.Deadline}
		var held bool
		if held, err = s.lock(ctx, &own, true); held {
			s.won = own
		}
	}
	switch {
	case s.svc.closed(): // before the grant, if there was one
		return fail("wait", errClosed)
	case s.won.Key != "":
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case deadlocked(err), interrupted(err) && late():
		return nil
	}
	return fail("wait", err)
}

// Leave implements drivers.Waiter: it releases what Wait has won and no Try has confirmed.
func (s *pinned) Leave(ctx context.Context, _ *drivers.Lease) error {
	if s.won.Key == "" {
		return nil
	}
	won := s.won
	_, err := s.Release(context.WithoutCancel(ctx), &won)
	if !drivers.NoEffect(err) { // otherwise the session still holds it
		s.won = drivers.Lease{}
	}
	return err
}

// Crash implements drivers.Crasher. The server frees what a connection held as soon as it notices its end.
func (s *pinned) Crash() {
	s.dead = true
	s.end(func(c *conn) {
		_ = c.net.Close()
		c.close()
	})
}

// Close implements io.Closer.
func (s *pinned) Close() error {
	s.dead = true
	s.end((*conn).close)
	return nil
}

// unlimited is the time of a wait without a deadline.
const unlimited = 30 * 24 * time.Hour

// wait runs a query that waits on the server for another holder of l.Key. It interrupts the query at l.Deadline, when ctx
// is done, and when the service closes, unless it was faster. The connection cannot simply be closed: the session may
// hold other locks on it, and the server would notice only after the query that there is no client to answer.
func (c *conn) wait(ctx context.Context, l *drivers.Lease, query string, arg any) (n sql.NullInt64, err error) {
	until := l.Deadline
	if until.IsZero() {
		until = time.Now().Add(unlimited)
	}
	limited, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	defer context.AfterFunc(c.svc.closing, cancel)()
	over, done := make(chan struct{}), make(chan struct{})
	stop := context.AfterFunc(limited, func() {
		defer close(done)
		c.interrupt(over)
	})
	c.net.SetDeadline(time.Time{})
	c.used = time.Now()
	err = c.sql.QueryRowContext(unwatched, query, arg).Scan(&n)
	err = c.heard(ctx, time.Now(), err)
	close(over)
	if !stop() {
		<-done
		if c.broken == nil { // a kill that came after the query hits this one
			_ = c.exec(unwatched, "DO 0")
		}
	}
	return n, err
}

// interrupt kills the statement of c, repeatedly: a kill does nothing to a connection whose statement has not begun. If
// the server cannot be told, or nothing is heard of it in the time of a request, it closes the connection.
func (c *conn) interrupt(over <-chan struct{}) {
	soon, cancel := context.WithTimeout(unwatched, c.svc.cfg.IO())
	defer cancel()
	for {
		if _, err := c.svc.own.ExecContext(soon, fmt.Sprint("KILL QUERY ", c.id)); err != nil {
			_ = c.net.Close()
			return
		}
		select {
		case <-over:
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}
