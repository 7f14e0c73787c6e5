package postgres

// A row that is locked in a transaction: BEGIN and SELECT … FOR UPDATE NOWAIT in one packet, and COMMIT to release, as
// in applications that have the row anyway. Locking a row is a write: the transaction gets a number and a log record,
// and the COMMIT waits for the disk (fsync, synchronous_commit), although nothing was changed. The grant does not.
//
// It has no fence. A column that counts up would be one, at the price of a dead row for each grant; applications that
// need it have the row at hand.

import (
	"context"

	"github.com/lockbench/lockbench/drivers"
)

var rowLockDesign = design{
	Design: drivers.Design{
		Name:   "row-lock",
		Traits: drivers.Traits{Exclusive: true, Owned: true, Waits: true, Session: true},
		Models: "BEGIN; SELECT … FOR UPDATE NOWAIT, or FOR UPDATE to wait; COMMIT, on a pinned connection",
		Wrong: "a broken connection frees the lock under its holder: no fence; a transaction stays open as long as the lock is held, " +
			"which hinders VACUUM; each release waits for the disk",
		Loses: []drivers.Hazard{
			drivers.HazardConnectionCut, drivers.HazardHalfOpen, drivers.HazardMissedWakeup, drivers.HazardRestartEmpty, drivers.HazardFailover,
		},
	},
	table: true,
	statements: func(table string) map[string]string {
		return map[string]string{
			"begin":    "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE", // whatever the user's default is
			"try":      "SELECT FROM " + table + " WHERE name = $1 FOR UPDATE NOWAIT",
			"lock":     "SELECT FROM " + table + " WHERE name = $1 FOR UPDATE",
			"make":     "INSERT INTO " + table + " (name) VALUES ($1) ON CONFLICT DO NOTHING",
			"limit":    "SELECT set_config('lock_timeout', $1::text, true)", // until the end of the transaction
			"commit":   "COMMIT",
			"rollback": "ROLLBACK",
		}
	},
	session: func(s *service) session { return &rowLock{client: client{svc: s}, holds: map[string]hold{}} },
	persists: func(fsync, late bool) string {
		switch {
		case !fsync:
			return "none, fsync off"
		case late:
			return "none, fsync late"
		}
		return "none, fsync at release"
	},
}

// Try implements drivers.Session. It only confirms what Wait has won.
func (s *rowLock) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	l.Reset()
	l.Owner = s.owners.Next()
	if s.won.conn != nil && s.wonKey == l.Key {
		s.holds[l.Key] = hold{s.won.conn, l.Owner}
		s.won = hold{}
		return true, nil
	}
	if err := ctx.Err(); err != nil {
		return false, s.svc.fail("try", err)
	}
	c, r, err := s.lock(ctx, "try", l)
	switch {
	case err != nil:
		return false, s.svc.fail("try", err)
	case r.refused == nil:
		s.holds[l.Key] = hold{c, l.Owner}
		return true, nil
	case r.refused.Code != "55P03":
		err = r.refused
	}
	s.put(c)
	return false, s.svc.fail("try", err)
}

// Release implements drivers.Session.
func (s *rowLock) Release(ctx context.Context, l *drivers.Lease) (bool, error) {
	owned, err := s.release(ctx, l)
	return owned, s.svc.fail("release", err)
}
