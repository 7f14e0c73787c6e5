package postgres

// What the sessions of all designs share: how they come by connections, and what becomes of those that they give up.

import (
	"context"
	"crypto/tls"
	"errors"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lockbench/lockbench/drivers"
)

// client is the common part of a session.
type client struct {
	svc    *service
	owners drivers.Owners
	count  atomic.Int64

	// ghosts are connections that were given up and that the server may not know to be gone. Until it does, they may
	// hold what they held, or get what they had asked for.
	ghosts []string

	dead bool // it has crashed
}

func (s *client) trips() int64 { return s.count.Load() }

// dial opens a connection, after which there are no ghosts any more.
func (s *client) dial(ctx context.Context) (*conn, error) {
	if s.dead {
		return nil, errClosed
	}
	dial := func() (*conn, error) {
		return s.svc.dial(ctx, &s.count, s.svc.design.statements(s.svc.table), s.ghosts)
	}
	c, err := dial()
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == "42P01" {
		// The table is gone: the server has come back empty. The service's own connection, which makes it, broke as
		// well.
		if err = s.svc.use(ctx, func(*conn) error { return nil }); err == nil {
			c, err = dial()
		}
	}
	if err == nil {
		s.ghosts = nil
	}
	return c, err
}

// giveUp closes a connection that may be broken.
func (s *client) giveUp(c *conn) {
	s.svc.drop(c)
	s.ghosts = append(s.ghosts, c.name)
}

// crash breaks connections as the end of their process would: nothing is said to the server, and nobody asks any more
// what it makes of them.
func (s *client) crash(conns ...*conn) {
	for _, c := range conns {
		if c == nil {
			continue
		}
		if secure, ok := c.net.(*tls.Conn); ok { // which would say good-bye
			_ = secure.NetConn().Close()
		}
		s.svc.drop(c)
	}
	s.dead, s.ghosts = true, nil
	s.svc.crashes.Add(1)
}

// settle makes sure that nothing is left of the connections that were given up: whatever they held is free.
func (s *client) settle(ctx context.Context) error {
	if s.svc.closing.Err() != nil || s.dead {
		return errClosed
	}
	if len(s.ghosts) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.svc.cfg.IO())
	defer cancel()
	err := s.svc.use(ctx, func(c *conn) error { return c.bury(ctx, s.ghosts) })
	if err == nil {
		s.ghosts = nil
	}
	return err
}

// exorcise is settle for a session that ends. It is best effort: a server that cannot be asked finds out by itself.
func (s *client) exorcise() {
	if len(s.ghosts) > 0 {
		_ = s.settle(context.Background())
	}
}

// limit returns a lock_timeout that ends at the deadline, in milliseconds, and when the answer has to be there. Zero is
// none.
func (s *client) limit(deadline time.Time) (milliseconds []byte, until time.Time) {
	if deadline.IsZero() {
		return []byte("0"), time.Time{}
	}
	left := max(time.Until(deadline), time.Millisecond)
	left = min(left, 24*24*time.Hour) // what fits into its 31 bits
	whole := (left + time.Millisecond - 1) / time.Millisecond
	return strconv.AppendInt(nil, int64(whole), 10), time.Now().Add(left + s.svc.cfg.IO())
}

// cancelled reports whether the server has ended a wait by one of its time limits, because it was asked to, or because
// those who wait for each other would wait for ever.
func (r *reply) cancelled() bool {
	return r.refused != nil && slices.Contains([]string{"55P03", "57014", "40P01"}, r.refused.Code)
}

// waited returns the answer of a Wait that has ended with err: the end of the caller's own context goes first.
func waited(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return fail("wait", err)
	}
	return nil
}

// left is the end of a Leave: what was given up meanwhile is settled, unless the service closes, which does that too.
func (s *client) left(ctx context.Context) error {
	if err := s.settle(ctx); err != nil && s.svc.closing.Err() == nil {
		return fail("leave", err)
	}
	return nil
}
