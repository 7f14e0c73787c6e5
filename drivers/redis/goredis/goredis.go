// Package goredis drives the Redis lock designs through github.com/redis/go-redis and registers them as "go-redis".
//
// The library has a pool of connections and sends one command at a time on each. Pipelining "auto" uses its automatic
// pipeliner, which is experimental and not the default.
package goredis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/redis"
)

func init() {
	drivers.Register("go-redis", Driver)
	// The library writes to standard error when a connection fails. The caller gets that error anyway.
	goredis.SetLogger(&logging.VoidLogger{})
}

// Dial opens a client. It connects when it is first used.
func Dial(_ context.Context, o redis.Options) (redis.Conn, error) {
	if o.Conns < 0 {
		return nil, fmt.Errorf("%d connections are not possible: give 1 or more, or 0 for the library's default", o.Conns)
	}
	if o.Retries < 0 {
		return nil, fmt.Errorf("%d retries are not possible: give 0 or more", o.Retries)
	}
	if o.Topology == drivers.TopologyCluster {
		return dialCluster(o)
	}
	options := poolOptions(o)
	switch o.Pipelining {
	case drivers.PipeliningDefault, drivers.PipeliningOff, drivers.PipeliningBatch:
		return &conn{client: newClient(o, options), io: o.IO(), sharded: o.Sharded}, nil
	case drivers.PipeliningAuto:
		return dialAuto(o, options)
	}
	return nil, fmt.Errorf("pipelining %q is unknown: go-redis has auto, off and batch", o.Pipelining)
}

