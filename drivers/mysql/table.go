// The table of a run: made by the first service that opens with its prefix, and dropped by the last one that closes.
// Names of tables, rows and user locks, each with its own limits on the server.
package mysql

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

const errTableExists = 1050

// tableMark begins the comment on every table that this driver has made. A table without it belongs to someone else.
const tableMark = "locks of a lockbench run, to be dropped after it"

// maxKeepers is the highest number of services that may use one table.
const maxKeepers = 64

// keeper is the connection that registers a service as a user of the table. It has one of a few user locks named after
// the table: a service that closes and finds no other one taken is the last. One more lock is held while that is
// checked, and while the table is made or dropped.
type keeper struct {
	sync.Mutex
	conn *conn   // nil without a table
	lost []*conn // earlier ones
}

// openTable makes the table, or uses the one that another service with the same prefix has made. A table of that name
// without the mark belongs to someone else and is left alone. The server would go on to make the table if ctx ended
// meanwhile; so that ends Open only afterwards.
func (s *service) openTable(ctx context.Context, name string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.keeper.Lock()
	defer s.keeper.Unlock()
	if err := s.keep(context.WithoutCancel(ctx), name); err != nil {
		return fail("open the table "+name, err)
	}
	s.table = name // set once: sessions read it without the mutex
	return ctx.Err()
}

// keep makes sure of the keeper's connection, a new one if it was lost, and of the table.
func (s *service) keep(ctx context.Context, name string) error {
	if c := s.keeper.conn; c != nil {
		if c.alive() {
			return nil
		}
		c.close()
		s.keeper.conn, s.keeper.lost = nil, append(s.keeper.lost, c)
	}
	c, err := s.dial(ctx, forControl)
	if err != nil {
		return err
	}
	err = s.alone(ctx, c, name, func() error {
		for n := range maxKeepers {
			row, err := c.row(ctx, "SELECT GET_LOCK(?, 0)", keeperName(s.target.database, name, n))
			if err != nil {
				return err
			}
			if number(row[0]) == 1 {
				return s.makeTable(ctx, c, name)
			}
		}
		return fmt.Errorf("%d services use it: close some, or give this one another prefix", maxKeepers)
	})
	if err != nil {
		c.close()
		s.keeper.lost = append(s.keeper.lost, c)
		return err
	}
	s.keeper.conn = c
	return nil
}

// keepUnlessBusy is keep for a caller that needs something else: it leaves the work to the next caller if another one is at it,
// or if it fails.
func (s *service) keepUnlessBusy(ctx context.Context) {
	if s.keeper.TryLock() {
		defer s.keeper.Unlock()
		if s.keeper.conn != nil {
			_ = s.keep(ctx, s.table)
		}
	}
}

// alone calls f while no other service opens or closes the table.
func (s *service) alone(ctx context.Context, c *conn, name string, f func() error) error {
	guard := keeperName(s.target.database, name, maxKeepers)
	row, err := c.rowWithin(ctx, c.io, "SELECT GET_LOCK(?, ?)", guard, int64((c.io+time.Second-1)/time.Second))
	if err != nil {
		return err
	}
	if number(row[0]) != 1 {
		return errors.New("another service is opening or closing it, and does not come to an end")
	}
	err = f()
	if _, free := c.row(ctx, "SELECT RELEASE_LOCK(?)", guard); err == nil {
		err = free
	}
	return err
}

// keeperName returns the name of a user lock, which is visible on the whole server.
func keeperName(database, table string, n int) string {
	return lockName(fmt.Sprintf("lockbench-table:%s.%s/%d", database, table, n))
}

func (s *service) makeTable(ctx context.Context, c *conn, name string) error {
	_, _, err := c.exec(ctx, fmt.Sprintf("CREATE TABLE `%s` (%s) ENGINE=InnoDB COMMENT='%s'", name, s.columns, tableMark))
	if err == nil {
		s.rows.Clear()
		return nil
	}
	if numberOf(err) == errTableExists {
		switch ours, asking := isOurs(ctx, c, name); {
		case asking != nil:
			return asking
		case ours:
			return nil
		}
	}
	return err
}

