// row-lock is SELECT … FOR UPDATE in a transaction on a pinned connection, as in Quartz's JDBC job store. It writes
// nothing, so no commit has to be fsynced; a fence would cost that, so there is none.
package mysql

import (
	"context"

	"github.com/lockbench/lockbench/drivers"
)

var rowLock = kind{
	Design: drivers.Design{
		Name:   "row-lock",
		Traits: drivers.Traits{Exclusive: true, Owned: true, Session: true, Waits: true},
		Models: "SELECT … FOR UPDATE (NOWAIT) of a row made for the key; COMMIT releases. " +
			"Waiters sleep in the server, in order of arrival on MariaDB, in its own order on MySQL 8 (CATS)",
		Wrong: "a broken connection frees the lock under its holder: no fence; " +
			"a connection and an open transaction for each lock that is held; " +
			"InnoDB keeps the locks of all rows of a page in one list and walks it, so that long lines slow each other down",
		Loses: []drivers.Hazard{
			drivers.HazardConnectionCut, drivers.HazardHalfOpen, drivers.HazardMissedWakeup, drivers.HazardRestartEmpty, drivers.HazardFailover,
		},
	},
	columns: "k VARBINARY(255) NOT NULL PRIMARY KEY",
	pinned:  true,
	limits:  []string{"wait_timeout", "idle_transaction_timeout", "idle_readonly_transaction_timeout"},
	session: func(s *session) drivers.Session { return &txSession{session: s, held: map[string]*conn{}} },
}

const lockRow = "SELECT 1 FROM `%` WHERE k = ? FOR UPDATE"

// txSession implements drivers.Session. Each lock that it holds has a connection; one more is kept for the next use.
type txSession struct {
	*session
	idle *conn
	held map[string]*conn // by owner
	won  drivers.Lease    // won by Wait, for the next Try to confirm; without a Key if there is none
}

// Try implements drivers.Session.
func (s *txSession) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	l.Reset()
	if s.won.Key == l.Key && l.Key != "" {
		l.Owner, s.won = s.won.Owner, drivers.Lease{}
		return true, nil
	}
	l.Owner = s.owners.Next()
	held, err := s.lock(ctx, l, false, func(c *conn) (bool, error) {
		row, err := c.row(ctx, s.svc.onTable(lockRow+" NOWAIT"), []byte(rowName(l.Key)))
		return row != nil, err
	})
	if contended(err) {
		return false, nil
	}
	return held, fail("try", err)
}

// Release implements drivers.Session.
func (s *txSession) Release(ctx context.Context, l *drivers.Lease) (bool, error) {
	if err := s.begin(ctx); err != nil {
		return false, fail("release", err)
	}
	c := s.held[l.Owner]
	if c == nil {
		return false, nil // begin has ended any connection that may have had it
	}
	delete(s.held, l.Owner)
	if !c.alive() { // it was lost with its connection
		s.lose(c)
		return false, fail("release", s.killLost(ctx))
	}
	_, _, err := c.exec(ctx, "COMMIT")
	s.keepIdle(c, err != nil)
	return err == nil, fail("release", err)
}
