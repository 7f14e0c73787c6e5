package servers

// Groups of private Redis servers: what they have in common, independent servers, and a cluster.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
)

// Nodes are independent private servers, as Redlock needs them.
type Nodes struct{ Group[*Redis] }

// StartNodes starts n independent servers at once, with the options of StartRedis. If one fails, none is left.
func StartNodes(ctx context.Context, n int, o RedisOptions) (*Nodes, error) {
	if n < 1 {
		return nil, fmt.Errorf("redis: start: %d servers are not possible: ask for 1 or more", n)
	}
	o.ca = cmp.Or(o.ca, new(authority))
	nodes, err := startAll(ctx, n, func(ctx context.Context, _ int) (*Redis, error) { return StartRedis(ctx, o) })
	if err != nil {
		return nil, err
	}
	return &Nodes{Group[*Redis]{nodes}}, nil
}

// with returns o with further defaults and configuration lines.
func (o RedisOptions) with(defaults map[string]string, lines ...string) RedisOptions {
	config := map[string]string{}
	maps.Copy(config, defaults)
	for name, value := range o.Config {
		config[strings.ToLower(name)] = value
	}
	o.Config = config
	o.lines = append(o.lines[:len(o.lines):len(o.lines)], lines...)
	return o
}

// linked returns o for servers that connect to each other: by TCP, with the same password. Their file holds the
// password in clear text, because they have no other way to learn it; it is in their private directory.
func (o RedisOptions) linked() RedisOptions {
	o.TCP = true
	if o.TLS {
		o = o.with(nil, "tls-replication yes")
	}
	if o.Password != "" {
		o = o.with(nil, "masterauth "+quoteRedis(o.Password))
	}
	if o.Username != "" {
		o = o.with(nil, "masteruser "+o.Username)
	}
	return o
}

// clusterSlots is the number of slots of every Redis Cluster.
const clusterSlots = 16384

// clusterDefaults make a cluster soon notice that a node is gone; Redis's default of 15 s is meant for networks.
var clusterDefaults = map[string]string{"cluster-node-timeout": "2000"}

// Cluster is a Redis Cluster of primaries without replicas. Each has an equal share of the slots, in the order of
// Nodes.
type Cluster struct{ Group[*Redis] }

// StartCluster starts a cluster and returns when all nodes report it as up, after about two seconds. Its nodes listen
// on loopback ports, whatever the options say. It needs Redis ≥ 7.0, where a node can choose both its ports.
func StartCluster(ctx context.Context, primaries int, o RedisOptions) (*Cluster, error) {
	if primaries < 1 {
		return nil, fmt.Errorf("redis: start: a cluster of %d primaries is not possible: ask for 1 or more", primaries)
	}
	o.ca = cmp.Or(o.ca, new(authority))
	o = o.linked().with(clusterDefaults, "cluster-enabled yes", "cluster-config-file nodes.conf")
	if o.TLS {
		o = o.with(nil, "tls-cluster yes")
	}
	o.cluster = true
	nodes, err := startAll(ctx, primaries, func(ctx context.Context, _ int) (*Redis, error) { return StartRedis(ctx, o) })
	if err != nil {
		return nil, err
	}
	c := &Cluster{Group[*Redis]{nodes}}
	if err = c.join(ctx); err == nil {
		err = await(ctx, "redis: start: the cluster is not up", c.up)
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// join assigns slots to each node and introduces it to the first one.
func (c *Cluster) join(ctx context.Context) error {
	first := c.Nodes[0]
	for i, node := range c.Nodes {
		from, to := i*clusterSlots/len(c.Nodes), (i+1)*clusterSlots/len(c.Nodes)-1
		commands := []command{
			{"CLUSTER", "SET-CONFIG-EPOCH", strconv.Itoa(i + 1)}, // if they differ from the start, there is no conflict to resolve first
			{"CLUSTER", "ADDSLOTSRANGE", strconv.Itoa(from), strconv.Itoa(to)},
		}
		if i > 0 {
			meet := command{"CLUSTER", "MEET", "127.0.0.1", strconv.Itoa(first.port.number), strconv.Itoa(first.bus.number)}
			commands = append(commands, meet)
		}
		if _, err := node.login.ask(ctx, commands...); err != nil {
			return fmt.Errorf("redis: start: %w", err)
		}
	}
	return nil
}

// up returns nil if every node knows all others and reports all slots as served.
func (c *Cluster) up(ctx context.Context) error {
	for _, node := range c.Nodes {
		info, err := node.command(ctx, "CLUSTER", "INFO")
		if err != nil {
			return err
		}
		for _, line := range []string{"cluster_state:ok", "cluster_slots_ok:" + strconv.Itoa(clusterSlots), "cluster_size:" + strconv.Itoa(len(c.Nodes))} {
			if !strings.Contains(info, line+"\r\n") {
				return fmt.Errorf("%s does not say %s", node.URL(), line)
			}
		}
	}
	return nil
}
