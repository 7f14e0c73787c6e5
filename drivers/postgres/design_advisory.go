package postgres

// Session-level advisory locks: pg_try_advisory_lock, pg_advisory_lock, pg_advisory_unlock. They exist only in the
// server's memory, so a grant costs no write. The server identifies them by 64 bits, not by name; see keyOf.
//
// Waiters are in the server's queue, first come, first served; Try gets no place in it.

import (
	"context"

	"github.com/lockbench/lockbench/drivers"
)

var advisoryDesign = design{
	Design: drivers.Design{
		Name:   "advisory",
		Traits: drivers.Traits{Exclusive: true, Owned: true, Fair: true, Reentrant: true, Waits: true, Session: true},
		Models: "pg_try_advisory_lock / pg_advisory_lock and pg_advisory_unlock on a pinned connection, as in Rails, Flyway " +
			"and golang-migrate",
		Wrong: "a broken connection frees the lock under its holder: no fence; the name is a 64 bit hash, shared with all others who use " +
			"advisory locks in the database; no pooler in transaction mode",
		Loses: []drivers.Hazard{
			drivers.HazardConnectionCut, drivers.HazardHalfOpen, drivers.HazardMissedWakeup, drivers.HazardPooler, drivers.HazardRestartEmpty,
			drivers.HazardFailover,
		},
	},
	statements: func(string) map[string]string {
		return map[string]string{
			"try":    "SELECT pg_try_advisory_lock($1::int8)",
			"lock":   "SELECT pg_advisory_lock($1::int8)",
			"unlock": "SELECT pg_advisory_unlock($1::int8)",
			"limit":  "SELECT set_config('lock_timeout', $1::text, true)", // for this packet, which is a transaction
		}
	},
	session:  func(s *service) session { return &advisory{client: client{svc: s}, held: map[string]int{}} },
	persists: func(bool, bool) string { return "none" },
}

// Try implements drivers.Session. The Owner is the name of the connection, which the server grants the lock to.
func (s *advisory) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	l.Reset()
	if s.won != "" && s.won == l.Key {
		s.won, l.Owner = "", s.conn.name
		s.held[l.Key]++
		return true, nil
	}
	if err := ctx.Err(); err != nil {
		return false, s.svc.fail("try", err)
	}
	c, err := s.ready(ctx)
	if err != nil {
		return false, s.svc.fail("try", err)
	}
	l.Owner = c.name
	s.run(c, "try", l.Key)
	r, err := s.ask(ctx, c)
	if err != nil {
		if s.conn != nil && s.held[l.Key] == 0 {
			s.undo(ctx, l.Key)
		}
		return false, s.svc.fail("try", err)
	}
	if r.yes {
		s.held[l.Key]++
	}
	return r.yes, nil
}

// Release implements drivers.Session.
func (s *advisory) Release(ctx context.Context, l *drivers.Lease) (bool, error) {
	owned, err := s.release(ctx, l)
	return owned, s.svc.fail("release", err)
}

func (s *advisory) release(ctx context.Context, l *drivers.Lease) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if s.conn != nil && l.Owner == s.conn.name {
		if !s.conn.alive() {
			s.lose(s.conn.lastWords())
			return false, s.killAbandoned(ctx)
		}
		s.run(s.conn, "unlock", l.Key)
		r, err := s.ask(ctx, s.conn)
		switch {
		case err == nil:
			if s.held[l.Key]--; s.held[l.Key] <= 0 {
				delete(s.held, l.Key)
			}
			if !r.yes {
				s.ended = nil // the connection is there
			}
			return r.yes, nil
		case !dead(err):
			return false, err
		}
	}
	return false, s.killAbandoned(ctx) // it went with its connection
}
