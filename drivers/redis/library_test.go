// What a lock library's driver gets from this package, tested alone.
package redis_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/drivertest"
	"github.com/lockbench/lockbench/drivers/redis"
	"github.com/lockbench/lockbench/drivers/redis/goredis"
	"github.com/lockbench/lockbench/drivers/redis/rueidis"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
)

func openBase(t *testing.T, d redis.Driver, cfg drivers.Config, names func(string) []string) (*redis.Base, []redis.Options) {
	t.Helper()
	b, options, err := redis.OpenBase(t.Context(), d, cfg, names)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b, options
}

// The library's own clients get the configured settings, whatever the separate connection needs.
func TestBaseOptions(t *testing.T) {
	one, two := servertest.Embedded(t), servertest.Embedded(t)
	_, options := openBase(t, goredis.Driver, drivers.Config{
		Addrs: []string{one, two}, Embedded: true, Topology: drivers.TopologyRedlock,
		Clients: 64, Conns: 7, Pipelining: drivers.PipeliningOff, Database: "3", IOTimeout: time.Second,
	}, nil)
	if len(options) != 2 {
		t.Fatalf("%d options for 2 addresses", len(options))
	}
	for i, o := range options {
		if url := []string{one, two}[i]; "redis://"+o.Target.Addr() != url {
			t.Errorf("options %d are for %v, not for %v", i, o.Target, url)
		}
		if o.Clients != 64 || o.Conns != 7 || o.Pipelining != drivers.PipeliningOff || o.Target.Database != 3 || o.IO() != time.Second {
			t.Errorf("options %d are %+v", i, o)
		}
	}
}

// Every node is cleaned, of the keys that the library makes for a lock, and the usage of the nodes is summed.
func TestBaseOfTwoNodes(t *testing.T) {
	nodes := []string{startRedis(t, servers.Options{}).URL(), startRedis(t, servers.Options{}).URL()}
	b, _ := openBase(t, goredis.Driver, drivers.Config{Addrs: nodes}, func(key string) []string {
		return []string{"lib:0:" + key, "lib:1:" + key}
	})
	before := usage(t, b)
	for _, node := range nodes {
		rdb := bare(t, drivers.Config{Addrs: []string{node}})
		if err := rdb.MSet(t.Context(), "k", 1, "lib:0:k", 1, "lib:1:k", 1, "lib:0:other", 1).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Clean(t.Context(), []string{"k"}); err != nil {
		t.Fatal(err)
	}
	for i, node := range nodes {
		rdb := bare(t, drivers.Config{Addrs: []string{node}})
		keys, err := rdb.Keys(t.Context(), "*").Result()
		if err != nil {
			t.Fatal(err)
		}
		if slices.Sort(keys); !slices.Equal(keys, []string{"k", "lib:0:other"}) {
			t.Errorf("node %d has %q left", i, keys)
		}
		for range 100 {
			rdb.Ping(t.Context())
		}
	}
	if grown := usage(t, b).Commands - before.Commands; grown < 200 {
		t.Errorf("%d commands after 100 on each of two nodes", grown)
	}
	if err := b.Ping(t.Context()); err != nil {
		t.Error(err)
	}
}

func usage(t *testing.T, s drivers.Inspector) drivers.Usage {
	t.Helper()
	_, u, err := s.Inspect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// The connection is idle while the library works. If it has broken meanwhile, the clean-up must still be done.
func TestBaseAfterOutage(t *testing.T) {
	for name, d := range map[string]redis.Driver{"go-redis": goredis.Driver, "rueidis": rueidis.Driver} {
		t.Run(name, func(t *testing.T) {
			proxy := drivertest.Through(t, servertest.Embedded(t))[0]
			b, _ := openBase(t, d, drivers.Config{Addrs: []string{proxy.Addr()}, Embedded: true}, nil)
			proxy.Outage()()
			if err := b.Clean(t.Context(), []string{"k"}); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestWholeMillis(t *testing.T) {
	for ttl, want := range map[time.Duration]time.Duration{
		time.Microsecond: 0, time.Millisecond - 1: 0, time.Millisecond: time.Millisecond,
		time.Millisecond + 1: 2 * time.Millisecond, time.Minute: time.Minute,
	} {
		got, err := redis.WholeMillis(ttl)
		if got != want || (err != nil) != (want == 0) {
			t.Errorf("%v is %v, %v; want %v", ttl, got, err, want)
		}
	}
}

func TestBaseRefuses(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	good := servertest.Embedded(t)
	_, _, err := redis.OpenBase(ctx, goredis.Driver, drivers.Config{Addrs: []string{good, "redis://u:s3cret@127.0.0.1:1"}, Embedded: true}, nil)
	if err == nil || !strings.Contains(err.Error(), "127.0.0.1:1") || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("got %v; want the address of the node that is not there, and no password", err)
	}
}
