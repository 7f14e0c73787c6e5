// The table of a run: made by the first service that opens with its prefix, and dropped by the last one that closes.
// And the names of tables, rows and user locks, each with its own limits on the server.
package mysql

import (
	"context"
	"crypto/sha256"
	"database/sql"
	sqldriver "database/sql/driver"
	"fmt"
	"strings"
	"sync"
	"time"
)

// keeper is the connection that keeps the table from being dropped by other services: its transaction has seen it.
type keeper struct {
	sync.Mutex
	conn *sql.Conn
}

// keep makes sure of the keeper's connection, a new one if it was lost, and of the table.
func (s *service) keep(ctx context.Context) error {
	s.keeper.Lock()
	defer s.keeper.Unlock()
	if s.table == "" || s.closed() || s.keeper.conn != nil && alive(s.keeper.conn) {
		return nil
	}
	sent := time.Now()
	c, err := s.own.Conn(ctx)
	settings := "SET SESSION autocommit = 0, wait_timeout = 2147483"
	if _, has := s.about["idle_transaction_timeout"]; has {
		settings += ", idle_transaction_timeout = 0"
	}
	for _, query := range []string{
		settings, createTable + s.columns + ") ENGINE=InnoDB",
		"SELECT 1 FROM `%` LIMIT 0", // it reads no row, and so does not keep the server from cleaning up old versions
	} {
		if err == nil {
			_, err = c.ExecContext(ctx, s.onTable(query))
		}
	}
	if err == nil {
		s.keeper.conn = c
	} else if c != nil {
		discard(c)
	}
	return fail("open the table "+s.table, s.failed(ctx, sent, err))
}

const createTable = "CREATE TABLE IF NOT EXISTS `%` ("

// restore makes the table on a server that came back without it.
func (s *service) restore(ctx context.Context) error {
	sent := time.Now()
	_, err := s.own.ExecContext(ctx, s.onTable(createTable)+s.columns+") ENGINE=InnoDB")
	return s.failed(ctx, sent, err)
}

// dropTable drops the table, unless another service keeps it. It may have to wait for a moment for the connections of this
// service that have just ended. MariaDB is asked again and again; MySQL waits a second itself, and others with it.
func (s *service) dropTable() error {
	s.keeper.Lock()
	defer s.keeper.Unlock()
	if s.table == "" {
		return nil
	}
	if s.keeper.conn != nil {
		discard(s.keeper.conn)
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.cfg.IO())
	defer cancel()
	c, err := s.own.Conn(ctx)
	if err == nil {
		defer discard(c)
		_, err = c.ExecContext(ctx, "SET SESSION lock_wait_timeout = 0")
	}
	for start := time.Now(); err == nil; time.Sleep(10 * time.Millisecond) {
		if _, err = c.ExecContext(ctx, s.onTable("DROP TABLE IF EXISTS `%`")); err == nil {
			return nil
		}
		if numberOf(err) == errLockWait && time.Since(start) < 200*time.Millisecond {
			err = nil
		}
	}
	if numberOf(err) == errLockWait {
		return nil
	}
	return fmt.Errorf("mysql: close: the table %s is left in the database %s: %w", s.table, s.target.DBName, err)
}

// discard closes a connection, so that the pool does not lend it again.
func discard(c *sql.Conn) { _ = c.Raw(func(any) error { return sqldriver.ErrBadConn }) }

// onTable puts the table in the place of % in a statement.
func (s *service) onTable(query string) string { return strings.Replace(query, "%", s.table, 1) }

const (
	maxRowName  = 255 // of the column; an index takes at least 767 bytes everywhere
	maxLockName = 64  // MySQL's limit for names of user locks and of tables; MariaDB takes 192 for the former
)

// tableName returns the name of the table for all services with the same prefix and the same design: the letters and
// digits of the prefix, and a hash of both.
func tableName(prefix, design string) string {
	name := strings.Trim(strings.Map(func(r rune) rune {
		if strange(r) || strings.ContainsRune(":./-", r) {
			return '_'
		}
		return r
	}, strings.ToLower(prefix)), "_")
	const rest = len("lb__") + 16
	return "lb_" + name[:min(len(name), maxLockName-rest)] + "_" + hash(design + "\x00" + prefix)[:16]
}

// rowName returns the key, or a hash of it if it is too long for the column.
func rowName(key string) []byte {
	if len(key) > maxRowName {
		key = hash(key)
	}
	return []byte(key)
}

// lockName returns the key, or a hash of it if the server might take it for another one: it limits the length of the
// names of user locks, and ignores case, and more under some collations.
func lockName(key string) string {
	if len(key) > maxLockName || strings.ContainsFunc(key, strange) {
		return "#" + hash(key)
	}
	return key
}

// strange reports whether a character is not plain in names: a lower-case letter, a digit or one of a few signs.
func strange(r rune) bool {
	return !('a' <= r && r <= 'z' || '0' <= r && r <= '9' || strings.ContainsRune(":._/-", r))
}

// hash returns 124 bits of the key's hash.
func hash(key string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(key)))[:31] }
