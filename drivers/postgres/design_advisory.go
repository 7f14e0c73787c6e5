package postgres

// Session-level advisory locks: pg_try_advisory_lock, pg_advisory_lock, pg_advisory_unlock. They live in the server's
// memory alone, so that a grant costs no write. The server knows them by 64 bits, not by name: keyOf.
//
// The line of those who wait is the server's own, first come first served, and Try gets no place in it.

import (
	"context"
	"encoding/binary"

	"github.com/lockbench/lockbench/drivers"
)

var advisoryDesign = design{
	Design: drivers.Design{
		Name:   "advisory",
		Traits: drivers.Traits{Exclusive: true, Owned: true, Fair: true, Reentrant: true, Waits: true, Session: true},
		Models: "pg_try_advisory_lock / pg_advisory_lock and pg_advisory_unlock on a pinned connection, as in Rails, Flyway, golang-migrate",
		Wrong: "lost with the connection while the holder lives; the name is a 64 bit hash, shared with every other user of " +
			"advisory locks in the database; no pooler in transaction mode",
	},
	statements: func(string) map[string]string {
		return map[string]string{
			"try":    "SELECT pg_try_advisory_lock($1::int8)",
			"lock":   "SELECT pg_advisory_lock($1::int8)",
			"unlock": "SELECT pg_advisory_unlock($1::int8)",
			"limit":  "SELECT set_config('lock_timeout', $1::text, true)", // until the end of the packet, which is a transaction
		}
	},
	session:  func(s *service) session { return &advisory{client: client{svc: s}, held: map[string]int{}} },
	persists: func(bool, bool) string { return "none" },
}

// advisory is a session with its one connection.
type advisory struct {
	client
	conn *conn          // nil after it was lost
	held map[string]int // what it holds there, and how often
	won  string         // the key that Wait has acquired and no Try has confirmed
	key  [8]byte
}

// keyOf makes the server's key of a name: 64 bit FNV-1a. Among n names some two have the same with a probability of
// n²/2⁶⁵: one in 37 million for a million of them. Two such locks exclude each other.
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

// ready is the connection, made anew if it was lost.
func (s *advisory) ready(ctx context.Context) (*conn, error) {
	if s.conn != nil && !s.conn.alive() {
		s.lose()
	}
	if s.conn == nil {
		return s.conn, s.open(ctx)
	}
	return s.conn, nil
}

func (s *advisory) lose() {
	s.giveUp(s.conn)
	s.conn, s.won = nil, ""
	clear(s.held)
}

func (s *advisory) run(c *conn, statement, key string) {
	binary.BigEndian.PutUint64(s.key[:], keyOf(key))
	c.run(statement, binaryFormat, s.key[:])
}

// Try implements drivers.Session. The Owner names the connection, which is what the server grants the lock to.
func (s *advisory) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	l.Reset()
	if s.won != "" && s.won == l.Key {
		s.won, l.Owner = "", s.conn.name
		s.held[l.Key]++
		return true, nil
	}
	if err := ctx.Err(); err != nil {
		return false, fail("try", err)
	}
	c, err := s.ready(ctx)
	if err != nil {
		return false, fail("try", err)
	}
	l.Owner = c.name
	s.run(c, "try", l.Key)
	r, err := s.ask(ctx, c)
	if err != nil {
		return false, fail("try", err)
	}
	if r.yes {
		s.held[l.Key]++
	}
	return r.yes, nil
}

// ask gives the connection up if it fails.
func (s *advisory) ask(ctx context.Context, c *conn) (*reply, error) {
	r, err := c.ask(ctx, c.soon())
	if err != nil {
		s.lose()
		return nil, err
	}
	if r.refused != nil {
		return nil, r.refused
	}
	return r, nil
}

// Release implements drivers.Session.
func (s *advisory) Release(ctx context.Context, l *drivers.Lease) (bool, error) {
	owned, err := s.release(ctx, l)
	if err != nil {
		return false, fail("release", err)
	}
	return owned, nil
}

func (s *advisory) release(ctx context.Context, l *drivers.Lease) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if s.conn != nil && l.Owner == s.conn.name {
		if !s.conn.alive() {
			s.lose()
			return false, s.settle(ctx)
		}
		s.run(s.conn, "unlock", l.Key)
		r, err := s.ask(ctx, s.conn)
		switch {
		case err == nil:
			if s.held[l.Key]--; s.held[l.Key] <= 0 {
				delete(s.held, l.Key)
			}
			return r.yes, nil
		case !dead(err):
			return false, err
		}
	}
	return false, s.settle(ctx) // it went with its connection
}
