package redis_test

import (
	"context"
	"crypto/tls"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/redis/rueidis"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/redis"
	goredisconn "github.com/lockbench/lockbench/drivers/redis/goredis"
	rueidisconn "github.com/lockbench/lockbench/drivers/redis/rueidis"
	"github.com/lockbench/lockbench/drivers/servers"
)

const bareRelease = "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end return redis.call('DEL', KEYS[1])"

// barePair returns an acquisition and its release with the library alone.
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

// sessionPair returns the same through a session.
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

// TestAllocations allows the drivers one allocation per operation more than the library.
func TestAllocations(t *testing.T) {
	forBoth(t, func(t *testing.T, driver string) {
		server := startRedis(t, servers.Options{})
		measure := func(pair func()) float64 {
			for range 100 { // makes connections, buffers and pools
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

// taped is a Conn that records the commands that it is sent.
type taped struct {
	redis.Conn
	tape *[][]string // nil: not recorded
}

func (c taped) Do(ctx context.Context, args []string, key int) (redis.Reply, error) {
	if *c.tape != nil {
		*c.tape = append(*c.tape, slices.Clone(args))
	}
	return c.Conn.Do(ctx, args, key)
}

// TestDesignAllocations allows every design one allocation per operation more than its bare commands.
func TestDesignAllocations(t *testing.T) {
	for name, dial := range map[string]func(context.Context, redis.Options) (redis.Conn, error){
		"go-redis": goredisconn.Dial, "rueidis": rueidisconn.Dial,
	} {
		t.Run(name, func(t *testing.T) {
			addrs := plainRedis(t)
			var tape [][]string
			var conn redis.Conn
			d := redis.Driver{Dial: func(ctx context.Context, o redis.Options) (redis.Conn, error) {
				var err error
				conn, err = dial(ctx, o)
				return taped{conn, &tape}, err
			}}
			for _, design := range d.Designs() {
				tape = nil
				s, err := d.Open(t.Context(), drivers.Config{Addrs: addrs, Lock: design.Name, Prefix: "p:"})
				if err != nil {
					t.Fatal(err)
				}
				a := session(t, s, 0)
				l := drivers.Lease{Key: "p:" + design.Name, TTL: time.Minute}
				pair := func() {
					if held, err := a.Try(t.Context(), &l); !held {
						t.Fatal(err)
					}
					if owned, err := a.Release(t.Context(), &l); !owned {
						t.Fatal(err)
					}
				}
				pair() // loads the scripts
				tape = [][]string{}
				pair()
				commands := tape
				tape = nil
				replay := func() {
					for _, args := range commands {
						if _, err := conn.Do(t.Context(), args, min(len(args)-1, keyAt(args))); err != nil {
							t.Fatal(err)
						}
					}
				}
				for range 100 {
					pair()
					replay()
				}
				own := testing.AllocsPerRun(500, pair) - testing.AllocsPerRun(500, replay)
				if own > 2 {
					t.Errorf("%s: %v allocations a pair of its own", design.Name, own)
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func keyAt(args []string) int {
	if args[0] == "EVALSHA" {
		return 3
	}
	return 1
}

// BenchmarkPair compares a session with the library alone.
func BenchmarkPair(b *testing.B) {
	for _, driver := range []string{"go-redis", "rueidis"} {
		server := startRedis(b, servers.Options{})
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
