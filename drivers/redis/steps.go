// Batches of requests that take several commands, each after the answer to the one before.
package redis

import (
	"context"
	"iter"

	"github.com/lockbench/lockbench/drivers"
)

// steps runs each request as a coroutine that stops at a command until it is answered. So it sends the first commands of all
// requests in one write, then the second ones of those that have one, and so on.
type steps struct {
	sender
	running []step
}

// step is a request under way.
type step struct {
	conn *stepConn
	next func() (_ struct{}, more bool) // goes on to its next command
}

// stepConn is the Conn of a session whose requests go through steps.
type stepConn struct {
	Conn
	yield   func(struct{}) bool // ends the turn of the request under way; nil if there is none
	command Command             // of that request
}

// Do implements Conn.
func (c *stepConn) Do(ctx context.Context, args []string, key int) (Reply, error) {
	if c.yield == nil {
		return c.Conn.Do(ctx, args, key)
	}
	c.command = Command{Args: args}
	c.yield(struct{}{})
	return c.command.Reply, c.command.Err
}

// Do implements drivers.Batch.
func (b *steps) Do(ctx context.Context, requests []drivers.Request) {
	for i := range requests {
		r := &requests[i]
		conn := r.Session.(interface{ stepConn() *stepConn }).stepConn()
		next, _ := iter.Pull(func(yield func(struct{}) bool) {
			conn.yield = yield
			defer func() { conn.yield = nil }()
			r.Call(ctx)
		})
		b.running = append(b.running, step{conn, next})
	}
	for len(b.running) > 0 {
		b.commands = b.commands[:0]
		left := b.running[:0]
		for _, s := range b.running {
			if _, more := s.next(); more {
				left, b.commands = append(left, s), append(b.commands, s.conn.command)
			}
		}
		b.running = left
		b.send(ctx)
		for i, s := range left {
			s.conn.command = b.commands[i]
		}
	}
}
