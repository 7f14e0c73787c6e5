package servers

// Groups of private Redis servers: independent ones, a primary with replicas, sentinels, and a cluster.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/drivers/fault"
)

// SentinelMaster is the name that the sentinels have for the primary.
const SentinelMaster = "lockbench"

// Sentinels is the number of sentinels that watch a private primary: the fewest that still have a majority without one.
const Sentinels = 3

// with returns o with further configuration lines.
func (o Options) with(lines ...string) Options {
	o.lines = slices.Concat(o.lines, lines)
	return o
}

// linked returns o for servers that connect to each other: by TCP, with the same password. Their file holds the
// password in clear text, because they have no other way to learn it; it is in their private directory.
func (o Options) linked() Options {
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

// each starts one of several servers with the same options.
func (o Options) each(ctx context.Context, _ int) (*Redis, error) { return StartRedis(ctx, o) }

// StartNodes starts n independent servers at once, as Redlock needs them. If one fails, none is left.
func StartNodes(ctx context.Context, n int, o Options) (*Group[*Redis], error) {
	nodes := &Group[*Redis]{}
	return nodes, nodes.start(ctx, n, 0, o.each)
}

// Replicated is a primary, which is the first of Nodes, and its replicas. No replica is promoted when the primary dies;
// see Redis.Promote and Sentinel.
type Replicated struct {
	Group[*Redis]
	Links []*fault.Proxy // with Options.Proxied: between the primary and each replica, in their order
}

// StartReplicated starts a primary and its replicas, and returns when the replicas are in sync, so that WAIT counts all
// of them. Replicas connect to loopback ports: there is no unix socket, whatever the options say.
func StartReplicated(ctx context.Context, replicas int, o Options) (*Replicated, error) {
	o = o.linked().with("repl-diskless-sync-delay 0") // by default a primary waits 5 s for more replicas
	r := &Replicated{}
	if err := r.start(ctx, 1, 0, o.each); err != nil {
		return nil, err
	}
	err := r.startReplicas(ctx, replicas, o)
	if err == nil {
		err = poll(ctx, "redis: start: the replicas are not in sync", r.inSync)
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func (r *Replicated) startReplicas(ctx context.Context, n int, o Options) error {
	primary := r.Nodes[0].port.addr()
	for o.Proxied && len(r.Links) < n {
		link, err := fault.NewProxy(primary)
		if err != nil {
			return err
		}
		r.Links = append(r.Links, link)
	}
	return r.start(ctx, n, 0, func(ctx context.Context, i int) (*Redis, error) {
		of := primary
		if o.Proxied {
			of = r.Links[i].Addr()
		}
		return StartRedis(ctx, o.with("replicaof "+strings.Replace(of, ":", " ", 1)))
	})
}

// inSync returns nil if all replicas acknowledge what the primary sends. It publishes something first: without traffic
// from the client, WAIT counts even a replica that still loads its first copy.
func (r *Replicated) inSync(ctx context.Context) error {
	c := r.Nodes[0].client(0)
	defer c.Close()
	if err := c.Publish(ctx, "lockbench:sync", "").Err(); err != nil {
		return err
	}
	all := len(r.Nodes) - 1
	n, err := c.Wait(ctx, all, 100*time.Millisecond).Result()
	if err == nil && n != int64(all) {
		err = fmt.Errorf("%d of %d replicas acknowledge", n, all)
	}
	return err
}

// URLs returns the address of the primary.
func (r *Replicated) URLs() []string { return []string{r.Nodes[0].URL()} }

// Close stops all servers and links. It may be called more than once.
func (r *Replicated) Close() error {
	for _, link := range r.Links {
		link.Close()
	}
	return r.Group.Close()
}

func (r *Replicated) running() *Running {
	all := r.Group.running()
	all.URLs, all.Close = r.URLs(), r.Close
	return all
}

// Sentinel is a primary, its replicas and their sentinels. The first of Nodes is primary at first; which one is
// changes.
type Sentinel struct {
	*Replicated
	Sentinels Group[*Redis]
}

// StartSentinel starts a primary, its replicas, and sentinels that declare the primary dead after one second without an
// answer. It returns when all sentinels know all replicas and each other: from then on they replace it. With
// credentials in the options, the sentinels require the same ones. They leave the replicas on links for a minute, and
// then make them follow the primary itself.
func StartSentinel(ctx context.Context, replicas, sentinels int, o Options) (*Sentinel, error) {
	data, err := StartReplicated(ctx, replicas, o)
	if err != nil {
		return nil, err
	}
	s := &Sentinel{Replicated: data}
	// The settings of the servers need not fit sentinels.
	o.Settings, o.Clock, o.args = nil, false, []string{"--sentinel"}
	o = o.linked().with(sentinelLines(o, data.Nodes[0].port.number, sentinels/2+1)...)
	if err = s.Sentinels.start(ctx, sentinels, 0, o.each); err == nil {
		err = poll(ctx, "redis: start: the sentinels have not found all servers", s.complete)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func sentinelLines(o Options, primary, quorum int) []string {
	timeout := 2000 // a fail-over that two sentinels began at once is retried after twice this time
	if o.Proxied {
		timeout = 60_000 // for which a replica may follow another address than the primary's
	}
	lines := []string{
		fmt.Sprintf("sentinel monitor %s 127.0.0.1 %d %d", SentinelMaster, primary, quorum),
		"sentinel down-after-milliseconds " + SentinelMaster + " 1000",
		fmt.Sprintf("sentinel failover-timeout %s %d", SentinelMaster, timeout),
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
	want := fmt.Sprintf(",slaves=%d,sentinels=%d", len(s.Nodes)-1, len(s.Sentinels.Nodes))
	for _, r := range s.Sentinels.Nodes {
		line, err := r.master(ctx)
		if err != nil {
			return err
		}
		if !strings.Contains(line, "status=ok,") || !strings.HasSuffix(line, want) {
			return fmt.Errorf("one knows of %q, and it has to end with %s", line, want)
		}
	}
	return nil
}

// AwaitPrimary returns when the sentinels have made a node the primary, which they do by themselves two to three
// seconds after the former one has died, and the node takes writes.
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

// Primary returns the server that a majority of the sentinels consider the primary, dead or alive.
func (s *Sentinel) Primary(ctx context.Context) (*Redis, error) {
	for _, node := range s.Nodes {
		votes := 0
		for _, sentinel := range s.Sentinels.Nodes {
			line, err := sentinel.master(ctx)
			if err == nil && strings.Contains(line, ",address="+node.login.Addr+",") {
				votes++
			}
		}
		if 2*votes > len(s.Sentinels.Nodes) {
			return node, nil
		}
	}
	return nil, errors.New("redis: the sentinels do not agree on a primary")
}

// master returns a sentinel's line on the primary:
// name=lockbench,status=ok,address=127.0.0.1:6379,slaves=1,sentinels=3.
func (r *Redis) master(ctx context.Context) (string, error) {
	lines, err := r.info(ctx, "sentinel")
	return lines["master0"], err
}

// URLs returns the addresses of the sentinels.
func (s *Sentinel) URLs() []string { return s.Sentinels.URLs() }

// PIDs returns the numbers of all their processes.
func (s *Sentinel) PIDs() []int { return append(s.Replicated.PIDs(), s.Sentinels.PIDs()...) }

// Close stops all servers, the sentinels first. It may be called more than once.
func (s *Sentinel) Close() error { return errors.Join(s.Sentinels.Close(), s.Replicated.Close()) }

func (s *Sentinel) running() *Running {
	all := s.Replicated.running()
	all.URLs, all.PIDs, all.Close, all.Master = s.URLs(), s.PIDs, s.Close, SentinelMaster
	return all
}

// clusterSlots is the number of slots of every Redis Cluster.
const clusterSlots = 16384

// Cluster is a Redis Cluster of primaries without replicas. Each has an equal share of the slots, in the order of
// Nodes.
type Cluster struct{ Group[*Redis] }

// StartCluster starts a cluster and returns when all nodes report it as up, after about two seconds. Its nodes listen
// on loopback ports, whatever the options say. It needs Redis ≥ 7.0, where a node can choose both its ports.
func StartCluster(ctx context.Context, primaries int, o Options) (*Cluster, error) {
	o = o.linked().with("cluster-enabled yes", "cluster-config-file nodes.conf",
		"cluster-node-timeout 2000") // by default a node is missed after 15 s, as networks need it
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
	first, n := c.Nodes[0], len(c.Nodes)
	for i, node := range c.Nodes {
		commands := [][]any{
			{"CLUSTER", "SET-CONFIG-EPOCH", i + 1}, // if they differ from the start, there is no conflict to resolve first
			{"CLUSTER", "ADDSLOTSRANGE", i * clusterSlots / n, (i+1)*clusterSlots/n - 1},
			{"CLUSTER", "MEET", "127.0.0.1", first.port.number, first.bus.number},
		}
		if i == 0 {
			commands = commands[:2]
		}
		for _, words := range commands {
			if _, err := node.command(ctx, words...); err != nil {
				return node.failed("start", err)
			}
		}
	}
	return nil
}

// up returns nil if every node knows all others and reports all slots as served.
func (c *Cluster) up(ctx context.Context) error {
	slots, size := strconv.Itoa(clusterSlots), strconv.Itoa(len(c.Nodes))
	for _, node := range c.Nodes {
		info, err := node.command(ctx, "CLUSTER", "INFO")
		if err != nil {
			return err
		}
		for _, line := range []string{"cluster_state:ok", "cluster_slots_ok:" + slots, "cluster_size:" + size} {
			if !strings.Contains(info, line+"\r\n") {
				return fmt.Errorf("%s does not say %s", node.URL(), line)
			}
		}
	}
	return nil
}
