// Package rueidis drives the Redis lock designs through github.com/redis/rueidis and registers them as "rueidis".
//
// The library sends the commands of all goroutines over a few shared connections, as many at a time as there are. With
// pipelining "off" each command has its own connection from a pool.
//
// A command that exceeds its deadline does not affect other commands; deadline.go says how, and at what cost.
package rueidis

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/redis"
)

func init() { drivers.Register("rueidis", Driver) }

// Dial opens a client and connects it.
func Dial(_ context.Context, o redis.Options) (redis.Conn, error) {
	option, connections, err := ClientOption(o)
	if err != nil {
		return nil, err
	}
	client, err := rueidis.NewClient(option)
	if err != nil {
		if client != nil {
			client.Close()
		}
		connections.Close()
		return nil, translate(err)
	}
	c := &conn{client: client, listening: client, connections: connections, io: o.IO(), sharded: o.Sharded,
		cluster: o.Topology == drivers.TopologyCluster, pooled: option.DisableAutoPipelining}
	if o.Wakes && option.BlockingPoolSize > 0 && o.Topology != drivers.TopologyCluster {
		// Subscriptions come from a pool of that size too, and those beyond it would wait for ever.
		option.BlockingPoolSize, option.PipelineMultiplex = 0, -1
		if c.listening, err = rueidis.NewClient(option); err != nil {
			client.Close()
			connections.Close()
			return nil, translate(err)
		}
	}
	return c, nil
}

// poolBuffer is the size of the buffers of a connection that carries one command at a time; the library's 512 KiB each
// way would be a gigabyte for a thousand of them. go-redis has the same.
const poolBuffer = 32 << 10

// batchBuffer is the size of the buffers of a connection that carries batches: 256 commands are some 40 KiB.
const batchBuffer = 64 << 10

// refresh is how often the sentinels are asked for the primary. They announce a new one, but a client that missed that
// once would use the old one for ever.
const refresh = time.Second

// redirects is how often a command may be sent on to another node. That is not a retry: MOVED and ASK mean that it was
// not executed.
const redirects = 3

// setTopology sets how to find the server. A single one is dialled directly, others at the address that a server names.
func setTopology(option *rueidis.ClientOption, o redis.Options) {
	if o.Topology != drivers.TopologySentinel && o.Topology != drivers.TopologyCluster {
		return
	}
	option.ForceSingleClient = false
	option.InitAddress = nil
	for _, t := range o.Targets {
		option.InitAddress = append(option.InitAddress, t.Addr())
	}
	if o.Topology == drivers.TopologyCluster {
		// With several addresses the library connects to all of them, uses the first that answers, and may then have
		// two connections to each of the others. The first one has just answered, and names all others.
		option.InitAddress = option.InitAddress[:1]
		option.ClusterOption.MaxMovedRedirections = redirects
		return
	}
	option.Sentinel = rueidis.SentinelOption{
		MasterSet: o.Master, Dialer: option.Dialer, TopologyRefreshInterval: refresh,
		Username: o.Targets[0].Username, Password: string(o.Targets[0].Password),
	}
}

func clientOption(o redis.Options) (rueidis.ClientOption, error) {
	io := o.IO()
	option := rueidis.ClientOption{
		InitAddress: []string{o.Target.Addr()},
		// The library sends a PING each KeepAlive to detect a silent server, and then fails what waits for it. Nothing
		// else bounds a pipelined command without a deadline.
		Dialer:           net.Dialer{Timeout: io, KeepAlive: min(io, rueidis.DefaultTCPKeepAlive)},
		ConnWriteTimeout: io,
		Username:         o.Target.Username,
		Password:         string(o.Target.Password),
		SelectDB:         o.Target.Database,
		ClientSetInfo:    rueidis.DisableClientSetInfo,

		ForceSingleClient: true,
		DisableRetry:      true,
		DisableCache:      true,
		AlwaysRESP2:       o.Embedded, // miniredis does not publish over RESP3
		MaxFlushDelay:     o.FlushDelay,
	}
	setTopology(&option, o)
	if o.Retries != 0 {
		return option, errors.New("retries are not possible: rueidis sends again only what changes nothing; take go-redis")
	}
	switch o.Pipelining {
	case drivers.PipeliningBatch:
		option.PipelineMultiplex = -1 // one for what is in no batch; each batch takes one from the pool
		option.ReadBufferEachConn, option.WriteBufferEachConn = batchBuffer, batchBuffer
		return option, nil
	case drivers.PipeliningDefault, drivers.PipeliningAuto:
		var err error
		option.PipelineMultiplex, err = multiplex(o.Conns)
		return option, err
	case drivers.PipeliningOff:
		if o.Conns < 0 {
			return option, fmt.Errorf("%d connections are not possible: give 1 or more, or 0 for the library's default", o.Conns)
		}
		// The library still opens one connection for pipelining, which stays idle.
		option.DisableAutoPipelining = true
		option.BlockingPoolSize = o.Conns
		option.ReadBufferEachConn, option.WriteBufferEachConn = poolBuffer, poolBuffer
		return option, nil
	}
	return option, fmt.Errorf("pipelining %q is unknown: rueidis has auto, off and batch", o.Pipelining)
}

