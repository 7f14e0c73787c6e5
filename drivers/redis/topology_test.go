package redis_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/redis"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
	"github.com/lockbench/lockbench/drivers/testwait"
)

// sentinelConfig returns the configuration for a trio, and clusterConfig that for a cluster.
func sentinelConfig(s *servers.Sentinel) drivers.Config {
	return drivers.Config{Topology: drivers.TopologySentinel, Master: servers.SentinelMaster, Addrs: s.URLs(), IOTimeout: time.Second}
}

func clusterConfig(c *servers.Cluster) drivers.Config {
	return drivers.Config{Topology: drivers.TopologyCluster, Addrs: c.URLs(), IOTimeout: time.Second}
}

// TestTopologyMistakes opens servers as something else. Each error says what to do.
func TestTopologyMistakes(t *testing.T) {
	single := servertest.Redis(t, servers.Options{TCP: true}).URL()
	cluster := servertest.Cluster(t, 3, servers.Options{})
	trio := servertest.Sentinel(t, 0, 1, servers.Options{})
	gone := refusedAddr(t)
	const asCluster, asSentinel = drivers.TopologyCluster, drivers.TopologySentinel
	tests := []struct {
		name string
		cfg  drivers.Config
		want string
	}{
		{"node as single", drivers.Config{Addrs: cluster.URLs()[:1]}, "choose topology cluster"},
		{"sentinel as single", drivers.Config{Addrs: trio.URLs()}, "choose topology sentinel"},
		{"single as cluster", drivers.Config{Topology: asCluster, Addrs: []string{single}}, "choose topology single"},
		{"one of them no node", drivers.Config{Topology: asCluster, Addrs: append(cluster.URLs(), single)}, single[len("redis://"):] + ": the server is not a node of a cluster"},
		{"sentinel as cluster", drivers.Config{Topology: asCluster, Addrs: trio.URLs()}, "choose topology sentinel"},
		{"single as sentinel", drivers.Config{Topology: asSentinel, Master: "lockbench", Addrs: []string{single}}, "give the addresses of the sentinels"},
		{"unknown primary", drivers.Config{Topology: asSentinel, Master: "mymaster", Addrs: trio.URLs()}, `no primary by the name "mymaster", but lockbench`},
		{"no sentinel there", drivers.Config{Topology: asSentinel, Master: "lockbench", Addrs: []string{gone, gone}}, "connection refused"},
		{"no node there", drivers.Config{Topology: asCluster, Addrs: []string{gone}}, "connection refused"},
		{"password of sentinels' servers", drivers.Config{Topology: asSentinel, Password: "geheim", Addrs: trio.URLs()}, "the sentinels say that the primary is 127.0.0.1:"},
	}
	forBoth(t, func(t *testing.T, driver string) {
		d, _ := drivers.Lookup(driver)
		for _, test := range tests {
			_, err := d.Open(t.Context(), test.cfg)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: %v, want %q", test.name, err, test.want)
				continue
			}
			if strings.Contains(err.Error(), "geheim") || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: %q", test.name, err)
			}
		}
		// Missing or superfluous addresses that do no harm.
		for _, cfg := range []drivers.Config{
			{Topology: asSentinel, Addrs: append(trio.URLs(), gone)}, // the only primary needs no name
			{Topology: asCluster, Addrs: []string{gone, cluster.URLs()[2]}},
		} {
			handOver(t, session(t, open(t, driver, cfg), 0), "k")
		}
	})
	if _, err := lookup(t, "go-redis").Open(t.Context(), drivers.Config{Topology: asCluster, Addrs: cluster.URLs(), Pipelining: drivers.PipeliningAuto}); err == nil || !strings.Contains(err.Error(), "turn pipelining off") {
		t.Errorf("go-redis pipelines in a cluster: %v", err)
	}

	// A cluster that is down reports that when it is opened, and later.
	services := map[string]drivers.Session{}
	for _, driver := range []string{"go-redis", "rueidis"} {
		services[driver] = session(t, open(t, driver, clusterConfig(cluster)), 0)
		handOver(t, services[driver], "foo")
	}
	if err := cluster.Nodes[0].Kill(); err != nil {
		t.Fatal(err)
	}
	forBoth(t, func(t *testing.T, driver string) {
		testwait.Until(t, "Open says that the cluster is down", func() bool {
			s, err := lookup(t, driver).Open(t.Context(), clusterConfig(cluster))
			if err == nil {
				return s.Close() != nil
			}
			return strings.Contains(err.Error(), "slots are served: start the nodes") && drivers.ClassOf(err) == drivers.ClassServer
		})
		testwait.Until(t, "the node that lives knows it too", func() bool {
			l := drivers.Lease{Key: "foo", TTL: time.Minute}
			held, err := services[driver].Try(t.Context(), &l)
			if held {
				services[driver].Release(t.Context(), &l) // may be the first to learn it
			}
			return strings.Contains(fmt.Sprint(err), "CLUSTERDOWN") && drivers.ClassOf(err) == drivers.ClassServer
		})
	})
}

