package postgres

// How a session waits for an advisory lock, and how it ends.

import (
	"context"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// Wait implements drivers.Waiter: it acquires on the server.
func (s *advisory) Wait(ctx context.Context, l *drivers.Lease) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.won == l.Key || s.held[l.Key] > 0 || !l.Deadline.IsZero() && !time.Now().Before(l.Deadline) {
		return nil
	}
	c, err := s.ready(ctx)
	if err != nil {
		return fail("wait", ended(ctx, err))
	}
	limit, until := s.limit(l.Deadline)
	c.run("limit", textFormat, limit)
	s.run(c, "lock", l.Key)
	r, err := c.wait(ctx, until)
	switch {
	case err != nil:
		s.lose()
	case r.refused == nil:
		s.won = l.Key
	case r.cancelled():
		// It may have been granted at the same moment, and session locks outlive the statement's failure.
		s.run(c, "unlock", l.Key)
		_, err = s.ask(context.WithoutCancel(ctx), c)
	default:
		err = r.refused
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fail("wait", err)
	}
	return nil
}

// Leave implements drivers.Waiter: it gives back what Wait has acquired and no Try has confirmed.
func (s *advisory) Leave(ctx context.Context, _ *drivers.Lease) error {
	ctx = context.WithoutCancel(ctx)
	if s.won != "" {
		s.run(s.conn, "unlock", s.won)
		s.won = ""
		_, _ = s.ask(ctx, s.conn) // if that fails, the connection is given up
	}
	if err := s.settle(ctx); err != nil && s.svc.closing.Err() == nil {
		return fail("leave", err)
	}
	return nil
}

// Close frees what the session holds.
func (s *advisory) Close() error {
	defer s.svc.forget(s)
	if s.conn != nil {
		s.conn.leave()
		s.conn = nil
	}
	s.exorcise()
	return nil
}
