// A Redis Cluster: one connection of the library routes by key, and one to each node is for commands without a key.
package redis

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net"
	"slices"
	"strconv"
	"sync"

	"github.com/lockbench/lockbench/drivers"
)

// clusterConn is a Conn for a cluster. It does not use the library's own subscriptions: they stay with one node, and
// libraries differ in what they do when a slot moves.
type clusterConn struct {
	Conn // routes by key
	open func(ctx context.Context, o Options) (Conn, error)
	o    Options

	mu     sync.Mutex
	nodes  map[string]Conn // by address; made when needed
	closed bool
}

func dialCluster(ctx context.Context, open func(context.Context, Options) (Conn, error), o Options) (Conn, error) {
	conn, err := open(ctx, o)
	if err != nil {
		return nil, err
	}
	return &clusterConn{Conn: conn, open: open, o: o, nodes: map[string]Conn{}}, nil
}

// node returns the connection to one node, for subscriptions and for questions about the node. It makes it if there is
// none. Meanwhile others connect to their nodes: one that is gone takes a time-out. If two make a connection to the same
// node, they use the first.
func (c *clusterConn) node(ctx context.Context, addr string) (Conn, error) {
	if conn, err := c.keep(addr, nil); conn != nil || err != nil {
		return conn, err
	}
	o := c.o
	o.Pipelining, o.FlushDelay, o.Conns = drivers.PipeliningDefault, 0, 1
	var err error
	if o.Target, err = o.at(addr); err != nil {
		return nil, err
	}
	o.Topology, o.Targets = drivers.TopologySingle, []Target{o.Target}
	made, err := c.open(ctx, o)
	if err != nil {
		return nil, err
	}
	conn, err := c.keep(addr, made)
	if conn != made {
		made.Close()
	}
	return conn, err
}

// keep returns the connection to a node, which is made if there was none; nil if there is none at all.
func (c *clusterConn) keep(addr string, made Conn) (Conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, Closed
	}
	if c.nodes[addr] == nil && made != nil {
		c.nodes[addr] = made
	}
	return c.nodes[addr], nil
}

// Close implements Conn.
func (c *clusterConn) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	return errors.Join(c.Conn.Close(), drivers.CloseAll(maps.Values(c.nodes))) // none is added any more
}

// slotRange is a range of slots and the primary that serves it.
type slotRange struct {
	from, to int64
	addr     string
	unnamed  bool // the node was told without a host
}

// slots asks any node for the ranges of slots. The library chooses the node and may choose a dead one, so it is asked
// up to three times.
func (c *clusterConn) slots(ctx context.Context) (ranges []slotRange, err error) {
	for range 3 {
		var reply Reply
		if reply, err = c.Conn.Do(ctx, []string{"CLUSTER", "SLOTS"}, 0); err == nil {
			return parseSlots(reply, c.o.Target.Host)
		}
	}
	return nil, err
}

// parseSlots reads the answer of the node at host. A node without a name is at the host of the one that names it.
func parseSlots(reply Reply, host string) ([]slotRange, error) {
	rows, err := reply.AsArray()
	if err != nil {
		return nil, err
	}
	var ranges []slotRange
	for _, row := range rows {
		fields, err := row.AsArray() // from, to, primary, replicas
		if err != nil {
			return nil, err
		}
		primary, err := fields[2].AsArray()
		if err != nil {
			return nil, err
		}
		name, port := cmp.Or(primary[0].text, host), strconv.FormatInt(primary[1].n, 10)
		if name == "?" {
			return nil, errors.New("the cluster calls a node by a host name that it does not have: " +
				"set cluster-announce-hostname, or cluster-preferred-endpoint-type to ip")
		}
		ranges = append(ranges, slotRange{fields[0].n, fields[1].n, net.JoinHostPort(name, port), primary[0].text == ""})
	}
	return ranges, nil
}

