// Batches: the requests of many sessions in one write (-pipelining batch), of one command each or in steps.
package redis

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/lockbench/lockbench/drivers"
)

// asker is a session each of whose requests is one command. Its methods make and read the same commands, so that a batch does
// what they do. It could be carried in steps as well, which cost a coroutine for each request.
type asker interface {
	lend(args []string, owners *drivers.Owners)
	giveBack(owners *drivers.Owners)

	// set returns the command of Try, in a slice that is valid until the next one, and heard what Try returns, from the answer.
	set(l *drivers.Lease) ([]string, error)
	heard(l *drivers.Lease, reply Reply, err error) (bool, error)

	// ask and hear do the same for Release and Renew.
	ask(o op, l *drivers.Lease) ([]string, error)
	hear(o op, l *drivers.Lease, reply Reply, err error) (bool, error)
}

// swapper is an asker that is a drivers.Passer.
type swapper interface {
	swap(from, to *drivers.Lease) ([]string, error)
	swapped(to *drivers.Lease, reply Reply, err error) (owned bool, _ error)
}

// ops are the purposes of the requests in a batch.
var ops = [...]op{drivers.OpTry: opTry, drivers.OpRelease: opRelease, drivers.OpRenew: opRenew, drivers.OpPass: opPass}

// Batch implements drivers.Batcher.
func (s *service) Batch(context.Context) (drivers.Batch, error) {
	switch {
	case s.cfg.Topology != "" && s.cfg.Topology != drivers.TopologySingle:
		return nil, fmt.Errorf("topology %s: requests in batches go to a single server", s.cfg.Topology)
	case s.traits.Blocks:
		return nil, errors.New("a release that wakes a client which sleeps on the server goes alone")
	case s.stepwise():
		return &steps{sender: sender{conn: s.conn}}, nil
	}
	return &batch{sender: sender{conn: s.conn}}, nil
}

// stepwise reports whether a request takes several commands, and goes in steps if it goes in a batch.
func (s *service) stepwise() bool {
	publishes := s.traits.Wakes && (s.cfg.Release == drivers.ReleaseDelIfEq || s.cfg.Release == drivers.ReleaseDelEx) // by itself
	return !s.design.single || publishes
}

// sender sends commands in one write. It borrows a connection for each, which the pool replaces when it has broken.
type sender struct {
	conn     Conn
	commands []Command
}

// Close implements drivers.Batch.
func (sender) Close() error { return nil }

// batch sends requests of one command each.
type batch struct {
	sender
	of     []int             // the number of the request of each command
	args   [][maxArgs]string // of the commands: sessions have none of their own
	owners drivers.Owners    // of all sessions
}

// Do implements drivers.Batch.
func (b *batch) Do(ctx context.Context, requests []drivers.Request) {
	b.commands, b.of = b.commands[:0], b.of[:0]
	for len(b.args) < len(requests) {
		b.args = append(b.args, [maxArgs]string{})
	}
	for i := range requests {
		r := &requests[i]
		a := r.Session.(asker)
		a.lend(b.args[i][:0], &b.owners)
		args, err := command(r)
		a.giveBack(&b.owners)
		if err != nil {
			r.Yes, r.Err = false, ops[r.Op].fail(err)
			continue
		}
		b.commands, b.of = append(b.commands, Command{Args: args}), append(b.of, i)
	}
	b.send(ctx)
	b.rerun(ctx)
	for n := range b.commands {
		r, c := &requests[b.of[n]], &b.commands[n]
		switch r.Op {
		case drivers.OpTry:
			r.Yes, r.Err = r.Session.(asker).heard(r.Lease, c.Reply, c.Err)
		case drivers.OpPass:
			r.Yes, r.Err = r.Session.(swapper).swapped(r.To, c.Reply, c.Err)
		default:
			r.Yes, r.Err = r.Session.(asker).hear(ops[r.Op], r.Lease, c.Reply, c.Err)
		}
	}
}

func command(r *drivers.Request) ([]string, error) {
	switch r.Op {
	case drivers.OpTry:
		return r.Session.(asker).set(r.Lease)
	case drivers.OpPass:
		return r.Session.(swapper).swap(r.Lease, r.To)
	}
	return r.Session.(asker).ask(ops[r.Op], r.Lease)
}

func (b *sender) send(ctx context.Context) { b.conn.Send(ctx, b.commands) }

// rerun does for all scripts of a batch what session.rerun does for one.
func (b *batch) rerun(ctx context.Context) {
	var of []int
	var unknown []*Script
	again := sender{conn: b.conn}
	for i := range b.commands {
		c := &b.commands[i]
		if c.Err == nil || c.Args[0] != "EVALSHA" {
			continue
		}
		script := scripts[c.Args[1]]
		if !isUnknownScript(c.Err) {
			c.Err = script.denied(c.Err)
			continue
		}
		c.Args[0], c.Args[1] = "EVAL", script.source
		of, unknown = append(of, i), append(unknown, script)
		again.commands = append(again.commands, Command{Args: c.Args})
	}
	if of == nil {
		return
	}
	again.send(ctx)
	for n, i := range of {
		b.commands[i] = again.commands[n]
		b.commands[i].Err = unknown[n].denied(b.commands[i].Err)
	}
}

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