func lookup(t *testing.T, driver string) drivers.Driver {
	t.Helper()
	d, err := drivers.Lookup(driver)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestUnnamedNodes: nodes without a host have that of the node that was asked, which go-redis cannot do; nodes with
// an unknown host name are an error.
func TestUnnamedNodes(t *testing.T) {
	cluster := servertest.Cluster(t, 2, servers.Options{})
	set := func(name, value string) {
		for _, url := range cluster.URLs() {
			if err := bare(t, drivers.Config{Addrs: []string{url}}).ConfigSet(t.Context(), name, value).Err(); err != nil {
				t.Fatal(err)
			}
		}
	}
	works := func(driver string) {
		cfg := clusterConfig(cluster)
		cfg.Wakes = true
		s := open(t, driver, cfg)
		var w woken
		l := listen(t, s, &w)
		for _, key := range []string{"a", "b"} { // on both nodes
			add(t, l, key)
			handOver(t, session(t, s, 0), key)
			testwait.Until(t, key+" wakes", func() bool { return w.count(key) == 1 })
		}
	}
	refused := func(driver, want string) {
		if _, err := lookup(t, driver).Open(t.Context(), clusterConfig(cluster)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", driver, err, want)
		}
	}
	set("cluster-preferred-endpoint-type", "unknown-endpoint")
	works("rueidis")
	refused("go-redis", "set cluster-preferred-endpoint-type to ip, or take rueidis")
	set("cluster-preferred-endpoint-type", "hostname")
	for _, driver := range []string{"go-redis", "rueidis"} {
		refused(driver, "set cluster-announce-hostname")
	}
	set("cluster-announce-hostname", "localhost")
	testwait.Until(t, "each node knows the name of the other", func() bool {
		known := 0
		for _, url := range cluster.URLs() {
			known += strings.Count(bare(t, drivers.Config{Addrs: []string{url}}).ClusterNodes(t.Context()).Val(), ",localhost")
		}
		return known == 4
	})
	works("go-redis")
	works("rueidis")
}

// TestTopologyLogin uses TLS and a user everywhere, whichever server names which.
func TestTopologyLogin(t *testing.T) {
	o := servers.Options{TLS: true, Username: "alice", Password: "secret"}
	trio, cluster := servertest.Sentinel(t, 1, 3, o), servertest.Cluster(t, 2, o)
	for _, topology := range []struct {
		drivers.Config
		ca string
	}{{sentinelConfig(trio), trio.CAFile()}, {clusterConfig(cluster), cluster.CAFile()}} {
		cfg := topology.Config
		cfg.Username, cfg.Password, cfg.TLS, cfg.Wakes = "alice", "secret", trusting(t, topology.ca, ""), true
		forBoth(t, func(t *testing.T, driver string) {
			s := open(t, driver, cfg)
			var w woken
			l := listen(t, s, &w)
			for _, key := range []string{"a", "b", "{t}c"} {
				add(t, l, key)
				handOver(t, session(t, s, 0), key)
				testwait.Until(t, key+" wakes", func() bool { return w.count(key) == 1 })
			}
			wrong := cfg
			wrong.Password = "geheim"
			if _, err := lookup(t, driver).Open(t.Context(), wrong); drivers.ClassOf(err) != drivers.ClassAuth || strings.Contains(err.Error(), "geheim") {
				t.Errorf("a wrong password: %v (%s)", err, drivers.ClassOf(err))
			}
		})
	}
}

// TestClusterSpreads uses keys of all nodes: locks, wake-ups, clean-up, and the usage of the nodes.
func TestClusterSpreads(t *testing.T) {
	cluster := servertest.Cluster(t, 3, servers.Options{})
	forBoth(t, func(t *testing.T, driver string) {
		for _, lock := range []string{"set-nx", "setnx"} {
			cfg := clusterConfig(cluster)
			cfg.Lock, cfg.Wakes = lock, true
			s := open(t, driver, cfg)
			a := session(t, s, 0)
			_, before, err := s.(drivers.Inspector).Inspect(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var w woken
			l := listen(t, s, &w)
			var keys []string
			for i := range 32 {
				keys = append(keys, fmt.Sprintf("%s-%s-%d", driver, lock, i))
			}
			for _, key := range keys {
				add(t, l, key)
				handOver(t, a, key)
				try(t, a, &drivers.Lease{Key: key, TTL: time.Minute}, true)
			}
			for _, key := range keys {
				testwait.Until(t, key+" wakes", func() bool { return w.count(key) == 1 })
				if counter, ok := a.(drivers.ListenerCounter); ok {
					if n, err := counter.Listeners(t.Context(), &drivers.Lease{Key: key}); n != 1 || err != nil {
						t.Errorf("%d listen to %s: %v", n, key, err)
					}
				}
			}
			sharded, plain, locks := 0, 0, 0
			for _, url := range cluster.URLs() {
				rdb := bare(t, drivers.Config{Addrs: []string{url}})
				sharded += len(rdb.PubSubShardChannels(t.Context(), "*").Val())
				plain += len(rdb.PubSubChannels(t.Context(), "*").Val())
				n := int(rdb.DBSize(t.Context()).Val())
				locks += n
				if n == 0 {
					t.Errorf("%s has no lock", url)
				}
			}
			if sharded != len(keys) || plain != 0 || locks != len(keys) {
				t.Errorf("%d sharded and %d plain channels, %d locks, want %d of the first and the last", sharded, plain, locks, len(keys))
			}
			server, after, err := s.(drivers.Inspector).Inspect(t.Context())
			if err != nil || server.Mode != "cluster" || strings.Count(server.RunID, "+") != 2 || server.Persistence != "none" || strings.Contains(server.Version, ",") {
				t.Errorf("%+v, %v", server, err)
			}
			if n := after.Commands - before.Commands; n < int64(5*len(keys)) {
				t.Errorf("%d commands for %d keys: a node is missing", n, len(keys))
			}
			for _, key := range keys {
				if err := l.Remove(t.Context(), key); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.(drivers.Cleaner).Clean(t.Context(), keys); err != nil {
				t.Fatal(err)
			}
			if err := s.(drivers.Pinger).Ping(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, url := range cluster.URLs() {
				rdb := bare(t, drivers.Config{Addrs: []string{url}})
				if n := rdb.DBSize(t.Context()).Val(); n != 0 {
					t.Errorf("%s keeps %d keys", url, n)
				}
				testwait.Until(t, "the channels are left", func() bool { return len(rdb.PubSubShardChannels(t.Context(), "*").Val()) == 0 })
			}
			if w.count("") != 0 {
				t.Errorf("%d breaks reported: what was asked for passes for a slot that has moved", w.count(""))
			}
		}
	})
}

// TestSlotMoves moves a key's slot to another node while it is listened to. The lock follows, and so does the listener.
func TestSlotMoves(t *testing.T) {
	cluster := servertest.Cluster(t, 2, servers.Options{})
	slot := redis.Slot("foo")
	var nodes []*goredis.Client
	var ids []string
	for _, url := range cluster.URLs() {
		rdb := bare(t, drivers.Config{Addrs: []string{url}})
		nodes = append(nodes, rdb)
		ids = append(ids, rdb.Do(t.Context(), "CLUSTER", "MYID").Val().(string))
	}
	at := 1 // 12182 is in the upper half
	forBoth(t, func(t *testing.T, driver string) {
		cfg := clusterConfig(cluster)
		cfg.Wakes = true
		s := open(t, driver, cfg)
		var w woken
		add(t, listen(t, s, &w), "foo")
		a := session(t, s, 0)
		handOver(t, a, "foo")
		testwait.Until(t, "foo wakes", func() bool { return w.count("foo") == 1 })
		at = 1 - at
		for _, i := range []int{at, 1 - at} { // the receiving node first, as in the specification
			if err := nodes[i].Do(t.Context(), "CLUSTER", "SETSLOT", slot, "NODE", ids[at]).Err(); err != nil {
				t.Fatal(err)
			}
		}
		testwait.Until(t, "it reports the break", func() bool { return w.count("") > 0 })
		handOver(t, a, "foo")
		testwait.Until(t, "foo wakes at its new place", func() bool { return w.count("foo") == 2 })
	})
}

// TestFailOver kills the primary during a run. Requests fail until there is another one, and then the run goes on.
func TestFailOver(t *testing.T) {
	trio := servertest.Sentinel(t, 1, 3, servers.Options{})
	type client struct {
		drivers.Service
		drivers.Session
		id string
		w  woken
	}
	clients := map[string]*client{}
	for _, driver := range []string{"go-redis", "rueidis"} {
		cfg := sentinelConfig(trio)
		cfg.Wakes = true
		c := &client{Service: open(t, driver, cfg)}
		c.Session = session(t, c.Service, 0)
		server, _, err := c.Service.(drivers.Inspector).Inspect(t.Context())
		if err != nil || server.Mode != "sentinel" || server.Replicas != 1 {
			t.Fatalf("%+v, %v", server, err)
		}
		c.id = server.RunID
		add(t, listen(t, c.Service, &c.w), driver)
		handOver(t, c.Session, driver)
		testwait.Until(t, driver+" wakes", func() bool { return c.w.count(driver) == 1 })
		clients[driver] = c
	}
	primary, err := trio.Primary(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := primary.Kill(); err != nil {
		t.Fatal(err)
	}
	for driver, c := range clients {
		failed := 0
		testwait.Until(t, driver+" locks again", func() bool {
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer cancel()
			l := drivers.Lease{Key: driver, TTL: time.Minute}
			held, err := c.Try(ctx, &l)
			if err != nil {
				failed++
				switch class := drivers.ClassOf(err); class {
				case drivers.ClassConnect, drivers.ClassTimeout, drivers.ClassClosed, drivers.ClassServer, drivers.ClassReadOnly:
				default:
					t.Errorf("%s: %v (%s)", driver, err, class)
				}
				return false
			}
			if held {
				release(t, c.Session, &l, true)
			}
			return held
		})
		testwait.Until(t, driver+"'s listener is back", func() bool { return c.w.count("") > 0 })
		woken := c.w.count(driver)
		handOver(t, c.Session, driver)
		testwait.Until(t, driver+" wakes again", func() bool { return c.w.count(driver) > woken })
		server, _, err := c.Service.(drivers.Inspector).Inspect(t.Context())
		if err != nil || server.RunID == c.id {
			t.Errorf("%s: the run ID is still %s, %v", driver, server.RunID, err)
		}
	}
}

// TestNoRetryInCluster counts how often a command is sent whose connection breaks before the answer.
func TestNoRetryInCluster(t *testing.T) {
	forBoth(t, func(t *testing.T, driver string) {
		var sets atomic.Int64
		s := open(t, driver, drivers.Config{Topology: drivers.TopologyCluster, Addrs: []string{dropper(t, &sets)}})
		held, err := session(t, s, 0).Try(within(t, time.Minute), &drivers.Lease{Key: "k", TTL: time.Minute})
		if held || drivers.ClassOf(err) != drivers.ClassClosed || drivers.NoEffect(err) {
			t.Errorf("%v, %v (%s), want class closed", held, err, drivers.ClassOf(err))
		}
		if n := sets.Load(); n != 1 {
			t.Errorf("sent %d times", n)
		}
	})
}

// TestSentinelsOwnLogin: the addresses have the login of the sentinels, and the configuration that of the primary.
func TestSentinelsOwnLogin(t *testing.T) {
	trio := servertest.Sentinel(t, 1, 1, servers.Options{Username: "alice", Password: "primary's"})
	cfg := sentinelConfig(trio)
	for i, url := range cfg.Addrs {
		addr := strings.TrimPrefix(url, "redis://")
		admin := goredis.NewClient(&goredis.Options{Addr: addr, Username: "alice", Password: "primary's", DisableIdentity: true})
		for _, user := range [][]any{{"watcher", "on", ">sentinel's", "+@all"}, {"alice", "off"}} {
			if err := admin.Do(t.Context(), append([]any{"ACL", "SETUSER"}, user...)...).Err(); err != nil {
				t.Fatal(err)
			}
		}
		admin.Close()
		cfg.Addrs[i] = "redis://watcher:sentinel's@" + addr
	}
	cfg.Username, cfg.Password, cfg.Wakes = "alice", "primary's", true
	forBoth(t, func(t *testing.T, driver string) {
		handOver(t, session(t, open(t, driver, cfg), 0), "k")
		for want, wrong := range map[string]drivers.Config{
			"the sentinel: the server rejects the user or the password": {Addrs: []string{strings.Replace(cfg.Addrs[0], "sentinel's", "geheim", 1)}, Password: "primary's"},
			"the sentinels say that the primary is":                     {Addrs: cfg.Addrs, Password: "geheim"},
		} {
			wrong.Topology, wrong.Username = cfg.Topology, "alice"
			_, err := lookup(t, driver).Open(t.Context(), wrong)
			if drivers.ClassOf(err) != drivers.ClassAuth || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "geheim") {
				t.Errorf("%v (%s), want %q", err, drivers.ClassOf(err), want)
			}
		}
	})
}
