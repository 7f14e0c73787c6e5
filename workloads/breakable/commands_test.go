package breakable_test

// Defects in what is sent to Redis: a command or a script is another one when it arrives.

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/redis"
)

// sends returns a driver on whose connections something else is sent. Scripts are sent as text, never as a hash, so that they can be
// changed.
func sends(what func(ctx context.Context, c redis.Conn, args []string, key int) (redis.Reply, error)) func(drivers.Driver) drivers.Driver {
	return func(sound drivers.Driver) drivers.Driver {
		d := sound.(redis.Driver)
		dial := d.Dial
		d.Dial = func(ctx context.Context, o redis.Options) (redis.Conn, error) {
			c, err := dial(ctx, o)
			if err != nil {
				return nil, err
			}
			return changed{c, what}, nil
		}
		return d
	}
}

// changed is a connection on which something else is sent.
type changed struct {
	redis.Conn
	send func(context.Context, redis.Conn, []string, int) (redis.Reply, error)
}

func (c changed) Do(ctx context.Context, args []string, key int) (redis.Reply, error) {
	if args[0] == "EVALSHA" {
		return redis.Reply{}, redis.NewServerError("NOSCRIPT it is another one")
	}
	return c.send(ctx, c.Conn, slices.Clone(args), key)
}

// script returns a defect of the scripts that have a text: they have another one.
func script(text, other string) func(drivers.Driver) drivers.Driver {
	idle.Store(text, true)
	return sends(func(ctx context.Context, c redis.Conn, args []string, key int) (redis.Reply, error) {
		if args[0] == "EVAL" && strings.Contains(args[1], text) {
			idle.Delete(text)
			args[1] = strings.ReplaceAll(args[1], text, other)
		}
		return c.Do(ctx, args, key)
	})
}

// idle has the texts that were to be others, and that no request has had so far.
var idle sync.Map

// command returns a defect of a command: it has other arguments.
func command(name string, change func(args []string) []string) func(drivers.Driver) drivers.Driver {
	return sends(func(ctx context.Context, c redis.Conn, args []string, key int) (redis.Reply, error) {
		if args[0] == name {
			args = change(args)
		}
		return c.Do(ctx, args, key)
	})
}

func setsLeaseAfterwards(ctx context.Context, c redis.Conn, args []string, key int) (redis.Reply, error) {
	if args[0] != "SET" {
		return c.Do(ctx, args, key)
	}
	reply, err := c.Do(ctx, args[:4], key) // SET key owner NX
	if text, _ := reply.AsText(); err == nil && text == "OK" {
		_, err = c.Do(ctx, []string{"PEXPIRE", args[1], args[5]}, 1)
	}
	return reply, err
}

func looksAndTakes(ctx context.Context, c redis.Conn, args []string, key int) (redis.Reply, error) {
	if args[0] != "SET" {
		return c.Do(ctx, args, key)
	}
	reply, err := c.Do(ctx, []string{"EXISTS", args[1]}, 1)
	if n, _ := reply.AsInt(); err != nil || n > 0 {
		return redis.Nil(), err
	}
	return c.Do(ctx, slices.DeleteFunc(args, func(a string) bool { return a == "NX" }), key)
}
