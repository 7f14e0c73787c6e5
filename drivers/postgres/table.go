package postgres

// The table that holds the rows of the design row-lock.

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/lockbench/lockbench/drivers"
)

// tableMark begins the comment on every table that this driver has made. A table without it belongs to someone else.
const tableMark = "lockbench: rows to lock; dropped when the last run that uses them ends"

// tableName returns the quoted name of the table for all services with the same prefix. PostgreSQL cuts names off after
// 63 bytes, so longer ones end with their hash.
func tableName(prefix string) string {
	name := prefix + "rows"
	if len(name) > 63 {
		hash := fmt.Sprintf("%016x", keyOf(name))
		name = strings.ToValidUTF8(name[:63-len(hash)], "") + hash // not in the middle of a character
	}
	return quote(name)
}

// keepTable makes the table if necessary, and keeps it as long as the connection lives: it holds a shared advisory
// lock, so that the last service to close knows that it is the last. The server would go on to make the table if ctx ended
// meanwhile; so that ends keepTable only afterwards.
func (s *service) keepTable(ctx context.Context, c *conn) error {
	if s.table == "" {
		return nil
	}
	if err := s.makeTable(context.WithoutCancel(ctx), c); err != nil {
		return err
	}
	return ctx.Err()
}

func (s *service) makeTable(ctx context.Context, c *conn) error {
	if err := s.lockTable(ctx, c); err != nil {
		return err
	}
	c.add("CREATE TABLE " + s.table + ` (name text COLLATE "C" PRIMARY KEY)`)
	c.add("COMMENT ON TABLE " + s.table + " IS '" + tableMark + "'")
	err := c.must(c.ask(ctx, c.soon()))
	state := stateOf(err)
	switch state {
	case "42P07", "42710", "23505": // it exists, or another service has just made it
		err, state = s.checkTable(ctx, c), ""
	case "42501", "3F000":
		return &drivers.Error{Class: drivers.ClassAuth, Op: "make the table " + s.table,
			Err: fmt.Errorf("%w; GRANT CREATE ON SCHEMA public to the user, or name a database of its own", err)}
	case "25006":
		why := "this is a stand-by: give the address of the primary"
		if row, err := c.row(ctx, "SELECT pg_is_in_recovery()"); err == nil && row[0] == "f" {
			why = "default_transaction_read_only is on: turn it off for this user"
		}
		err = fmt.Errorf("%w; %s", err, why)
		return &drivers.Error{Class: drivers.ClassReadOnly, Op: "make the table " + s.table, Err: err}
	}
	if state != "" {
		return fmt.Errorf("make the table %s: %w", s.table, err)
	}
	s.control.made = err == nil
	return err
}

// lockTable takes the shared lock. Behind a pooler that is one of a transaction, on a connection of its own: the
// connection of anything else may be lent to another service, and the lock with it.
func (s *service) lockTable(ctx context.Context, c *conn) error {
	if !s.pooled {
		_, err := c.query(ctx, "SELECT pg_advisory_lock_shared($1::int8)", s.tableKey())
		return err
	}
	if keeper := s.control.keeper; keeper != nil {
		if keeper.alive() {
			return nil
		}
		s.drop(keeper)
		s.control.keeper = nil
	}
	keeper, err := s.dial(ctx, true, nil, nil)
	if err != nil {
		return err
	}
	keeper.add("BEGIN")
	if _, err := keeper.query(ctx, "SELECT pg_advisory_xact_lock_shared($1::int8)", s.tableKey()); err != nil {
		s.drop(keeper)
		return err
	}
	s.control.keeper = keeper
	return nil
}

// lockWhole gives the shared lock up, and reports whether nobody else has it: then c has all of it, behind a pooler in a
// transaction that it begins.
func (s *service) lockWhole(ctx context.Context, c *conn) (whole bool, err error) {
	if !s.pooled {
		row, err := c.row(ctx, "SELECT pg_advisory_unlock_shared(key), pg_try_advisory_lock(key) "+
			"FROM (SELECT $1::int8 AS key) AS k", s.tableKey())
		return err == nil && row[1] == "t", err
	}
	if keeper := s.control.keeper; keeper != nil {
		_ = keeper.settle() // if it is broken, its transaction ends by itself
	}
	c.add("BEGIN")
	row, err := c.row(ctx, "SELECT pg_try_advisory_xact_lock($1::int8)", s.tableKey())
	return err == nil && row[0] == "t", err
}

// checkTable makes sure that lockbench has made the table of that name.
func (s *service) checkTable(ctx context.Context, c *conn) error {
	row, err := c.row(ctx, "SELECT coalesce(obj_description(to_regclass($1), 'pg_class'), '')", s.table)
	if err == nil && !strings.HasPrefix(row[0], tableMark) {
		err = &drivers.Error{Class: drivers.ClassServer, Op: "make the table " + s.table, Err: errors.New(
			"lockbench has not made the existing table of that name, and does not touch it: name another database")}
	}
	return err
}

// dropTable drops the table if no other service uses it.
func (s *service) dropTable() error {
	s.control.Lock()
	made := s.control.made
	s.control.Unlock()
	if !made {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.cfg.IO())
	defer cancel()
	return s.use(ctx, func(c *conn) error {
		whole, err := s.lockWhole(ctx, c)
		if err == nil && whole {
			if err = s.checkTable(ctx, c); err == nil {
				_, err = c.query(ctx, "DROP TABLE "+s.table)
			}
		}
		if err == nil && s.pooled {
			_, err = c.query(ctx, "COMMIT")
		}
		return err
	})
}

func (s *service) tableKey() string { return strconv.FormatInt(int64(keyOf(s.table)), 10) }
