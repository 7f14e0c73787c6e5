// row-lock is SELECT … FOR UPDATE in a transaction on a pinned connection, as in Quartz's JDBC job store. It writes
// nothing, so no commit has to be fsynced; a fence would cost that, so there is none.
package mysql

import (
	"cmp"
	"context"
	"database/sql"
	"errors"

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
			drivers.HazardConnectionCut, drivers.HazardHalfOpen, drivers.HazardMissedWakeup, drivers.HazardRestartEmpty,
			drivers.HazardFailover,
		},
	},
	columns: "k VARBINARY(255) NOT NULL PRIMARY KEY",
	ends:    []string{"wait_timeout", "idle_transaction_timeout", "idle_readonly_transaction_timeout"},
	session: func(s session) drivers.Session {
		rows := &rowLocker{session: s, held: map[string]*conn{}}
		return &pinned{session: &rows.session, locker: rows}
	},
}

const (
	lockRow   = "SELECT 1 FROM `%` WHERE k = ? FOR UPDATE"
	findRow   = "SELECT 1 FROM `%` WHERE k = ?"
	insertRow = "INSERT IGNORE INTO `%` (k) VALUES (?)"
)

// rowLocker is a locker each of whose locks has a connection. One more is kept for the next use, which is enough for a
// client that holds one lock at a time.
type rowLocker struct {
	session
	idle *conn
	held map[string]*conn // by owner
}

// connect makes sure of a connection without a lock.
func (s *rowLocker) connect(ctx context.Context) error {
	if s.idle != nil && !s.idle.alive() {
		s.idle.close()
		s.idle = nil
	}
	if s.idle != nil {
		return nil
	}
	c, err := s.svc.dial(ctx)
	if err != nil {
		return err
	}
	if err = c.exec(ctx, "SET autocommit = 0"); err != nil { // with it, a lock would end with its statement
		c.close()
		return err
	}
	s.idle = c
	return nil
}

// keep keeps a connection without a lock. One whose statement has failed may have locked a row all the same, if it was
// interrupted at the moment of the grant.
func (s *rowLocker) keep(c *conn, failed bool) {
	if failed && c.broken == nil {
		if err := c.exec(unwatched, "ROLLBACK"); err != nil {
			c.broken = err
		}
	}
	if c.broken == nil && s.idle == nil {
		s.idle = c
		return
	}
	c.close()
}

func (s *rowLocker) end(f func(*conn)) {
	for _, c := range s.held {
		f(c)
	}
	if s.idle != nil {
		f(s.idle)
	}
	s.idle = nil
	clear(s.held)
}

// lock locks the row of l.Key. The server gives up a wait after its innodb_lock_wait_timeout, 50 s by default, which is
// an error.
func (s *rowLocker) lock(ctx context.Context, l *drivers.Lease, wait bool) (bool, error) {
	if err := s.connect(ctx); err != nil {
		return false, err
	}
	c := s.idle
	s.idle = nil
	l.Owner = s.owners.Next()
	err := errNoRow
	for n := 0; n < 3 && err == errNoRow; n++ {
		switch err = s.makeRow(ctx, l.Key); {
		case err != nil:
		case wait:
			_, err = c.wait(ctx, l, s.svc.onTable(lockRow), rowName(l.Key))
		default:
			_, err = c.number(ctx, s.svc.onTable(lockRow+" NOWAIT"), rowName(l.Key))
		}
		switch { // a server that came back empty
		case err == sql.ErrNoRows: // and now the gap where the row would be is locked
			s.svc.rows.Delete(l.Key)
			err = cmp.Or(c.exec(ctx, "ROLLBACK"), errNoRow)
		case numberOf(err) == errNoSuchTable:
			s.svc.rows.Delete(l.Key)
			err = cmp.Or(s.svc.restore(ctx), errNoRow)
		}
	}
	if err == nil {
		s.held[l.Owner] = c
		return true, nil
	}
	refused := !wait && contended(err)
	s.keep(c, !refused)
	if refused {
		return false, nil
	}
	return false, err
}

// errNoRow says that there was no row to lock, and should be one now.
var errNoRow = errors.New("the row that was made for the key is not there")

// makeRow inserts the row of a key, unless it is known to be there. To look for it by locking it would lock the gap where
// it would be, and to insert it in a transaction would lock the row: a client that stood still then would keep all
// others waiting, although nobody has the lock. If the row is there, inserting it would wait for its holder, and reading
// it does not; so one session of the service at a time does both.
func (s *rowLocker) makeRow(ctx context.Context, key string) error {
	if _, made := s.svc.rows.Load(key); made {
		return nil
	}
	s.svc.making.Lock()
	defer s.svc.making.Unlock()
	err := s.svc.controlled(ctx, "make a row", func(ctx context.Context, own *sql.DB) error {
		var found int
		err := own.QueryRowContext(ctx, s.svc.onTable(findRow), rowName(key)).Scan(&found)
		if err == sql.ErrNoRows {
			_, err = own.ExecContext(ctx, s.svc.onTable(insertRow), rowName(key))
		}
		return err
	})
	if err == nil {
		s.svc.rows.Store(key, nil)
	}
	return err
}

// Release implements drivers.Session. What a lost connection has held is free, or will be when the server notices.
func (s *rowLocker) Release(ctx context.Context, l *drivers.Lease) (bool, error) {
	if err := s.begin(ctx); err != nil {
		return false, fail("release", err)
	}
	c := s.held[l.Owner]
	if c == nil {
		return false, nil
	}
	delete(s.held, l.Owner)
	if !c.alive() {
		s.ended = c.broken
		c.close()
		return false, nil
	}
	err := c.exec(ctx, "COMMIT")
	s.keep(c, err != nil)
	return err == nil, fail("release", err)
}
