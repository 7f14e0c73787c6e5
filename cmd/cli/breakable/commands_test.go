package breakable_test

// Defects of designs for Redis, in what is sent: each changes a command or a script on its way to the server.

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/redis"
)

var inCommands = []defect{
	// The design set-nx: SET key owner NX PX lease, and two scripts.
	{"wrong-release-chain", "acquires without NX", command("SET", without("NX")), []string{"rueidis set-nx"}, "at once"},
	{"wrong-release-chain", "takes the lease for seconds, and sends it as milliseconds", command("SET", lease(1, 1000)), []string{"rueidis set-nx"}, "at once"},
	{"holder-dies", "takes the lease for milliseconds, and sends it as seconds", command("SET", lease(1000, 1)), []string{"go-redis set-nx"}, "dead holder"},
	{"holder-dies", "acquires without PX", command("SET", func(args []string) []string { return args[:len(args)-2] }), []string{"rueidis set-nx"}, "no end"},
	{"every-gap", "sets the lease by a second command", sends(setsLeaseAfterwards), []string{"rueidis set-nx"}, "not free"},
	{"every-gap", "looks whether the key is there, and then takes it", sends(looksAndTakes), []string{"rueidis set-nx"}, "at once"},
	{"get-del-gap", "compares the owner in the client, and then deletes", sends(deletesAfterwards), []string{"go-redis set-nx"}, "at once"},
	{"unlock-after-refusal", "has the same owner for all clients", sends(sameOwner), []string{"rueidis set-nx"}, "at once"},
	{"unlock-after-refusal", "releases without a look at the owner", script("~= ARGV[1] then", "== '' then"), []string{"go-redis set-nx"}, "at once"},
	{"unlock-after-refusal", "deletes the key only when its owner is another one", script("GET', KEYS[1]) ~= ARGV[1]", "GET', KEYS[1]) == ARGV[1]"), []string{"rueidis set-nx"}, "at once"},
	{"unlock-after-refusal", "sets a shorter lease in place of a release", script("redis.call('DEL', KEYS[1])", "redis.call('PEXPIRE', KEYS[1], '60000')"), []string{"rueidis set-nx"}, "not free"},
	{"renewal-reacquires", "renews for a tenth of the lease", script("'PEXPIRE', KEYS[1], ARGV[2]", "'PEXPIRE', KEYS[1], math.floor(ARGV[2] / 10)"), []string{"rueidis set-nx"}, "at once"},
	{"renewal-reacquires", "renews by setting the key again", script("if redis.call('GET', KEYS[1]) ~= ARGV[1] then\n\treturn 0\nend\nreturn redis.call('PEXPIRE', KEYS[1], ARGV[2])", "redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) return 1"), []string{"go-redis set-nx"}, "has had meanwhile"},
	{"holder-dies", "takes the key, and sets no lease", script("'PEXPIRE', KEYS[1], ARGV[1]", "'PERSIST', KEYS[1]"), []string{"rueidis lua-setnx-expire"}, "no end"},
	{"steal-by-del", "does not look at what it has overwritten", sends(trustsItsOverwriting), []string{"rueidis getset"}, "at once"},

	{"renewal-reacquires", "renews without a look at the owner", script("~= ARGV[1] then\n\treturn 0\nend\nreturn redis.call('PEXPIRE'", "== '' then\nend\nreturn redis.call('PEXPIRE'"), []string{"rueidis set-nx"}, "which B holds"},

	// Waiting.
	{"missed-wakeup", "releases without a message", script("redis.call('PUBLISH', KEYS[1] .. ARGV[2], '')", ""), []string{"rueidis set-nx"}, "slept on a free key"},
	{"missed-wakeup", "sends the message over another channel", script("'PUBLISH', KEYS[1] .. ARGV[2]", "'PUBLISH', KEYS[1] .. ':freed'"), []string{"go-redis set-nx"}, "slept on a free key"},
	{"missed-wakeup", "releases without a token for a sleeper", script("redis.call('RPUSH', tokens, '1')", ""), []string{"rueidis set-nx"}, "slept on a free key"},
	{"missed-wakeup", "lets waiters sleep though messages may be lost", inService(sleepsOverLoss), []string{"rueidis set-nx"}, "slept on a free key"},

	// The design fenced.
	{"wrong-release-chain", "does not count", script("redis.call('INCR', KEYS[2])", "1"), []string{"rueidis fenced"}, "fencing token"},
	{"wrong-release-chain", "counts in a key that ends with the lease", script("ARGV[2] + 86400000", "ARGV[2]"), []string{"go-redis fenced"}, "fencing token"},

	// The design redisson: a hash that counts.
	{"unlock-after-refusal", "leaves without a look at who is inside", script("if not times then", "times = times or '1'\nif false then"), []string{"rueidis redisson"}, "at once"},
	{"wrong-release-chain", "takes whoever comes for its holder", script("HEXISTS', KEYS[1], ARGV[2]) == 1", "EXISTS', KEYS[1]) == 1"), []string{"go-redis redisson"}, "at once"},
	{"unlock-after-refusal", "counts an entry twice", script("'HINCRBY', KEYS[1], ARGV[2], 1", "'HINCRBY', KEYS[1], ARGV[2], 2"), []string{"rueidis redisson"}, "not free"},
	{"reentry-no-extend", "does not set the lease again when its holder enters again", script("redis.call('PEXPIRE', KEYS[1], ARGV[1])\n\treturn nil", "if redis.call('PTTL', KEYS[1]) < 0 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end\n\treturn nil"), []string{"go-redis redisson"}, "at once"},
	{"renewal-reacquires", "renews without a look at who is inside", script("redis.call('HEXISTS', KEYS[1], ARGV[2]) == 0", "false"), []string{"go-redis redisson"}, "which B holds"},
	{"reentry-miscounted", "frees the key with the first of several releases", script("tonumber(times) > 1", "false"), []string{"rueidis redisson"}, "B was granted it"},
	{"reentry-miscounted", "counts no second entry", script("redis.call('HINCRBY', KEYS[1], ARGV[2], 1)", "redis.call('HSET', KEYS[1], ARGV[2], 1)"), []string{"go-redis redisson"}, "B was granted it"},
	{"shared-connections", "is one holder in all its threads", sends(oneThread), []string{"rueidis redisson"}, "at once"},
	{"holder-dies", "enters without a lease", script("redis.call('PEXPIRE', KEYS[1], ARGV[1])\n\treturn nil", "return nil"), []string{"rueidis redisson"}, "dead holder"},
	{"holder-dies", "sets the holder's lease again with each refusal", script("return redis.call('PTTL', KEYS[1])", "redis.call('PEXPIRE', KEYS[1], ARGV[1])\nreturn redis.call('PTTL', KEYS[1])"), []string{"go-redis redisson"}, "dead holder"},

	// The design fair: a line on the server.
	{"wrong-release-chain", "hands over for whoever asks", script("if redis.call('GET', KEYS[1]) ~= ARGV[1] then\n\treturn 0\nend\nif not", "if not"), []string{"rueidis fair"}, "at once"},
	{"holder-dies", "grants a free key without a lease", script("redis.call('SET', KEYS[1], owner, 'PX', lease)", "redis.call('SET', KEYS[1], owner)"), []string{"go-redis fair"}, "dead holder"},
}

