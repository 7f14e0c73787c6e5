package redis_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/redis"
)

// parrot is a server, and its client library, that answers every command alike, whatever that means.
type parrot struct {
	redis.Conn
	reply redis.Reply
	err   error
	sent  int // commands
}

func (p *parrot) Do(_ context.Context, args []string, _ int) (redis.Reply, error) {
	if asksForScripts(args) {
		return redis.Reply{}, errNoScript
	}
	p.sent++
	return p.reply, p.err
}

var errNoScript = redis.NewServerError("NOSCRIPT No matching script. Please use EVAL.")

// asksForScripts reports whether a command is Open's, which runs a script that does not exist.
func asksForScripts(args []string) bool {
	return args[0] == "EVALSHA" && strings.Trim(args[1], "0") == ""
}

func (p *parrot) Send(_ context.Context, commands []redis.Command) {
	for i := range commands {
		p.sent++
		commands[i].Reply, commands[i].Err = p.reply, p.err
	}
}

func (p *parrot) Close() error { return nil }

func (p *parrot) Subscribe(context.Context, func(channel, payload string)) (redis.Subscription, error) {
	return quiet{done: make(chan struct{})}, nil
}

// quiet is a subscription without messages.
type quiet struct {
	redis.Subscription
	done chan struct{}
}

func (quiet) Add(context.Context, ...string) error    { return nil }
func (quiet) Remove(context.Context, ...string) error { return nil }
func (q quiet) Done() <-chan struct{}                 { return q.done }
func (q quiet) Close() error                          { close(q.done); return nil }

// TestBatchReplies has a server that answers what makes no sense: a request in a batch returns what the session's own method
// returns, with as many commands.
func TestBatchReplies(t *testing.T) {
	replies := map[string]parrot{
		"an unknown script":  {err: errNoScript},
		"a denied command":   {err: redis.NewServerError("NOPERM this user has no permissions to run the 'evalsha' command")},
		"an error":           {err: redis.NewServerError("OOM command not allowed when used memory > 'maxmemory'.")},
		"an empty error":     {err: redis.NewServerError("")},
		"a broken line":      {err: &drivers.Error{Class: drivers.ClassClosed, Op: "read", Err: errors.New("reset")}},
		"nil":                {reply: redis.Nil()},
		"OK":                 {reply: redis.Text("OK")},
		"another text":       {reply: redis.Text("QUEUED")},
		"an integer":         {reply: redis.Int(1)},
		"a negative integer": {reply: redis.Int(-1)},
	}
	greeter := miniredis.NewMiniRedis()
	defer greeter.Close()
	for _, design := range (redis.Driver{}).Designs() {
		for name, answers := range replies {
			t.Run(design.Name+"/"+name, func(t *testing.T) {
				direct, batched := ask(t, greeter, design.Name, answers, false), ask(t, greeter, design.Name, answers, true)
				for i := range direct {
					if direct[i] != batched[i] {
						t.Errorf("by itself: %s\nin a batch: %s", direct[i], batched[i])
					}
				}
			})
		}
	}
}

// ask makes each request of a design once, and says what it returned.
func ask(t *testing.T, greeter *miniredis.Miniredis, design string, answers parrot, batched bool) (got []string) {
	t.Helper()
	cfg := drivers.Config{Lock: design, Addrs: []string{"redis:6379"}, Prefix: "p:"}
	if batched {
		cfg.Pipelining = drivers.PipeliningBatch
	}
	conn := &answers
	svc, err := redis.Driver{
		Dial:    func(context.Context, redis.Options) (redis.Conn, error) { return conn, nil },
		Connect: func(context.Context, string, string) (net.Conn, error) { return greeter.Dial() }, // looks whether it is a Redis
	}.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer svc.Close()
	s, err := svc.Session(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	var batch drivers.Batch = drivers.InTurn{}
	if batched {
		b, _ := drivers.As[drivers.Batcher](svc)
		if batch, err = b.Batch(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	ops := []drivers.Op{drivers.OpTry, drivers.OpRelease}
	if _, ok := s.(drivers.Renewer); ok {
		ops = append(ops, drivers.OpRenew)
	}
	if _, ok := s.(drivers.Passer); ok {
		ops = append(ops, drivers.OpPass)
	}
	for _, op := range ops {
		conn.sent = 0
		r := []drivers.Request{{
			Session: s, Op: op,
			Lease: &drivers.Lease{Key: "p:0", TTL: time.Second, Owner: "me"}, To: &drivers.Lease{Key: "p:0", TTL: time.Second},
		}}
		batch.Do(t.Context(), r)
		got = append(got, fmt.Sprint(op, ": ", r[0].Yes, ", ", r[0].Err, ", effect ", !drivers.NoEffect(r[0].Err), ", commands ", conn.sent))
	}
	return got
}
