package servers

// Groups of private Redis servers: independent ones, a primary with replicas, sentinels, and a cluster.

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
)

// SentinelMaster is the name that the sentinels have for the primary.
const SentinelMaster = "lockbench"

// Sentinels is the number of sentinels that watch a private primary: the fewest that still have a majority without one.
const Sentinels = 3

// with returns o with further configuration lines.
func (o RedisOptions) with(lines ...string) RedisOptions {
	o.lines = slices.Concat(o.lines, lines)
	return o
}

// grouped returns o for servers that trust each other.
func (o RedisOptions) grouped() RedisOptions {
	if o.ca == nil {
		o.ca = new(authority)
	}
	return o
}

// linked returns o for servers that connect to each other: by TCP, with the same password. Their file holds the
// password in clear text, because they have no other way to learn it; it is in their private directory.
func (o RedisOptions) linked() RedisOptions {
	o = o.grouped()
	o.TCP = true
	if o.TLS {
		o = o.with("tls-replication yes")
	}
	if o.Password != "" {
		o = o.with("masterauth " + strconv.Quote(o.Password))
	}
	if o.Username != "" {
		o = o.with("masteruser " + o.Username)
	}
	return o
}

// defaults returns o with a directive, unless it has that one.
func (o RedisOptions) defaults(name, value string) RedisOptions {
	config := map[string]string{name: value}
	maps.Copy(config, o.Config)
	o.Config = config
	return o
}

// each starts one of several servers with the same options.
func (o RedisOptions) each(ctx context.Context, _ int) (*Redis, error) { return StartRedis(ctx, o) }

// Nodes are independent private servers, as Redlock needs them.
type Nodes struct{ Group[*Redis] }

// StartNodes starts n independent servers at once, with the options of StartRedis. If one fails, none is left.
func StartNodes(ctx context.Context, n int, o RedisOptions) (*Nodes, error) {
	nodes := &Nodes{}
	if err := nodes.start(ctx, n, 0, o.grouped().each); err != nil {
		return nil, err
	}
	return nodes, nil
}

// Replicated is a primary and its replicas. No replica is promoted when the primary dies; see Redis.Promote and
// Sentinel.
type Replicated struct {
	Group[*Redis] // the primary first
	Primary       *Redis
	Replicas      []*Redis
}

