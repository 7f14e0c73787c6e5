package postgres

// How a session of advisory keeps its connection, waits and ends.

import (
	"context"
	"encoding/binary"

	"github.com/lockbench/lockbench/drivers"
)

// advisory is a session with its connection.
type advisory struct {
	client
	conn *conn          // nil if it is lost
	held map[string]int // its holds on the connection, with their count
	won  string         // the key that Wait has won and no Try has confirmed
	key  [8]byte
}

// keyOf returns the server's key for a name: 64 bit FNV-1a. Two of n names have the same key with a probability of
// n²/2⁶⁵: one in 37 million for a million names. Two such locks exclude each other.
func keyOf(name string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * 1099511628211
	}
	return h
}

func (s *advisory) open(ctx context.Context) (err error) {
	s.conn, err = s.dial(ctx)
	return err
}

// ready returns the connection, a new one if it was lost.
func (s *advisory) ready(ctx context.Context) (*conn, error) {
	if s.conn != nil && !s.conn.alive() {
		s.lose(s.conn.lastWords())
	}
	if s.conn == nil {
		if err := s.open(ctx); err != nil {
			return nil, err
		}
	}
	return s.conn, nil
}

func (s *advisory) lose(err error) {
	s.abandon(s.conn, err)
	s.conn, s.won = nil, ""
	clear(s.held)
}

func (s *advisory) run(c *conn, statement, key string) {
	binary.BigEndian.PutUint64(s.key[:], keyOf(key))
	c.run(statement, binaryFormat, s.key[:])
}

// ask abandons the connection if it fails.
func (s *advisory) ask(ctx context.Context, c *conn) (*reply, error) {
	r, err := c.ask(ctx, c.soon())
	if err != nil {
		s.lose(err)
		return nil, err
	}
	if r.refused != nil {
		return nil, r.refused
	}
	return r, nil
}

// Wait implements drivers.Waiter: it acquires on the server.
func (s *advisory) Wait(ctx context.Context, l *drivers.Lease) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.won == l.Key || s.held[l.Key] > 0 || past(l) {
		return nil
	}
	c, err := s.ready(ctx)
	if err != nil {
		return s.svc.fail("wait", cause(ctx, err))
	}
	limit, until := s.limit(l.Deadline)
	c.run("limit", textFormat, limit)
	s.run(c, "lock", l.Key)
	r, err := c.wait(ctx, until)
	switch {
	case err != nil:
		s.lose(err)
	case r.refused == nil:
		s.won = l.Key
	default:
		err = r.ended(l)
		s.undo(ctx, l.Key)
	}
	return s.waited(ctx, err)
}

// undo frees a key that a statement may have locked before it failed, as session locks do not go with it. If that
// fails, the connection is abandoned.
func (s *advisory) undo(ctx context.Context, key string) {
	s.run(s.conn, "unlock", key)
	if _, err := s.ask(context.WithoutCancel(ctx), s.conn); err != nil && s.conn != nil {
		s.lose(err)
	}
}

// Leave implements drivers.Waiter: it releases what Wait has won and no Try has confirmed.
func (s *advisory) Leave(ctx context.Context, _ *drivers.Lease) error {
	ctx = context.WithoutCancel(ctx)
	if s.won != "" {
		s.undo(ctx, s.won)
		s.won = ""
	}
	return s.left(ctx)
}

// Crash implements drivers.Crasher. The server frees what the connection held as soon as it notices its end.
func (s *advisory) Crash() {
	s.crash(s.conn)
	s.conn, s.won = nil, ""
	clear(s.held)
}

// Close frees what the session holds.
func (s *advisory) Close() error {
	if s.conn != nil {
		s.conn.leave()
		s.conn = nil
	}
	s.closeAbandoned()
	return nil
}
