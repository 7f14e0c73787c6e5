package redis_test

import (
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/redis"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, servertest.RueidisEnds, servertest.GoRedisEnds) }

// bare returns a separate client, to look at the server without the driver.
func bare(t *testing.T, cfg drivers.Config) *goredis.Client {
	target, err := redis.ParseTarget(cfg.Addrs[0])
	if err != nil {
		t.Fatal(err)
	}
	o := &goredis.Options{Addr: target.Addr(), Network: "tcp", DisableIdentity: true, DB: target.Database}
	if target.Path != "" {
		o.Network = "unix"
	}
	client := goredis.NewClient(o)
	t.Cleanup(func() { client.Close() })
	return client
}

func try(t *testing.T, s drivers.Session, l *drivers.Lease, want bool) {
	t.Helper()
	held, err := s.Try(t.Context(), l)
	if err != nil || held != want {
		t.Fatalf("Try = %v, %v, want %v", held, err, want)
	}
}

func release(t *testing.T, s drivers.Session, l *drivers.Lease, want bool) {
	t.Helper()
	owned, err := s.Release(t.Context(), l)
	if err != nil || owned != want {
		t.Fatalf("Release = %v, %v, want %v", owned, err, want)
	}
}

// designs returns all designs.
func designs(t testing.TB) []drivers.Design {
	d, err := drivers.Lookup("rueidis")
	if err != nil {
		t.Fatal(err)
	}
	return d.Designs()
}

// TestScriptFlush makes the server forget its scripts between two releases.
func TestScriptFlush(t *testing.T) {
	forEach(t, func(t *testing.T, driver string, cfg drivers.Config) {
		rdb := bare(t, cfg)
		for _, wakes := range []bool{false, true} {
			for _, design := range designs(t) {
				cfg.Lock, cfg.Wakes = design.Name, wakes
				a := session(t, open(t, driver, cfg), 0)
				l := drivers.Lease{Key: cfg.Prefix + "k", TTL: time.Minute}
				for range 3 {
					try(t, a, &l, true)
					if err := rdb.ScriptFlush(t.Context()).Err(); err != nil {
						t.Fatal(err)
					}
					release(t, a, &l, true)
				}
			}
		}
	})
}

// TestWire checks the commands of the designs, including scripts.
func TestWire(t *testing.T) {
	tests := []struct {
		lock  string
		wakes bool
		want  []string
	}{
		{"set-nx", false, []string{"set", "evalsha", "get", "del"}},
		{"set-nx", true, []string{"set", "evalsha", "get", "publish", "del"}},
		{"setnx", false, []string{"setnx", "del"}},
		{"setnx", true, []string{"setnx", "evalsha", "publish", "del"}},
		{"setnx-expire", false, []string{"setnx", "pexpire", "del"}},
		{"lua-setnx-expire", false, []string{"evalsha", "setnx", "pexpire", "del"}},
		{"lua-setnx-expire", true, []string{"evalsha", "setnx", "pexpire", "evalsha", "publish", "del"}},
		{"set-nx-del", false, []string{"set", "del"}},
		{"set-nx-get-del", false, []string{"set", "get", "del"}},
		{"set-nx-get-del", true, []string{"set", "get", "evalsha", "publish", "del"}},
		{"getset", false, []string{"setnx", "del"}},
		{"setnx-steal", false, []string{"setnx", "del"}},
		{"reentrant-count", false, []string{"set", "evalsha", "get", "del"}},
		{"redisson", false, []string{"evalsha", "exists", "hincrby", "pexpire", "evalsha", "hget", "publish", "del"}},
		{"redisson", true, []string{"evalsha", "exists", "hincrby", "pexpire", "evalsha", "hget", "publish", "del"}},
		{"fenced", false, []string{"evalsha", "exists", "incr", "pexpire", "set", "evalsha", "get", "del"}},
		{"fair", false, []string{"evalsha", "pttl", "lpop", "set", "evalsha", "get", "lpop", "del"}},
	}
	forBoth(t, func(t *testing.T, driver string) {
		// One connection, because rueidis greets on each of its connections when it first uses it.
		cfg := drivers.Config{Addrs: plainRedis(t), Conns: 1}
		rdb := bare(t, cfg)
		for _, test := range tests {
			cfg.Lock, cfg.Wakes = test.lock, test.wakes
			s := open(t, driver, cfg)
			a := session(t, s, 0)
			l := drivers.Lease{Key: "k", TTL: time.Minute}
			try(t, a, &l, true)
			release(t, a, &l, true) // from here on the server knows the script
			var before, after map[string]int64
			var sent int64
			// rueidis pings a connection that was idle for a second: on a busy machine that may be any, so it is
			// measured again.
			for measured := false; !measured; measured = after["ping"] == before["ping"] {
				before = calls(t, rdb)
				used := usage(t, s.(drivers.Inspector))
				try(t, a, &l, true)
				release(t, a, &l, true)
				sent = usage(t, s.(drivers.Inspector)).Commands - used.Commands
				after = calls(t, rdb)
			}
			for _, name := range test.want {
				after[name]--
			}
			for name, n := range after {
				if n != before[name] && name != "info" && name != "config|get" {
					t.Errorf("%s wakes=%v: sends %s %+d times more than %v", test.lock, test.wakes, name, n-before[name], test.want)
				}
			}
			// INFO counts itself only in the next one; two CONFIG GET follow it.
			if sent != int64(len(test.want))+3 {
				t.Errorf("%s wakes=%v: Usage says %d commands for %v, an INFO and two CONFIG GET", test.lock, test.wakes, sent, test.want)
			}
		}
	})
}
