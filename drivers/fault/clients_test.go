package fault_test

import (
	"net/url"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
	"github.com/lockbench/lockbench/drivers/testwait"
)

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

func openGoRedis(t *testing.T, addr string, retries int) *goredis.Client {
	c := goredis.NewClient(&goredis.Options{Addr: addr, MaxRetries: retries, ReadTimeout: -1, WriteTimeout: -1, DisableIdentity: true})
	t.Cleanup(func() { c.Close() })
	return c
}

// A client that is gone in a black hole stays connected for the server.
func TestHalfOpen(t *testing.T) {
	target := startRedis(t)
	p := newProxy(t, target)
	ctx := t.Context()
	c, direct := openGoRedis(t, p.Addr(), -1), openGoRedis(t, target, -1)
	id := c.ClientID(ctx).Val()
	p.BlackHole()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	connected := func() bool { return direct.Do(ctx, "CLIENT", "LIST", "ID", id).Val() != "" }
	if id == 0 || !connected() {
		t.Errorf("the server has noticed that client %d is gone", id)
	}
	p.Resume()
	testwait.Until(t, "the server notices", func() bool { return !connected() })
}