// primaries returns the addresses of the nodes that have slots.
func (c *clusterConn) primaries(ctx context.Context) ([]string, error) {
	ranges, err := c.slots(ctx)
	if err != nil {
		return nil, err
	}
	var addrs []string
	for _, r := range ranges {
		addrs = append(addrs, r.addr)
	}
	slices.Sort(addrs)
	return slices.Compact(addrs), nil
}

// Subscribe implements Conn with a connection to each primary, or to any one of them if publications go to all.
func (c *clusterConn) Subscribe(ctx context.Context, message func(channel, payload string)) (Subscription, error) {
	ranges, err := c.slots(ctx)
	if err != nil {
		return nil, err
	}
	s := &clusterSubscription{ranges: ranges, sharded: c.o.Sharded, subs: map[string]Subscription{}, done: make(chan struct{})}
	var turn sync.Mutex // messages of several connections come one at a time
	hear := func(channel, payload string) {
		turn.Lock()
		defer turn.Unlock()
		if s.sharded {
			channel = unshardChannel(channel)
		}
		message(channel, payload)
	}
	for _, r := range ranges {
		if _, there := s.subs[r.addr]; there || len(s.subs) > 0 && !s.sharded {
			continue
		}
		node, err := c.node(ctx, r.addr)
		if err == nil {
			s.subs[r.addr], err = node.Subscribe(ctx, hear)
		}
		if err != nil {
			delete(s.subs, r.addr)
			s.closeAll()
			return nil, err
		}
	}
	if len(s.subs) == 0 {
		return nil, ServerError("CLUSTERDOWN no node of the cluster has any slots")
	}
	var ended sync.Once
	for _, sub := range s.subs {
		s.watching.Go(func() {
			<-sub.Done()
			ended.Do(func() { close(s.done) })
		})
	}
	return s, nil
}

// clusterSubscription combines the Subscriptions of all nodes. It ends with the first of them, also when a node loses
// the slot of a channel: the caller then subscribes again, with the slots as they are by then.
type clusterSubscription struct {
	ranges   []slotRange
	sharded  bool
	subs     map[string]Subscription
	done     chan struct{}
	watching sync.WaitGroup
	closing  sync.Once
}

// Add implements Subscription. The channels of one request must be in one slot.
func (s *clusterSubscription) Add(ctx context.Context, channels ...string) error {
	return s.each(channels, func(sub Subscription, names []string) error {
		err := sub.Add(ctx, names...)
		if e, ok := asServerError(err); ok && (e.Code() == "MOVED" || e.Code() == "CLUSTERDOWN") {
			s.closeAll()
			return Closed // not a refusal: another node has the slot
		}
		return err
	})
}

// Remove implements Subscription.
func (s *clusterSubscription) Remove(ctx context.Context, channels ...string) error {
	return s.each(channels, func(sub Subscription, names []string) error { return sub.Remove(ctx, names...) })
}

func (s *clusterSubscription) each(channels []string, do func(sub Subscription, names []string) error) error {
	if !s.sharded {
		for _, sub := range s.subs {
			return do(sub, channels)
		}
	}
	names := make([]string, len(channels))
	for i, channel := range channels {
		names[i] = shardChannel(channel)
	}
	for names = bySlot(names); len(names) > 0; {
		n := sameSlot(names)
		sub := s.subs[addrOf(s.ranges, Slot(names[0]))]
		if sub == nil {
			s.closeAll()
			return Closed // no node serves the slot now
		}
		if err := do(sub, names[:n]); err != nil {
			return err
		}
		names = names[n:]
	}
	return nil
}

func addrOf(ranges []slotRange, slot int) string {
	for _, r := range ranges {
		if int64(slot) >= r.from && int64(slot) <= r.to {
			return r.addr
		}
	}
	return ""
}

// Done implements Subscription.
func (s *clusterSubscription) Done() <-chan struct{} { return s.done }

// Close implements Subscription.
func (s *clusterSubscription) Close() error {
	err := s.closeAll()
	s.watching.Wait()
	return err
}

func (s *clusterSubscription) closeAll() (err error) {
	s.closing.Do(func() { err = drivers.CloseAll(maps.Values(s.subs)) })
	return err
}
