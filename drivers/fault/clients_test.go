package fault_test

import (
	"context"
	"errors"
	"net/url"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	goredis "github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
)

// client is a real client, which sends one request for each call.
type client struct {
	put func(ctx context.Context, key string) error
	has func(ctx context.Context, key string) (bool, error)
}

func hostOf(t *testing.T, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u.Host
}

func startRedis(t *testing.T) (target string) {
	return hostOf(t, servertest.Redis(t, servers.RedisOptions{TCP: true}).URL())
}

func startEtcd(t *testing.T) (target string) {
	return hostOf(t, servertest.Etcd(t, 1, servers.EtcdOptions{}).URLs()[0])
}

func startZooKeeper(t *testing.T) (target string) {
	return hostOf(t, servertest.ZooKeeper(t, 1, servers.ZooKeeperOptions{}).URLs()[0])
}

func goRedis(t *testing.T, addr string) client {
	c := goredis.NewClient(&goredis.Options{Addr: addr, MaxRetries: -1, ReadTimeout: -1, WriteTimeout: -1, DisableIdentity: true})
	t.Cleanup(func() { c.Close() })
	return client{
		put: func(ctx context.Context, key string) error { return c.Set(ctx, key, "v", 0).Err() },
		has: func(ctx context.Context, key string) (bool, error) {
			n, err := c.Exists(ctx, key).Result()
			return n == 1, err
		},
	}
}

func etcdClient(t *testing.T, addr string) client {
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{addr}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return client{
		put: func(ctx context.Context, key string) error { _, err := c.Put(ctx, key, "v"); return err },
		has: func(ctx context.Context, key string) (bool, error) {
			got, err := c.Get(ctx, key)
			return err == nil && got.Count == 1, err
		},
	}
}

type silent struct{}

func (silent) Printf(string, ...any) {}

func zooKeeper(t *testing.T, addr string) client {
	c, events, err := zk.Connect([]string{addr}, time.Minute, zk.WithLogger(silent{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	for e := range events {
		if e.State == zk.StateHasSession {
			break
		}
	}
	return client{
		put: func(_ context.Context, key string) error {
			_, err := c.Create("/"+key, nil, 0, zk.WorldACL(zk.PermAll))
			return err
		},
		has: func(_ context.Context, key string) (bool, error) {
			found, _, err := c.Exists("/" + key)
			return found, err
		},
	}
}

// TestClients breaks the requests and replies of real clients.
func TestClients(t *testing.T) {
	for _, tt := range []struct {
		name  string
		start func(t *testing.T) (target string)
		open  func(t *testing.T, addr string) client
	}{
		{"go-redis", startRedis, goRedis},
		{"etcd", startEtcd, etcdClient},
		{"zookeeper", startZooKeeper, zooKeeper},
	} {
		if testing.Short() && tt.name != "go-redis" {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			target := tt.start(t)
			p := newProxy(t, target)
			c, direct := tt.open(t, p.Addr()), tt.open(t, target)
			put := func(key string) <-chan error {
				done := make(chan error, 1)
				go func() { done <- c.put(t.Context(), key) }()
				return done
			}
			expectPut := func(key string, done <-chan error) {
				t.Helper()
				if err := <-done; err != nil {
					t.Fatalf("%s: %v", key, err)
				}
			}
			expectHas := func(key string, want bool) {
				t.Helper()
				if got, err := direct.has(t.Context(), key); got != want || err != nil {
					t.Errorf("the server has %s: %t, %v; want %t", key, got, err, want)
				}
			}
			expectPut("first", put("first")) // it is connected now
			before, links := p.Requests(), p.Links()
			for _, key := range []string{"a", "b", "c", "d", "e"} {
				expectPut(key, put(key))
			}
			if n := p.Requests() - before; n != 5 {
				t.Errorf("%d requests of five calls, over %d connections and then %d", n, links, p.Links())
			}

			b := p.Break(1)
			done := put("request")
			expectHit(t, b)
			expectHas("request", false)
			b.Go()
			expectPut("request", done)
			expectHas("request", true)

			b = p.BreakReply(1)
			done = put("reply")
			expectHit(t, b)
			expectHas("reply", true)
			b.Go()
			expectPut("reply", done)

			b = p.BreakReply(1)
			b.Cut()
			if err := <-put("lost"); err == nil || errors.Is(err, context.Canceled) {
				t.Errorf("a lost reply: %v", err)
			}
			expectHit(t, b)
			expectHas("lost", true)
		})
	}
}