// multiplex returns the library's setting for n shared connections: their binary logarithm, or a negative number for
// one connection, because 0 is the default (one per CPU, at most four).
func multiplex(n int) (int, error) {
	switch {
	case n == 0:
		return 0, nil
	case n == 1:
		return -1, nil
	case n < 0 || n > 1<<rueidis.MaxPipelineMultiplex || n&(n-1) != 0:
		return 0, fmt.Errorf("rueidis cannot pipeline over %d connections: give 1, 2, 4, 8, 16, 32, 64, 128 or 256, or 0 for the library's default, or turn pipelining off", n)
	}
	return bits.Len(uint(n)) - 1, nil
}

type conn struct {
	client      rueidis.Client
	listening   rueidis.Client // for subscriptions; the same unless its pool is limited
	connections *Connections   // of both
	io          time.Duration
	sharded     bool // subscriptions use SSUBSCRIBE
	cluster     bool
	pooled      bool // each command has its own connection
	closed      atomic.Bool
}

// Do implements redis.Conn. The builder copies args into a slice from the library's pool, which gets it back only after
// the server has answered.
func (c *conn) Do(ctx context.Context, args []string, key int) (redis.Reply, error) {
	if c.closed.Load() {
		return redis.Reply{}, redis.Closed // the cluster client closes slowly, and still answers meanwhile
	}
	return c.answer(c.client.Do(c.hideDeadline(ctx), c.command(args, key)))
}

// DoWait implements redis.Waiter. Both commands use the connection of the first one's key. If that is shared, WAIT
// delays the commands behind it until the replicas have answered; but one acknowledgement serves all WAITs before it.
func (c *conn) DoWait(ctx context.Context, args []string, key int, wait []string) (reply redis.Reply, err error, acked int64, waitErr error) {
	results := c.client.DoMulti(c.hideDeadline(ctx), c.command(args, key), c.command(wait, 0))
	reply, err = c.answer(results[0])
	if acked, waitErr = results[1].AsInt64(); waitErr != nil {
		waitErr = translate(waitErr)
	}
	return reply, err, acked, waitErr
}

// answer is not part of Do, and not inlined, because Do's frame is on the stack of each client that waits for the
// server; with hundreds of clients each of its cache lines is fetched again after every reply.
//
//go:noinline
func (c *conn) answer(result rueidis.RedisResult) (redis.Reply, error) {
	message, err := result.ToMessage()
	if err != nil {
		if rueidis.IsRedisNil(err) {
			return redis.Nil(), nil
		}
		if c.closed.Load() {
			return redis.Reply{}, redis.Closed // a client that is closed while it waits says "timeout" from then on
		}
		return redis.Reply{}, translate(err)
	}
	return reply(&message)
}

// command returns the library's form of a command. It includes the key even where there are no slots: commands without
// one all use the first of the shared connections, which with 64 clients means 0.92 of the locks/s of two.
func (c *conn) command(args []string, key int) rueidis.Completed {
	if key == 0 {
		return c.client.B().Arbitrary(args...).Build()
	}
	return c.client.B().Arbitrary(args[:key]...).Keys(args[key]).Args(args[key+1:]...).Build()
}

func reply(m *rueidis.RedisMessage) (redis.Reply, error) {
	switch {
	case m.IsNil():
		return redis.Nil(), nil
	case m.IsInt64():
		n, err := m.ToInt64()
		return redis.Int(n), err
	case m.IsArray():
		return array(m)
	case m.IsMap():
		return pairs(m)
	}
	text, err := m.ToString()
	if err != nil {
		return redis.Reply{}, translate(err)
	}
	if !m.IsString() { // a verbatim string, which keeps its format in the library: "txt:" and the text
		text = strings.TrimPrefix(text, "txt:")
	}
	return redis.Text(text), nil
}

func array(m *rueidis.RedisMessage) (redis.Reply, error) {
	values, err := m.ToArray()
	if err != nil {
		return redis.Reply{}, translate(err)
	}
	items := make([]redis.Reply, len(values))
	for i := range values {
		if items[i], err = reply(&values[i]); err != nil {
			return redis.Reply{}, err
		}
	}
	return redis.Array(items...), nil
}