// sends returns a defect that changes what is sent to Redis. The text of each script is sent, never its hash, so that it can be changed.
func sends(what func(ctx context.Context, c redis.Conn, args []string, key int) (redis.Reply, error)) func(drivers.Driver) drivers.Driver {
	return inConn(func(c redis.Conn) redis.Conn { return changed{c, what} })
}

// inConn returns a Redis driver with a defect below its designs.
func inConn(plant func(redis.Conn) redis.Conn) func(drivers.Driver) drivers.Driver {
	return func(sound drivers.Driver) drivers.Driver {
		d := sound.(redis.Driver)
		dial := d.Dial
		d.Dial = func(ctx context.Context, o redis.Options) (redis.Conn, error) {
			c, err := dial(ctx, o)
			if err != nil {
				return nil, err
			}
			return plant(c), nil
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

// without leaves out an argument.
func without(arg string) func([]string) []string {
	return func(args []string) []string { return slices.DeleteFunc(args, func(a string) bool { return a == arg }) }
}

// lease multiplies the last argument, at least 1, by a fraction.
func lease(times, by int) func([]string) []string {
	return func(args []string) []string {
		last := &args[len(args)-1]
		n, _ := strconv.Atoi(*last) // a lease
		*last = strconv.Itoa(max(1, n*times/by))
		return args
	}
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

func deletesAfterwards(ctx context.Context, c redis.Conn, args []string, key int) (redis.Reply, error) {
	if args[0] != "EVAL" || !strings.Contains(args[1], "'DEL'") {
		return c.Do(ctx, args, key)
	}
	reply, err := c.Do(ctx, []string{"GET", args[3]}, 1)
	if owner, _ := reply.AsText(); err != nil || owner != args[4] {
		return redis.Int(0), err
	}
	return c.Do(ctx, []string{"DEL", args[3]}, 1)
}

func sameOwner(ctx context.Context, c redis.Conn, args []string, key int) (redis.Reply, error) {
	switch args[0] {
	case "SET":
		args[2] = "locked"
	case "EVAL":
		args[4] = "locked"
	}
	return c.Do(ctx, args, key)
}

func trustsItsOverwriting(ctx context.Context, c redis.Conn, args []string, key int) (redis.Reply, error) {
	reply, err := c.Do(ctx, args, key)
	if args[0] == "GETSET" {
		return redis.Nil(), err
	}
	return reply, err
}

// oneThread has Redisson's holder be the process alone.
func oneThread(ctx context.Context, c redis.Conn, args []string, key int) (redis.Reply, error) {
	last := &args[len(args)-1]
	if process, thread, ok := strings.Cut(*last, ":"); args[0] == "EVAL" && ok && thread != "" {
		*last = process + ":1"
	}
	return c.Do(ctx, args, key)
}

// acknowledged is a connection to a primary whose replicas acknowledge everything.
type acknowledged struct{ redis.Conn }

func (a acknowledged) DoWait(ctx context.Context, args []string, key int, wait []string) (redis.Reply, error, int64, error) {
	reply, err, _, _ := a.Conn.(redis.Waiter).DoWait(ctx, args, key, wait)
	return reply, err, math.MaxInt64, nil
}

// sleepsOverLoss does not wake those who may have missed a message.
func sleepsOverLoss(s drivers.Service) drivers.Service {
	return deaf{service{s, func(s drivers.Session) drivers.Session { return s }}}
}

type deaf struct{ service }

func (d deaf) Listen(ctx context.Context, wake func(string)) (drivers.Listener, error) {
	sub, _ := drivers.As[drivers.Subscriber](d.Service) // it wakes
	return sub.Listen(ctx, func(key string) {
		if key != "" {
			wake(key)
		}
	})
}