func poolOptions(o redis.Options) *goredis.UniversalOptions {
	io := o.IO()
	options := &goredis.UniversalOptions{
		Addrs:    []string{o.Target.Addr()},
		Dialer:   func(ctx context.Context, _, _ string) (net.Conn, error) { return o.Dial(ctx) },
		Username: o.Target.Username,
		Password: string(o.Target.Password),
		DB:       o.Target.Database,

		MaxRetries:            maxRetries(o),
		DialerRetries:         1,
		ContextTimeoutEnabled: true,
		DialTimeout:           io,
		ReadTimeout:           io,
		WriteTimeout:          io,
		PoolTimeout:           io,
		PoolSize:              o.Conns,

		// This saves two commands on each new connection, which servers before 7.2 do not know anyway.
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
	if o.Topology == drivers.TopologySentinel || o.Topology == drivers.TopologyCluster {
		options.Addrs = nil
		for _, t := range o.Targets {
			options.Addrs = append(options.Addrs, t.Addr())
		}
		options.Dialer = func(ctx context.Context, _, addr string) (net.Conn, error) { return o.DialTo(ctx, addr) }
	}
	if o.Conns > 0 && o.Clients > 0 {
		// Connect in advance, so that a run with a given number of connections has them from the start.
		options.MinIdleConns = min(o.Conns, o.Clients)
	}
	return options
}

// maxRetries returns the library's setting for the retries, whose own default is 3. A command that is sent again
// falsifies latency and safety: a repeated release may free the next holder's lock.
func maxRetries(o redis.Options) int {
	if o.Retries == 0 {
		return -1 // none
	}
	return o.Retries
}

type conn struct {
	client  goredis.UniversalClient
	io      time.Duration
	auto    *pipeliner // nil without pipelining
	cluster bool
	sharded bool // subscriptions use SSUBSCRIBE
}

// request carries the arguments of a command in one allocation: the library writes a *string like a string, and a
// pointer needs no box. It is not reused, because a queue may hold it after Do has returned.
type request struct {
	text [inline]string
	args [inline]any
}

const inline = 8

func newArgs(args []string) []any {
	if len(args) > inline {
		list := make([]any, len(args))
		for i, arg := range args {
			list[i] = arg
		}
		list[0] = lower(args[0])
		return list
	}
	r := new(request)
	copy(r.text[:], args)
	r.text[0] = lower(args[0])
	for i := range args {
		r.args[i] = &r.text[i]
	}
	return r.args[:len(args)]
}

// lower returns a command's name in lower case, as the library needs it; for the frequent ones it avoids a new string.
func lower(name string) string {
	switch name {
	case "SET":
		return "set"
	case "EVALSHA":
		return "evalsha"
	}
	return strings.ToLower(name)
}

// Do implements redis.Conn.
func (c *conn) Do(ctx context.Context, args []string, key int) (redis.Reply, error) {
	if err := ctx.Err(); err != nil {
		return redis.Reply{}, err // the pipeliner would send it anyway
	}
	cmd := goredis.NewCmd(ctx, newArgs(args)...)
	cmd.SetFirstKeyPos(int8(key))
	var err error
	if c.cluster {
		err = c.client.Process(ctx, once{cmd})
	} else if c.auto == nil {
		err = c.client.Process(ctx, cmd)
	} else {
		err = c.auto.do(ctx, cmd)
	}
	return result(cmd, err)
}

// DoWait implements redis.Waiter with a pipeline, which has its own connection even if others are shared.
func (c *conn) DoWait(ctx context.Context, args []string, key int, wait []string) (answer redis.Reply, err error, acked int64, waitErr error) {
	cmd := goredis.NewCmd(ctx, newArgs(args)...)
	cmd.SetFirstKeyPos(int8(key))
	acks := goredis.NewIntCmd(ctx, newArgs(wait)...)
	pipe := c.client.Pipeline()
	pipe.Process(ctx, cmd)
	pipe.Process(ctx, acks)
	pipe.Exec(ctx) // each command has its own error
	acked, waitErr = acks.Result()
	answer, err = result(cmd, cmd.Err())
	return answer, err, acked, translate(waitErr)
}

// result returns the reply to a command that has been sent.
func result(cmd *goredis.Cmd, err error) (redis.Reply, error) {
	switch {
	case err == goredis.Nil:
		return redis.Nil(), nil
	case err != nil:
		return redis.Reply{}, translate(err)
	}
	return reply(cmd.Val())
}

func reply(value any) (redis.Reply, error) {
	switch v := value.(type) {
	case nil:
		return redis.Nil(), nil
	case string:
		return redis.Text(v), nil
	case int64:
		return redis.Int(v), nil
	case []any:
		items := make([]redis.Reply, len(v))
		for i := range v {
			var err error
			if items[i], err = reply(v[i]); err != nil {
				return redis.Reply{}, err
			}
		}
		return redis.Array(items...), nil
	case map[any]any: // as an array of names and values, as before RESP3
		var items []redis.Reply
		for name, value := range v {
			pair, err := reply([]any{name, value})
			if err != nil {
				return redis.Reply{}, err
			}
			both, _ := pair.AsArray()
			items = append(items, both...)
		}
		return redis.Array(items...), nil
	}
	return redis.Reply{}, redis.Unexpected(fmt.Sprintf("no lock command answers with a %T", value))
}

// translate gives the library's own errors their class.
func translate(err error) error {
	server, answered := errors.AsType[goredis.Error](err)
	switch {
	case err == nil:
		return nil
	case answered:
		return redis.NewServerError(server.Error())
	case errors.Is(err, goredis.ErrClosed):
		return redis.Closed
	case strings.HasPrefix(err.Error(), "redis: all sentinels specified"), strings.HasPrefix(err.Error(), "redis: cluster has no nodes"):
		return &drivers.Error{Class: drivers.ClassConnect, Op: "find the server", Err: err} // nothing was sent
	case errors.Is(err, goredis.ErrPoolTimeout), errors.Is(err, goredis.ErrPoolExhausted):
		return &drivers.Error{Class: drivers.ClassConnect, Op: "pool", Err: err} // nothing was sent
	case drivers.ClassOf(err) == drivers.ClassOther:
		if strings.HasPrefix(err.Error(), "redis: ") { // "redis: can't parse …", "redis: invalid reply …"
			return &drivers.Error{Class: drivers.ClassProtocol, Op: "reply", Err: err}
		}
	}
	return err
}

// Close implements redis.Conn.
func (c *conn) Close() error {
	var err error
	if c.auto != nil {
		err = c.auto.close()
	}
	if err = cmp.Or(err, c.client.Close()); errors.Is(err, goredis.ErrClosed) || errors.Is(err, net.ErrClosed) {
		return nil // it was closed before, or its connections were; see pipeliner
	}
	return err
}

// Send implements redis.Conn. The connection comes from the pool, even if commands are pipelined.
func (c *conn) Send(ctx context.Context, commands []redis.Command) {
	pipe := c.client.Pipeline()
	sent := make([]*goredis.Cmd, len(commands))
	for i := range commands {
		sent[i] = pipe.Do(ctx, newArgs(commands[i].Args)...)
	}
	pipe.Exec(ctx) // each command has its own error
	for i, cmd := range sent {
		commands[i].Reply, commands[i].Err = result(cmd, cmd.Err())
	}
}

// Subscribe implements redis.Conn.
func (c *conn) Subscribe(ctx context.Context, message func(channel, payload string)) (redis.Subscription, error) {
	pubsub := c.client.Subscribe(ctx)
	if err := pubsub.Ping(ctx); err != nil { // this makes it connect
		pubsub.Close()
		return nil, translate(err)
	}
	s := &subscription{pubsub: pubsub, io: c.io, message: message, sharded: c.sharded, done: make(chan struct{}), waiting: map[string][]*pending{}}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	go s.receive()
	return s, nil
}

// subscription is a redis.Subscription over the library's PubSub, which reconnects by itself without telling. So the
// first error ends the subscription.
type subscription struct {
	pubsub  *goredis.PubSub
	io      time.Duration
	message func(channel, payload string)
	sharded bool
	leaving redis.Leaving
	ctx     context.Context
	cancel  context.CancelFunc
	done    chan struct{} // closed when receive has returned

	mu      sync.Mutex
	waiting map[string][]*pending // by channel, in the order of sending
}

// pending is a SUBSCRIBE that the server has not confirmed for all its channels.
type pending struct {
	left   int
	answer chan error // buffered
}

// Add implements redis.Subscription.
func (s *subscription) Add(ctx context.Context, channels ...string) error {
	p := &pending{left: len(channels), answer: make(chan error, 1)}
	if err := s.send(ctx, p, channels); err != nil {
		return translate(err)
	}
	select {
	case err := <-p.answer:
		return err
	case <-s.done:
		return redis.Closed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// send holds the mutex while it writes, so that waiting has the order of the connection.
func (s *subscription) send(ctx context.Context, p *pending, channels []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, channel := range channels {
		s.waiting[channel] = append(s.waiting[channel], p)
	}
	return s.write(ctx, func(ctx context.Context) error {
		if s.sharded {
			return s.pubsub.SSubscribe(ctx, channels...)
		}
		return s.pubsub.Subscribe(ctx, channels...)
	})
}

// write calls send. It does not pass the caller's context on: the library takes a write without time for a broken
// connection, which all listeners share.
func (s *subscription) write(ctx context.Context, send func(ctx context.Context) error) error {
	err := send(context.WithoutCancel(ctx))
	if err != nil {
		s.pubsub.Close() // it may have a new connection already, which receive must not use
	}
	return err
}

// Remove implements redis.Subscription. It does not wait for the server.
func (s *subscription) Remove(ctx context.Context, channels ...string) error {
	return translate(s.write(ctx, func(ctx context.Context) error {
		if s.sharded {
			s.leaving.Expect(channels)
			return s.pubsub.SUnsubscribe(ctx, channels...)
		}
		return s.pubsub.Unsubscribe(ctx, channels...)
	}))
}

// Done implements redis.Subscription.
func (s *subscription) Done() <-chan struct{} { return s.done }

// Close implements redis.Subscription.
func (s *subscription) Close() error {
	s.cancel()
	err := s.pubsub.Close()
	<-s.done
	if errors.Is(err, goredis.ErrClosed) {
		return nil
	}
	return err
}

// receive passes on what the server sends. After a silence of one I/O time-out it sends a PING, and gives up the
// connection after another one: a connection can die silently.
func (s *subscription) receive() {
	defer close(s.done)
	asked := false
	for {
		event, err := s.pubsub.ReceiveTimeout(s.ctx, s.io)
		server, answered := errors.AsType[goredis.Error](err)
		switch {
		case err == nil:
			asked = false
		case drivers.ClassOf(err) == drivers.ClassTimeout && !asked:
			if s.pubsub.Ping(s.ctx) != nil {
				return
			}
			asked = true
			continue
		case answered:
			s.refuse(redis.NewServerError(server.Error()))
			continue
		default:
			return
		}
		switch event := event.(type) {
		case *goredis.Message:
			s.message(event.Channel, event.Payload)
		case *goredis.Subscription:
			switch event.Kind {
			case "subscribe", "ssubscribe":
				s.confirm(event.Channel)
			case "sunsubscribe":
				if !s.leaving.Expected(event.Channel) {
					return // the slot has moved to another node
				}
			}
		}
	}
}

func (s *subscription) confirm(channel string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	line := s.waiting[channel]
	if len(line) == 0 {
		return
	}
	if line[0].left--; line[0].left == 0 {
		line[0].resolve(nil)
	}
	if len(line) == 1 {
		delete(s.waiting, channel)
	} else {
		s.waiting[channel] = line[1:]
	}
}

// refuse fails all that wait: an error reply does not say which of them it is for.
func (s *subscription) refuse(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for channel, line := range s.waiting {
		for _, p := range line {
			p.resolve(err)
		}
		delete(s.waiting, channel)
	}
}

func (p *pending) resolve(err error) {
	select {
	case p.answer <- err:
	default: // it has its answer already
	}
}
