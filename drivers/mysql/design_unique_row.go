// unique-row is the lock table of countless articles: a row with a unique key, an owner and an expiry. Most of them
// insert and delete, so that a dead holder's row stays for ever, and compare the expiry with the clients' clocks.
package mysql

import (
	"context"
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
	session: func(s *session) drivers.Session { return &rowSession{session: s} },
}

// takeRow tells by the number of affected rows who won: 1 is inserted, 2 is changed, 0 is refused. The id of the last
// insertion is the version in the second case, and the rest of the holder's lease in µs in the third. MySQL assigns
// from left to right, so expires comes last.
const takeRow = "INSERT INTO `%` (k, owner, version, expires) " +
	"VALUES (?, ?, 1, UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND) " +
	"ON DUPLICATE KEY UPDATE " +
	"version = IF(expires <= UTC_TIMESTAMP(6), LAST_INSERT_ID(version + 1), " +
	"IF(LAST_INSERT_ID(TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), expires)), version, version)), " +
	"owner = IF(expires <= UTC_TIMESTAMP(6), VALUES(owner), owner), " +
	"expires = IF(expires <= UTC_TIMESTAMP(6), VALUES(expires), expires)"

const (
	freeRow = "UPDATE `%` SET expires = '2000-01-01', owner = '' " +
		"WHERE k = ? AND owner = ? AND expires > UTC_TIMESTAMP(6)"
	renewRow = "UPDATE `%` SET expires = UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND " +
		"WHERE k = ? AND owner = ? AND expires > UTC_TIMESTAMP(6)"
	restOfRow = "SELECT TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), expires) FROM `%` WHERE k = ?"
)

// rowSession implements drivers.Session. It has no connection of its own.
type rowSession struct {
	*session
	refused string    // the key of the last Try, if it was refused
	until   time.Time // when the holder's lease ends
}

// Adopt implements drivers.Adopter.
func (s *rowSession) Adopt(owner string) { s.owners.Adopt(owner) }

// Try implements drivers.Session.
func (s *rowSession) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	l.Reset()
	l.Owner = s.owners.Next()
	s.refused = ""
	ttl, err := micros(l.TTL)
	if err != nil {
		return false, fail("try", err)
	}
	affected, id, err := s.run(ctx, takeRow, []byte(rowName(l.Key)), []byte(l.Owner), ttl)
	switch {
	case deadlocked(err):
		return false, nil
	case err != nil:
		return false, fail("try", err)
	case affected == 1:
		l.Fence = 1
	case affected > 1:
		l.Fence = uint64(id)
	default:
		s.refused, s.until = l.Key, time.Now().Add(time.Duration(id)*time.Microsecond)
	}
	return affected > 0, nil
}

// Release implements drivers.Session.
func (s *rowSession) Release(ctx context.Context, l *drivers.Lease) (bool, error) {
	affected, _, err := s.run(ctx, freeRow, []byte(rowName(l.Key)), []byte(l.Owner))
	return affected > 0, fail("release", err)
}

// Renew implements drivers.Renewer.
func (s *rowSession) Renew(ctx context.Context, l *drivers.Lease) (bool, error) {
	ttl, err := micros(l.TTL)
	if err != nil {
		return false, fail("renew", err)
	}
	affected, _, err := s.run(ctx, renewRow, ttl, []byte(rowName(l.Key)), []byte(l.Owner))
	return affected > 0, fail("renew", err)
}
