package postgres

// What the sessions of all designs share: how they get connections, and what happens to those that they abandon.

import (
	"cmp"
	"context"
	"crypto/tls"
	"strconv"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// client is the common part of a session.
type client struct {
	svc    *service
	owners drivers.Owners

	// abandoned are the names of connections that were abandoned and that the server may not know to be gone. Until it
	// does, they may keep their locks, or get those that they asked for.
	abandoned []string

	ended error // why the last connection was abandoned

	dead bool // it has crashed
}

// dial opens a connection; after that, no abandoned ones are left.
func (s *client) dial(ctx context.Context) (*conn, error) {
	if s.dead {
		return nil, errClosed
	}
	dial := func() (*conn, error) {
		return s.svc.dial(ctx, false, s.svc.design.statements(s.svc.table), s.abandoned)
	}
	c, err := dial()
	if stateOf(err) == "42P01" {
		// The table is gone: the server has come back empty. The service's own connection, which makes the table, broke
		// as well.
		if err = s.svc.use(ctx, func(*conn) error { return nil }); err == nil {
			c, err = dial()
		}
	}
	if err == nil {
		s.abandoned = nil
	}
	return c, err
}

// Ended implements drivers.Ender: a hold ends with its connection.
func (s *client) Ended() error { return s.svc.explain(s.ended) }

// abandon closes a connection that may be broken, for the reason err.
func (s *client) abandon(c *conn, err error) {
	s.ended = err
	s.svc.drop(c)
	s.abandoned = append(s.abandoned, c.name)
}

// crash breaks connections like the end of their process: it tells the server nothing, and the session no longer checks
// what becomes of them.
func (s *client) crash(conns ...*conn) {
	for _, c := range conns {
		if c == nil {
			continue
		}
		if secure, ok := c.net.(*tls.Conn); ok { // it would send a TLS close message
			_ = secure.NetConn().Close()
		}
		s.svc.drop(c)
	}
	s.dead, s.abandoned = true, nil
	s.svc.crashes.Add(1)
}

// killAbandoned makes sure that nothing is left of the abandoned connections: whatever they held is free.
func (s *client) killAbandoned(ctx context.Context) error {
	if s.svc.closing.Err() != nil || s.dead {
		return errClosed
	}
	if len(s.abandoned) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.svc.cfg.IO())
	defer cancel()
	err := s.svc.use(ctx, func(c *conn) error { return c.kill(ctx, s.abandoned) })
	if err == nil {
		s.abandoned = nil
	}
	return err
}

// closeAbandoned is killAbandoned for a session that ends, best effort: a server that cannot be asked finds out by
// itself.
func (s *client) closeAbandoned() {
	if len(s.abandoned) > 0 {
		_ = s.killAbandoned(context.Background())
	}
}

// limit returns a lock_timeout that ends at the deadline or, if that is sooner, after the user's own, in milliseconds,
// and the time at which the answer is due. Zero means none.
func (s *client) limit(deadline time.Time) (milliseconds []byte, until time.Time) {
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

// ended returns the error of a wait that the server has refused. It is nil at the deadline of l, and after a deadlock.
func (r *reply) ended(l *drivers.Lease) error {
	if r.refused.Code == "40P01" || r.refused.Code == "55P03" && past(l) {
		return nil
	}
	return r.refused
}

// past reports whether there is no time left to wait.
func past(l *drivers.Lease) bool { return !l.Deadline.IsZero() && !time.Now().Before(l.Deadline) }

// waited returns the result of a Wait that has ended with err: the error of the caller's own context comes first.
func (s *client) waited(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return s.svc.fail("wait", err)
}

// left ends a Leave: it kills connections abandoned meanwhile, unless the service closes, which does that too.
func (s *client) left(ctx context.Context) error {
	if err := s.killAbandoned(ctx); err != nil && s.svc.closing.Err() == nil {
		return s.svc.fail("leave", err)
	}
	return nil
}