// isOurs reports whether this driver has made a table of that name.
func isOurs(ctx context.Context, c *conn, name string) (bool, error) {
	row, err := c.row(ctx, "SELECT table_comment FROM information_schema.tables "+
		"WHERE table_schema = DATABASE() AND table_name = ?", []byte(name))
	if len(row) == 0 || err != nil {
		return false, err
	}
	comment, _ := row[0].(string)
	return strings.HasPrefix(comment, tableMark), nil
}

// restore makes the table again on a server that came back without it.
func (s *service) restore(ctx context.Context) error {
	return s.controlled(ctx, "create the table again", func(c *conn) error {
		return s.makeTable(ctx, c, s.table) // unless another session was faster
	})
}

// dropTable drops the table if no other service uses it.
func (s *service) dropTable(ctx context.Context) error {
	s.keeper.Lock()
	defer s.keeper.Unlock()
	if s.table == "" {
		return nil
	}
	if err := s.keep(ctx, s.table); err != nil {
		return err
	}
	c := s.keeper.conn
	defer c.close()
	s.keeper.conn = nil                  // otherwise a session that connects now would make it again
	for _, lost := range s.keeper.lost { // the server may still keep their locks
		if err := c.kill(ctx, lost); err != nil {
			return err
		}
	}
	return s.alone(ctx, c, s.table, func() error {
		names := make([]any, maxKeepers)
		for n := range names {
			names[n] = keeperName(s.target.database, s.table, n)
		}
		row, err := c.row(ctx, "SELECT IS_USED_LOCK(?)"+strings.Repeat(", IS_USED_LOCK(?)", maxKeepers-1), names...)
		if err != nil {
			return err
		}
		own, last := "", true
		for n, id := range row {
			switch {
			case id == nil:
			case number(id) == c.id:
				own = names[n].(string)
			default:
				last = false
			}
		}
		if !last { // the server notices a closed connection late, and the next service to close would still find this lock
			_, err := c.row(ctx, "SELECT RELEASE_LOCK(?)", own)
			return err
		}
		if ours, err := isOurs(ctx, c, s.table); err != nil || !ours {
			return err
		}
		return c.drop(ctx, s.table)
	})
}

func (c *conn) drop(ctx context.Context, table string) error {
	// By default, it waits a day for a transaction that has seen the table, and later clients wait for it.
	if _, _, err := c.exec(ctx, "SET SESSION lock_wait_timeout = ?", int64(max(1, c.io/time.Second/2))); err != nil {
		return err
	}
	_, _, err := c.exec(ctx, "DROP TABLE IF EXISTS `"+table+"`")
	return err
}

const (
	maxTableName = 64
	maxRowName   = 255 // of the column; an index takes at least 767 bytes everywhere
	maxLockName  = 64  // MySQL's limit; MariaDB takes 192
)

// newTableName returns the name of the table for all services with the same prefix and the same design: the letters and
// digits of the prefix, and 64 bits of a hash of both.
func newTableName(prefix, design string) string {
	const front, tail = "lb_", 16
	name := strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9':
			return r
		case 'A' <= r && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '_'
	}, prefix), "_")
	name = name[:min(len(name), maxTableName-len(front)-1-tail)]
	sum := sha256.Sum256([]byte(design + "\x00" + prefix))
	return fmt.Sprintf("%s%s_%x", front, name, sum[:tail/2])
}

// rowName returns the key or, if that is too long for the column, its beginning and a hash of all of it.
func rowName(key string) string {
	if len(key) <= maxRowName {
		return key
	}
	tail := hash(key)
	return key[:maxRowName-len(tail)] + tail
}

// lockName returns the name of the user lock for a key. The server ignores case in names, and more under some
// collations, and limits their length. So a short key of lower-case letters, digits and a few signs is used as it is.
// Any other one is replaced by its beginning, with other characters substituted, and a hash of the whole key, which
// begins with a sign that is not among them.
func lockName(key string) string {
	plain := true
	clean := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9', strings.ContainsRune(":._/-", r):
			return r
		}
		plain = false
		return '_'
	}, key)
	if plain && len(key) <= maxLockName {
		return key
	}
	tail := hash(key)
	return clean[:min(len(clean), maxLockName-len(tail))] + tail
}

// hash returns a # and 130 bits of the key's hash, as lower-case letters and digits.
func hash(key string) string {
	sum := sha256.Sum256([]byte(key))
	return "#" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:26]
}
