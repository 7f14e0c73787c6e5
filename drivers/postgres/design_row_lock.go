package postgres

// A row that is locked in a transaction: BEGIN and SELECT … FOR UPDATE NOWAIT in one packet, and COMMIT to release, as
// in applications that have the row anyway. Locking a row is a write: the transaction gets a number and a log record,
// and the COMMIT waits for the disk (fsync, synchronous_commit), although nothing was changed. The grant does not.
// A transaction holds one lock, so that each can be released separately.
//
// It has no fence. A column that counts up would be one, at the price of a dead row for each grant; applications that
// need it have the row at hand.

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lockbench/lockbench/drivers"
)

var rowLockDesign = design{
	Design: drivers.Design{
		Name:   "row-lock",
		Traits: drivers.Traits{Exclusive: true, Owned: true, Waits: true, Session: true},
		Models: "BEGIN; SELECT … FOR UPDATE NOWAIT, or FOR UPDATE to wait; COMMIT, on a pinned connection",
		Wrong: "a broken connection frees the lock under its holder: no fence; a transaction stays open as long as the " +
			"lock is held, which hinders VACUUM; each release waits for the disk",
		Loses: []drivers.Hazard{
			drivers.HazardConnectionCut, drivers.HazardHalfOpen, drivers.HazardMissedWakeup, drivers.HazardRestartEmpty,
			drivers.HazardFailover,
		},
	},
	statements: func(table string) map[string]string {
		return map[string]string{
			"begin":   "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE",   // whatever the user's default is
			"limit":   "SELECT set_config('lock_timeout', $1::text, true)", // until the end of the transaction
			"try":     "SELECT true FROM " + table + " WHERE name = $1 FOR UPDATE NOWAIT",
			"lock":    "SELECT true FROM " + table + " WHERE name = $1 FOR UPDATE",
			"make":    "INSERT INTO " + table + " (name) VALUES ($1) ON CONFLICT DO NOTHING",
			"release": "COMMIT",
			"undo":    "ROLLBACK",
		}
	},
	param: func(dst []byte, key string) []byte { return append(dst, key...) },
	persists: func(fsync, commitsLate bool) string {
		switch {
		case !fsync:
			return "none, fsync off"
		case commitsLate:
			return "none, fsync late"
		}
		return "none, fsync at release"
	},
}

// tableMark begins the comment on every table that this driver has made. A table without it belongs to someone else.
const tableMark = "lockbench: rows to lock; dropped when the last run that uses them ends"

// tableName returns the quoted name of the table for all services with the same prefix. PostgreSQL cuts names off
// after 63 bytes, so longer ones end with their hash.
func tableName(prefix string) string {
	name := prefix + "rows"
	if len(name) > 63 {
		hash := fmt.Sprintf("%016x", uint64(keyOf(name)))
		name = strings.ToValidUTF8(name[:63-len(hash)], "") + hash // not in the middle of a character
	}
	return pgx.Identifier{name}.Sanitize()
}

// makeTable makes the table. Another service with the same prefix may have made it. The server would go on if ctx
// ended meanwhile, so that ends makeTable only afterwards.
func (s *service) makeTable(ctx context.Context, c *pgx.Conn) error {
	caller := ctx
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.IO())
	defer cancel()
	_, err := c.Exec(ctx, "CREATE TABLE "+s.table+` (name text COLLATE "C" PRIMARY KEY); `+
		"COMMENT ON TABLE "+s.table+" IS '"+tableMark+"'")
	remedy := ""
	switch stateOf(err) {
	case "42P07", "42710", "23505": // it exists, or has just been made
		ours := false
		mark := "SELECT coalesce(obj_description(to_regclass($1), 'pg_class') LIKE $2, false)"
		if failed := c.QueryRow(ctx, mark, s.table, tableMark+"%").Scan(&ours); failed != nil || ours {
			err = failed
		} else {
			remedy = "lockbench has not made that table, and does not touch it: name another database"
		}
	case "25006":
		standBy := false
		_ = c.QueryRow(ctx, "SELECT pg_is_in_recovery()").Scan(&standBy)
		if remedy = "default_transaction_read_only is on: turn it off for this user"; standBy {
			remedy = "this is a stand-by: give the address of the primary"
		}
	case "42501", "3F000":
		remedy = "GRANT CREATE ON SCHEMA public to the user, or name a database of its own"
	}
	switch {
	case remedy != "":
		class, err := s.explain(err)
		return &drivers.Error{Class: class, Op: "make the table " + s.table, Err: fmt.Errorf("%w; %s", err, remedy)}
	case err != nil:
		return fmt.Errorf("make the table %s: %w", s.table, err)
	}
	s.control.made = true
	return caller.Err()
}

// dropTable drops the table unless another service uses it, which would make it anew if it just did not. It asks for a
// moment, in which the server may free what our own sessions held, and stays in nobody's way while it waits.
func (s *service) dropTable() error {
	s.control.Lock()
	made := s.control.made
	s.control.Unlock()
	if !made {
		return nil
	}
	return s.use(context.Background(), func(ctx context.Context, c *pgx.Conn) error {
		for start := time.Now(); ; time.Sleep(5 * time.Millisecond) {
			_, err := c.Exec(ctx, "LOCK TABLE "+s.table+" IN ACCESS EXCLUSIVE MODE NOWAIT; DROP TABLE "+s.table)
			switch state := stateOf(err); {
			case state == noTable, state == notAvailable && time.Since(start) > time.Second:
				return nil
			case state != notAvailable:
				return err
			}
		}
	})
}
