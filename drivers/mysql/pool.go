// A pool of connections of a fixed size: if all are in use, callers wait; and how sessions use it that have no connection of
// their own.
package mysql

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

type pool struct {
	svc     *service
	use     use
	timeout time.Duration
	slots   chan struct{}

	mu   sync.Mutex
	idle []*conn // the last one is the one used last
}

func (s *service) newPool(size int, u use) *pool {
	return &pool{svc: s, use: u, timeout: s.cfg.IO(), slots: make(chan struct{}, size)}
}

// get waits for a connection; return it with put. After an error nothing was sent to the server.
func (p *pool) get(ctx context.Context) (*conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case p.slots <- struct{}{}:
	default:
		if err := p.waitSlot(ctx); err != nil {
			return nil, err
		}
	}
	for c := p.pop(); c != nil; c = p.pop() {
		if c.alive() {
			return c, nil
		}
		c.close() // it was idle: nothing is lost with it
	}
	c, err := p.svc.dial(ctx, p.use)
	if err != nil {
		<-p.slots
	}
	return c, err
}

func (p *pool) waitSlot(ctx context.Context) error {
	timer := time.NewTimer(p.timeout)
	defer timer.Stop()
	select {
	case p.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		err := fmt.Errorf("all %d connections are in use for %v", cap(p.slots), p.timeout)
		return &drivers.Error{Class: drivers.ClassConnect, Op: "pool", Err: err}
	}
}

func (p *pool) pop() *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := len(p.idle) - 1
	if last < 0 {
		return nil
	}
	c := p.idle[last]
	p.idle = p.idle[:last]
	return c
}

// put returns a connection, and closes it if it is broken.
func (p *pool) put(c *conn) {
	if c.broken.Load() {
		c.close()
	} else {
		p.mu.Lock()
		p.idle = append(p.idle, c)
		p.mu.Unlock()
	}
	<-p.slots
}

// close waits until the pool is unused, at most for one I/O time-out. The service closes the connections.
func (p *pool) close() {
	timer := time.NewTimer(p.timeout)
	defer timer.Stop()
	for range cap(p.slots) {
		select {
		case p.slots <- struct{}{}:
		case <-timer.C:
			return
		}
	}
}

// run runs a statement, with the table for %, on any free connection. If the table is missing, the server has come back
// empty: then the table is made, and the statement, which has done nothing, runs again.
func (s *rowSession) run(ctx context.Context, query string, args ...any) (affected, insertID int64, err error) {
	err = s.pooled(ctx, func(c *conn) (err error) {
		affected, insertID, err = c.exec(ctx, s.svc.onTable(query), args...)
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
		row, err := c.row(ctx, s.svc.onTable(restOfRow), []byte(rowName(l.Key)))
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
