// How sessions without a connection of their own run statements, and further operations on the rows.
package mysql

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// run runs a statement, with the table for %, on any free connection. If the table is missing, the server has come back
// empty: then the table is made, and the statement, which has done nothing, runs again.
func (s *rowSession) run(ctx context.Context, query string, args ...any) (affected, insertID int64, err error) {
	err = s.pooled(ctx, func(c *conn) (err error) {
		affected, insertID, err = s.exec(ctx, c, s.svc.onTable(query), args...)
		return err
	})
	return affected, insertID, err
}

func (s *rowSession) pooled(ctx context.Context, f func(*conn) error) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	c, err := s.svc.pool.get(ctx)
	if err != nil {
		return err
	}
	if err = f(c); numberOf(err) == errNoSuchTable {
		if err = s.svc.restore(ctx); err == nil {
			err = f(c)
		}
	}
	if c.broken.Load() {
		s.abandon(c)
	}
	s.svc.pool.put(c)
	return err
}

func (s *service) onTable(query string) string { return strings.Replace(query, "%", s.table, 1) }

// Remaining implements drivers.Remainer: from the last refusal, or by a query.
func (s *rowSession) Remaining(ctx context.Context, l *drivers.Lease) (time.Duration, error) {
	if s.refused == l.Key && l.Key != "" {
		return max(0, time.Until(s.until)), nil
	}
	var left time.Duration
	err := s.pooled(ctx, func(c *conn) error {
		row, err := s.row(ctx, c, s.svc.onTable(restOfRow), []byte(rowName(l.Key)))
		if err == nil && row != nil {
			left = max(0, time.Duration(number(row[0]))*time.Microsecond)
		}
		return err
	})
	return left, fail("remaining", err)
}

// cleanBatch is the number of rows that one statement deletes.
const cleanBatch = 100

// rowService is a service whose rows outlive the sessions.
type rowService struct{ *service }

// Clean implements drivers.Cleaner.
func (s rowService) Clean(ctx context.Context, keys []string) error {
	return s.controlled(ctx, "clean", func(c *conn) error {
		for len(keys) > 0 {
			n := min(len(keys), cleanBatch)
			args := make([]any, n)
			for i, key := range keys[:n] {
				args[i] = []byte(rowName(key))
			}
			query := "DELETE FROM `%` WHERE k IN (?" + strings.Repeat(", ?", n-1) + ")"
			if _, _, err := c.exec(ctx, s.onTable(query), args...); err != nil && numberOf(err) != errNoSuchTable {
				return err
			}
			keys = keys[n:]
		}
		return nil
	})
}

// micros returns a lease in microseconds, rounded up.
func micros(d time.Duration) (int64, error) {
	if d <= 0 {
		return 0, &drivers.Error{Class: drivers.ClassServer, Op: "lease", Err: errors.New("the TTL has to be more than 0")}
	}
	return int64((d + time.Microsecond - 1) / time.Microsecond), nil
}