// StartReplicated starts a primary and its replicas, and returns when the replicas are in sync, so that WAIT counts all
// of them. Replicas connect to loopback ports: there is no unix socket, whatever the options say.
func StartReplicated(ctx context.Context, replicas int, o RedisOptions) (*Replicated, error) {
	o = o.linked().defaults("repl-diskless-sync-delay", "0") // by default a primary waits 5 s for more replicas
	primary, err := StartRedis(ctx, o)
	if err != nil {
		return nil, err
	}
	r := &Replicated{Group: Group[*Redis]{Nodes: []*Redis{primary}}, Primary: primary}
	lines, err := replicaLines(replicas, primary.port.addr(), o.Link)
	if err == nil {
		var group Group[*Redis]
		err = group.start(ctx, replicas, 0, func(ctx context.Context, i int) (*Redis, error) { return StartRedis(ctx, o.with(lines[i])) })
		r.Replicas, r.Nodes = group.Nodes, append(r.Nodes, group.Nodes...)
	}
	if err == nil {
		err = poll(ctx, "redis: start: the replicas are not in sync", r.inSync)
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// replicaLines returns the line for the configuration of each replica that names its primary.
func replicaLines(replicas int, primary string, link func(string) (string, error)) ([]string, error) {
	lines := make([]string, replicas)
	for i := range lines {
		addr, err := primary, error(nil)
		if link != nil {
			addr, err = link(primary)
		}
		host, number, malformed := net.SplitHostPort(addr)
		if err = errors.Join(err, malformed); err != nil {
			return nil, fmt.Errorf("redis: start: the link of a replica: %w", err)
		}
		lines[i] = "replicaof " + host + " " + number
	}
	return lines, nil
}

// inSync returns nil if all replicas acknowledge what the primary sends. It publishes something first: without traffic
// from the client, WAIT counts even a replica that still loads its first copy.
func (r *Replicated) inSync(ctx context.Context) error {
	all := strconv.Itoa(len(r.Replicas))
	replies, err := r.Primary.login.ask(ctx, command{"PUBLISH", "lockbench:sync", ""}, command{"WAIT", all, "100"})
	if err == nil && replies[1] != all {
		err = fmt.Errorf("%s of %s replicas acknowledge", replies[1], all)
	}
	return err
}

// URLs returns the address of the primary.
func (r *Replicated) URLs() []string { return r.Primary.URLs() }

// Sentinel is a primary, its replicas and their sentinels.
type Sentinel struct {
	Group[*Redis] // the first primary, then its replicas; which one is primary changes
	Sentinels     []*Redis
}

// StartSentinel starts a primary, its replicas, and sentinels that declare the primary dead after one second without an
// answer. It returns when all sentinels know all replicas and each other: from then on they replace it. With
// credentials in the options, the sentinels require the same ones. With a Link, they leave the replicas on it for a minute, and
// then make them follow the primary itself.
func StartSentinel(ctx context.Context, replicas, sentinels int, o RedisOptions) (*Sentinel, error) {
	o = o.grouped()
	data, err := StartReplicated(ctx, replicas, o)
	if err != nil {
		return nil, err
	}
	s := &Sentinel{Group: data.Group}
	o.TCP, o.Config, o.Clock = true, nil, false // the servers' configuration need not fit sentinels
	o = o.with(sentinelLines(o, data.Primary.port.number, sentinels/2+1)...)
	o.args = []string{"--sentinel"}
	var group Group[*Redis]
	err = group.start(ctx, sentinels, 0, o.each)
	s.Sentinels = group.Nodes
	if err == nil {
		err = poll(ctx, "redis: start: the sentinels have not found all servers", s.complete)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func sentinelLines(o RedisOptions, primary, quorum int) []string {
	timeout := 2000 // a fail-over that two sentinels began at once is retried after twice this time
	if o.Link != nil {
		timeout = 60_000 // for which a replica may follow another address than the primary's
	}
	lines := []string{
		fmt.Sprintf("sentinel monitor %s 127.0.0.1 %d %d", SentinelMaster, primary, quorum),
		"sentinel down-after-milliseconds " + SentinelMaster + " 1000",
		fmt.Sprintf("sentinel failover-timeout %s %d", SentinelMaster, timeout),
	}
	if o.TLS {
		lines = append(lines, "tls-replication yes")
	}
	if o.Password != "" {
		password := strconv.Quote(o.Password)
		lines = append(lines, "sentinel auth-pass "+SentinelMaster+" "+password, "sentinel sentinel-pass "+password)
	}
	if o.Username != "" {
		lines = append(lines, "sentinel auth-user "+SentinelMaster+" "+o.Username, "sentinel sentinel-user "+o.Username)
	}
	return lines
}

// complete returns nil if every sentinel can take part in replacing the primary.
func (s *Sentinel) complete(ctx context.Context) error {
	want := fmt.Sprintf(",slaves=%d,sentinels=%d", len(s.Nodes)-1, len(s.Sentinels))
	for _, r := range s.Sentinels {
		line, err := masterLine(ctx, r)
		if err != nil {
			return err
		}
		if !strings.Contains(line, "status=ok,") || !strings.HasSuffix(line, want) {
			return fmt.Errorf("one knows of %q, and it has to end with %s", line, want)
		}
	}
	return nil
}

// masterLine returns a sentinel's line on the primary:
// name=lockbench,status=ok,address=127.0.0.1:6379,slaves=1,sentinels=3.
func masterLine(ctx context.Context, sentinel *Redis) (string, error) {
	lines, err := sentinel.info(ctx, "sentinel")
	return lines["master0"], err
}

// Primary returns the server that a majority of the living sentinels consider the primary, dead or alive.
func (s *Sentinel) Primary(ctx context.Context) (*Redis, error) {
	votes, asked := map[*Redis]int{}, 0
	for _, sentinel := range s.Sentinels {
		line, err := masterLine(ctx, sentinel)
		if err != nil {
			continue
		}
		asked++
		for _, node := range s.Nodes {
			if strings.Contains(line, ",address="+node.login.address+",") {
				votes[node]++
			}
		}
	}
	for node, n := range votes {
		if 2*n > asked {
			return node, nil
		}
	}
	return nil, fmt.Errorf("redis: the %d sentinels that answer do not agree on a primary", asked)
}

// AwaitPrimary returns when the sentinels have made a node the primary, which they do by themselves two to three seconds after the
// former one has died, and the node takes writes.
func (s *Sentinel) AwaitPrimary(ctx context.Context, node *Redis) error {
	return poll(ctx, "redis: the sentinels have not promoted "+node.URL(), func(ctx context.Context) error {
		primary, err := s.Primary(ctx)
		if err != nil {
			return err
		}
		lines, err := node.info(ctx, "replication")
		if err == nil && (primary != node || lines["role"] != "master") {
			err = fmt.Errorf("for them it is %s, and that node's role is %q", primary.URL(), lines["role"])
		}
		return err
	})
}

// URLs returns the addresses of the sentinels.
func (s *Sentinel) URLs() []string { return (&Group[*Redis]{Nodes: s.Sentinels}).URLs() }

// PIDs returns the numbers of all their processes.
func (s *Sentinel) PIDs() []int {
	return (&Group[*Redis]{Nodes: slices.Concat(s.Nodes, s.Sentinels)}).PIDs()
}

// Close stops all servers, the sentinels first. It may be called more than once.
func (s *Sentinel) Close() error {
	return errors.Join((&Group[*Redis]{Nodes: s.Sentinels}).Close(), s.Group.Close())
}

// clusterSlots is the number of slots of every Redis Cluster.
const clusterSlots = 16384

// Cluster is a Redis Cluster of primaries without replicas. Each has an equal share of the slots, in the order of
// Nodes.
type Cluster struct{ Group[*Redis] }

// StartCluster starts a cluster and returns when all nodes report it as up, after about two seconds. Its nodes listen
// on loopback ports, whatever the options say. It needs Redis ≥ 7.0, where a node can choose both its ports.
func StartCluster(ctx context.Context, primaries int, o RedisOptions) (*Cluster, error) {
	o = o.linked().with("cluster-enabled yes", "cluster-config-file nodes.conf")
	o = o.defaults("cluster-node-timeout", "2000") // by default a node is missed after 15 s, as networks need it
	if o.TLS {
		o = o.with("tls-cluster yes")
	}
	o.cluster = true
	c := &Cluster{}
	if err := c.start(ctx, primaries, 0, o.each); err != nil {
		return nil, err
	}
	err := c.join(ctx)
	if err == nil {
		err = poll(ctx, "redis: start: the cluster is not up", c.up)
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
