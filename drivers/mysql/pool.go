// A pool of connections of a fixed size: if all are in use, callers wait.
package mysql

import (
	"context"
	"fmt"
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
