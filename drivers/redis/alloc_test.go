package redis_test

import (
	"crypto/tls"
	"net"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/redis/rueidis"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
)

const bareRelease = "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end return redis.call('DEL', KEYS[1])"

// barePair is an acquisition and its release as one would write them with the library alone.
func barePair(t testing.TB, driver, socket string) (pair func()) {
	ctx, owner, ttl := t.Context(), strings.Repeat("o", 22), time.Minute
	check := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if driver == "go-redis" {
		client := goredis.NewClient(&goredis.Options{Network: "unix", Addr: socket, MaxRetries: -1, ContextTimeoutEnabled: true, DisableIdentity: true,
			MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}})
		t.Cleanup(func() { client.Close() })
		sha := client.ScriptLoad(ctx, bareRelease).Val()
		return func() {
			if held, err := client.SetNX(ctx, "bare", owner, ttl).Result(); !held {
				t.Fatal(err)
			}
			check(client.EvalSha(ctx, sha, []string{"bare"}, owner).Err())
		}
	}
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{socket}, DisableCache: true, DisableRetry: true, ForceSingleClient: true,
		DialFn: func(addr string, d *net.Dialer, _ *tls.Config) (net.Conn, error) { return d.Dial("unix", addr) }})
	check(err)
	t.Cleanup(client.Close)
	sha, err := client.Do(ctx, client.B().ScriptLoad().Script(bareRelease).Build()).ToString()
	check(err)
	return func() {
		ok, err := client.Do(ctx, client.B().Set().Key("bare").Value(owner).Nx().Px(ttl).Build()).ToString()
		if ok != "OK" {
			t.Fatal(err)
		}
		check(client.Do(ctx, client.B().Evalsha().Sha1(sha).Numkeys(1).Key("bare").Arg(owner).Build()).Error())
	}
}

// sessionPair is the same through a session.
func sessionPair(t testing.TB, driver, socket string, pipelining drivers.Pipelining) (pair func()) {
	ctx := t.Context()
	a := session(t, open(t, driver, drivers.Config{Addrs: []string{"unix://" + socket}, Pipelining: pipelining}), 0)
	l := drivers.Lease{Key: "session", TTL: time.Minute}
	return func() {
		if held, err := a.Try(ctx, &l); !held {
			t.Fatal(err)
		}
		if owned, err := a.Release(ctx, &l); !owned {
			t.Fatal(err)
		}
	}
}

// TestAllocations holds the drivers to one allocation an operation above the library's own.
func TestAllocations(t *testing.T) {
	forBoth(t, func(t *testing.T, driver string) {
		server := startRedis(t, servers.RedisOptions{})
		measure := func(pair func()) float64 {
			for range 100 { // connections, buffers and pools are made
				pair()
			}
			return testing.AllocsPerRun(500, pair)
		}
		library := measure(barePair(t, driver, server.address()))
		driverOwn := measure(sessionPair(t, driver, server.address(), ""))
		t.Logf("%s alone: %v allocations a pair, through a session: %v", driver, library, driverOwn)
		if driverOwn > library+2 {
			t.Errorf("%v allocations a pair, %s alone has %v", driverOwn, driver, library)
		}
	})
}

// BenchmarkPair compares a session with the library alone.
func BenchmarkPair(b *testing.B) {
	for _, driver := range []string{"go-redis", "rueidis"} {
		server := startRedis(b, servers.RedisOptions{})
		run := func(name string, pair func()) {
			b.Run(driver+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					pair()
				}
			})
		}
		run("library", barePair(b, driver, server.address()))
		run("session", sessionPair(b, driver, server.address(), ""))
		run("session-auto", sessionPair(b, driver, server.address(), drivers.PipeliningAuto))
		run("session-off", sessionPair(b, driver, server.address(), drivers.PipeliningOff))
	}
}