// pairs turns a map into an array of names and values, as before RESP3.
func pairs(m *rueidis.RedisMessage) (redis.Reply, error) {
	values, err := m.ToMap()
	if err != nil {
		return redis.Reply{}, translate(err)
	}
	var items []redis.Reply
	for name, value := range values {
		item, err := reply(&value)
		if err != nil {
			return redis.Reply{}, err
		}
		items = append(items, redis.Text(name), item)
	}
	return redis.Array(items...), nil
}

// translate gives the library's own errors their class.
func translate(err error) error {
	server, answered := errors.AsType[*rueidis.RedisError](err)
	switch {
	case err == nil:
		return nil
	case answered:
		return redis.NewServerError(withCode(server.Error()))
	case errors.Is(err, rueidis.ErrClosing), errors.Is(err, rueidis.ErrDedicatedClientRecycled):
		return redis.Closed
	case errors.Is(err, rueidis.ErrNoSlot):
		return &drivers.Error{Class: drivers.ClassConnect, Op: "find the server", Err: err} // nothing was sent
	case rueidis.IsParseErr(err), strings.HasPrefix(err.Error(), "unknown message type"):
		return &drivers.Error{Class: drivers.ClassProtocol, Op: "reply", Err: err}
	}
	return err
}

// withCode restores an error's code: the library removes a leading "ERR ".
func withCode(text string) string {
	if code, _, _ := strings.Cut(text, " "); strings.ToUpper(code) != code {
		return "ERR " + text
	}
	return text
}

// Close implements redis.Conn.
func (c *conn) Close() error {
	c.closed.Store(true)
	c.client.Close()
	if c.listening != c.client {
		c.listening.Close()
	}
	if c.cluster {
		c.connections.drain(c.io)
	}
	c.connections.Close()
	return nil
}

// Send implements redis.Conn.
func (c *conn) Send(ctx context.Context, commands []redis.Command) {
	lent, giveBack := c.client.Dedicate()
	defer giveBack()
	sent := make([]rueidis.Completed, len(commands))
	for i := range commands {
		sent[i] = lent.B().Arbitrary(commands[i].Args...).Build()
	}
	for i, result := range lent.DoMulti(ctx, sent...) {
		commands[i].Reply, commands[i].Err = c.answer(result)
	}
}

// Subscribe implements redis.Conn. The library bounds it by the I/O time-out.
func (c *conn) Subscribe(ctx context.Context, message func(channel, payload string)) (redis.Subscription, error) {
	client, _ := c.listening.Dedicate()
	leaving, moved := new(redis.Leaving), make(chan struct{}, 1)
	broken := client.SetPubSubHooks(rueidis.PubSubHooks{
		OnMessage: func(m rueidis.PubSubMessage) { message(m.Channel, m.Message) },
		OnSubscription: func(s rueidis.PubSubSubscription) {
			if s.Kind == "sunsubscribe" && !leaving.Expected(s.Channel) {
				select {
				case moved <- struct{}{}: // the slot has moved to another node
				default:
				}
			}
		},
	})
	select {
	case err := <-broken:
		client.Close()
		return nil, translate(err)
	default:
	}
	s := &subscription{client: client, io: c.io, sharded: c.sharded, leaving: leaving, done: make(chan struct{})}
	go func() {
		select {
		case <-broken:
		case <-moved:
			s.once.Do(client.Close)
			<-broken
		}
		close(s.done)
	}()
	return s, nil
}

// subscription is a redis.Subscription on a dedicated connection.
type subscription struct {
	client  rueidis.DedicatedClient
	io      time.Duration
	sharded bool
	leaving *redis.Leaving
	done    chan struct{}
	once    sync.Once
}

// Add implements redis.Subscription. The server subscribes to all channels before it confirms the first.
func (s *subscription) Add(ctx context.Context, channels ...string) error {
	command := s.client.B().Subscribe().Channel(channels...).Build
	if s.sharded {
		command = s.client.B().Ssubscribe().Channel(channels...).Build
	}
	return translate(s.client.Do(ctx, command()).Error())
}

// Remove implements redis.Subscription.
func (s *subscription) Remove(ctx context.Context, channels ...string) error {
	ctx, cancel := context.WithTimeout(ctx, s.io)
	defer cancel()
	command := s.client.B().Unsubscribe().Channel(channels...).Build
	if s.sharded {
		s.leaving.Expect(channels)
		command = s.client.B().Sunsubscribe().Channel(channels...).Build
	}
	return translate(s.client.Do(ctx, command()).Error())
}

// Done implements redis.Subscription.
func (s *subscription) Done() <-chan struct{} { return s.done }

// Close implements redis.Subscription.
func (s *subscription) Close() error {
	s.once.Do(s.client.Close)
	<-s.done
	return nil
}
