// unique-row is the lock table of countless articles: a row with a unique key, an owner and an expiry. Most of them
// insert and delete, so that a dead holder's row stays for ever, and compare the expiry with the clients' clocks.
package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// A released row is kept, so that the version, which is the fence, goes on growing, and so that only a key's first
// acquisition inserts, which is what causes deadlocks. Times are the server's.
var uniqueRow = kind{
	Design: drivers.Design{
		Name:   "unique-row",
		Traits: drivers.Traits{Exclusive: true, Owned: true, Expires: true, Fenced: true, Renews: true},
		Models: "a table with a unique key: INSERT … ON DUPLICATE KEY UPDATE takes a free or expired row, " +
			"UPDATE by owner frees it",
		Wrong: "a holder that outlives its lease goes on beside the next one, unless the fence is checked; " +
			"each acquisition and each release is a commit, so an fsync on a durable server; waiters can only poll, " +
			"and every refused attempt locks the row for a moment and delays the holder",
		Loses: []drivers.Hazard{
			drivers.HazardOverrun, drivers.HazardHolderPauses, drivers.HazardServerClock, drivers.HazardLateGrant,
			drivers.HazardOrphanWatchdog, drivers.HazardFailover, drivers.HazardFenceFailover,
		},
	},
	columns: "k VARBINARY(255) NOT NULL PRIMARY KEY, owner VARBINARY(64) NOT NULL, " +
		"version BIGINT UNSIGNED NOT NULL, expires DATETIME(6) NOT NULL",
	session: func(s session) drivers.Session { return &rowSession{s} },
}

// takeRow tells by the number of affected rows who won: 1 is inserted, 2 is changed, 0 is refused. The id of the last
// insertion is the version in the second case. MySQL assigns from left to right, so expires comes last.
const takeRow = "INSERT INTO `%` (k, owner, version, expires) " +
	"VALUES (?, ?, 1, UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND) " +
	"ON DUPLICATE KEY UPDATE " +
	"version = IF(expires <= UTC_TIMESTAMP(6), LAST_INSERT_ID(version + 1), version), " +
	"owner = IF(expires <= UTC_TIMESTAMP(6), VALUES(owner), owner), " +
	"expires = IF(expires <= UTC_TIMESTAMP(6), VALUES(expires), expires)"

const (
	freeRow = "UPDATE `%` SET expires = '2000-01-01', owner = '' " +
		"WHERE k = ? AND owner = ? AND expires > UTC_TIMESTAMP(6)"
	renewRow = "UPDATE `%` SET expires = UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND " +
		"WHERE k = ? AND owner = ? AND expires > UTC_TIMESTAMP(6)"
)

// rowSession implements drivers.Session. It has no connection of its own.
type rowSession struct{ session }

// Adopt implements drivers.Adopter.
func (s *rowSession) Adopt(owner string) { s.owners.Adopt(owner) }

// Try implements drivers.Session.
func (s *rowSession) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	l.Reset()
	l.Owner = s.owners.Next()
	ttl, err := micros(l.TTL)
	if err != nil {
		return false, fail("try", err)
	}
	result, affected, err := s.run(ctx, takeRow, rowName(l.Key), []byte(l.Owner), ttl)
	switch {
	case deadlocked(err):
		return false, nil
	case err != nil:
		return false, fail("try", err)
	case affected == 1:
		l.Fence = 1
	case affected > 1:
		version, _ := result.LastInsertId()
		l.Fence = uint64(version)
	}
	return affected > 0, nil
}

// Release implements drivers.Session.
func (s *rowSession) Release(ctx context.Context, l *drivers.Lease) (bool, error) {
	_, affected, err := s.run(ctx, freeRow, rowName(l.Key), []byte(l.Owner))
	return affected > 0, fail("release", err)
}

// Renew implements drivers.Renewer.
func (s *rowSession) Renew(ctx context.Context, l *drivers.Lease) (bool, error) {
	ttl, err := micros(l.TTL)
	if err != nil {
		return false, fail("renew", err)
	}
	_, affected, err := s.run(ctx, renewRow, ttl, rowName(l.Key), []byte(l.Owner))
	return affected > 0, fail("renew", err)
}

// run runs a statement, with the table for %, on a connection of the pool. If the table is missing, the server has come
// back empty: then the table is made, and the statement, which has done nothing, runs again.
func (s *rowSession) run(ctx context.Context, query string, args ...any) (result sql.Result, affected int64, err error) {
	if err = s.begin(ctx); err != nil {
		return nil, 0, err
	}
	c, err := s.svc.lend(ctx)
	if err != nil {
		return nil, 0, err
	}
	query = s.svc.onTable(query)
	if result, err = c.change(ctx, query, args...); numberOf(err) == errNoSuchTable {
		if err = s.svc.restore(ctx); err == nil {
			result, err = c.change(ctx, query, args...)
		}
	}
	s.svc.idle <- c
	if err == nil {
		affected, err = result.RowsAffected()
	}
	return result, affected, err
}

// lend waits for a connection of the pool. After an error, nothing was sent to the server.
func (s *service) lend(ctx context.Context) (c *conn, err error) {
	select {
	case c = <-s.idle:
	default:
		timer := time.NewTimer(s.cfg.IO())
		defer timer.Stop()
		select {
		case c = <-s.idle:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-timer.C:
			err = fmt.Errorf("all %d connections are in use for %v", cap(s.idle), s.cfg.IO())
			return nil, &drivers.Error{Class: drivers.ClassConnect, Op: "pool", Err: err}
		}
	}
	if c != nil && c.alive() {
		return c, nil
	}
	if c != nil {
		c.close()
	}
	if c, err = s.dial(ctx); err != nil {
		s.idle <- nil
	}
	return c, err
}

// cleanBatch is the number of rows that one statement deletes.
const cleanBatch = 100

// rowService is a service whose rows outlive the sessions.
type rowService struct{ *service }

// Clean implements drivers.Cleaner.
func (s rowService) Clean(ctx context.Context, keys []string) error {
	for batch := range slices.Chunk(keys, cleanBatch) {
		names := make([]any, len(batch))
		for i, key := range batch {
			names[i] = rowName(key)
		}
		query := "DELETE FROM `%` WHERE k IN (?" + strings.Repeat(", ?", len(names)-1) + ")"
		err := s.controlled(ctx, "clean", func(ctx context.Context, own *sql.DB) error {
			_, err := own.ExecContext(ctx, s.onTable(query), names...)
			return err
		})
		if err != nil && numberOf(err) != errNoSuchTable {
			return err
		}
	}
	return nil
}

// micros returns a lease in microseconds, rounded up.
func micros(d time.Duration) (int64, error) {
	if d <= 0 {
		return 0, &drivers.Error{Class: drivers.ClassServer, Op: "lease", Err: errors.New("the TTL has to be more than 0")}
	}
	return int64((d + time.Microsecond - 1) / time.Microsecond), nil
}
