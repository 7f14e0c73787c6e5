package redis_test

import (
	"context"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/redis"
	"github.com/lockbench/lockbench/drivers/testwait"
)

func TestMain(m *testing.M) {
	// rueidis looks at a cluster again a second after it has failed, even when its client is closed meanwhile.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*call).DelayDo.func1"))
}

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

func TestLock(t *testing.T) {
	forEach(t, func(t *testing.T, driver string, cfg drivers.Config) {
		for _, design := range designs(t) {
			lock := design.Name
			for _, asked := range []bool{false, true} {
				cfg.Lock, cfg.Wakes = lock, asked
				s := open(t, driver, cfg)
				wakes := asked && design.Traits.Wakes
				if _, ok := drivers.As[drivers.Subscriber](s); ok != wakes || s.Traits().Wakes != wakes {
					t.Errorf("%s, Wakes %v: subscriber %v, trait %v", lock, asked, ok, s.Traits().Wakes)
				}
				a, b := session(t, s, 0), session(t, s, 1)
				key := cfg.Prefix + lock
				la := drivers.Lease{Key: key, TTL: time.Minute}
				lb := drivers.Lease{Key: key, TTL: time.Minute}
				try(t, a, &la, true)
				try(t, b, &lb, false)
				release(t, a, &la, true)
				release(t, a, &la, false)
				try(t, b, &lb, true)
				release(t, b, &lb, true)
			}
		}
	})
}

// TestOwned proves Owned in both directions, and that owners differ.
func TestOwned(t *testing.T) {
	forEach(t, func(t *testing.T, driver string, cfg drivers.Config) {
		for _, design := range designs(t) {
			lock := design.Name
			cfg.Lock = lock
			s := open(t, driver, cfg)
			a, b := session(t, s, 0), session(t, s, 1)
			la := drivers.Lease{Key: cfg.Prefix + lock, TTL: time.Minute}
			lb := la
			try(t, a, &la, true)
			try(t, b, &lb, false)
			owned := s.Traits().Owned
			if owned && (la.Owner == lb.Owner || len(la.Owner) < 22) {
				t.Errorf("owners %q and %q", la.Owner, lb.Owner)
			}
			release(t, b, &lb, !owned)
			release(t, a, &la, owned)
		}
	})
}

func TestExpiry(t *testing.T) {
	forEach(t, func(t *testing.T, driver string, cfg drivers.Config) {
		s := open(t, driver, cfg)
		a, b := session(t, s, 0), session(t, s, 1)
		la := drivers.Lease{Key: cfg.Prefix + "k", TTL: 30 * time.Millisecond}
		lb := drivers.Lease{Key: la.Key, TTL: time.Minute}
		try(t, a, &la, true)
		testwait.Until(t, "the lease ends", func() bool {
			held, err := b.Try(t.Context(), &lb)
			return held && err == nil
		})
		release(t, a, &la, false) // late: the next holder keeps its lock
		release(t, b, &lb, true)
	})
}

func TestSETNXNeverExpires(t *testing.T) {
	forEach(t, func(t *testing.T, driver string, cfg drivers.Config) {
		cfg.Lock = "setnx"
		a := session(t, open(t, driver, cfg), 0)
		l := drivers.Lease{Key: cfg.Prefix + "k", TTL: time.Millisecond}
		try(t, a, &l, true)
		rest, err := a.(drivers.Remainer).Remaining(t.Context(), &l)
		if err != nil || rest >= 0 {
			t.Errorf("Remaining = %v, %v, want a negative one", rest, err)
		}
		if _, ok := a.(drivers.Renewer); ok {
			t.Error("setnx renews")
		}
	})
}

func TestRenewAndRemaining(t *testing.T) {
	forEach(t, func(t *testing.T, driver string, cfg drivers.Config) {
		a := session(t, open(t, driver, cfg), 0)
		l := drivers.Lease{Key: cfg.Prefix + "k", TTL: time.Minute}
		remaining := func() time.Duration {
			rest, err := a.(drivers.Remainer).Remaining(t.Context(), &l)
			if err != nil {
				t.Fatal(err)
			}
			return rest
		}
		renew := func(want bool) {
			if owned, err := a.(drivers.Renewer).Renew(t.Context(), &l); err != nil || owned != want {
				t.Fatalf("Renew = %v, %v, want %v", owned, err, want)
			}
		}
		if rest := remaining(); rest != 0 {
			t.Errorf("a free key has %v left", rest)
		}
		try(t, a, &l, true)
		if rest := remaining(); rest <= 30*time.Second || rest > time.Minute {
			t.Errorf("%v left of a minute", rest)
		}
		l.TTL = time.Hour
		renew(true)
		if rest := remaining(); rest <= 30*time.Minute {
			t.Errorf("%v left of an hour", rest)
		}
		other := drivers.Lease{Key: l.Key, TTL: time.Hour, Owner: "someone else"}
		if owned, err := a.(drivers.Renewer).Renew(t.Context(), &other); owned || err != nil {
			t.Errorf("another client renewed: %v, %v", owned, err)
		}
		release(t, a, &l, true)
		renew(false)
	})
}

// TestShortTTL requests a TTL that the server cannot do, and a fraction of its unit.
func TestShortTTL(t *testing.T) {
	forEach(t, func(t *testing.T, driver string, cfg drivers.Config) {
		a := session(t, open(t, driver, cfg), 0)
		l := drivers.Lease{Key: cfg.Prefix + "k", TTL: time.Millisecond - 1}
		if held, err := a.Try(t.Context(), &l); held || err == nil {
			t.Errorf("Try = %v, %v, want an error", held, err)
		}
		l.TTL = time.Minute + 1
		try(t, a, &l, true)
		if ttl := bare(t, cfg).PTTL(t.Context(), l.Key).Val(); ttl <= 59*time.Second || ttl > time.Minute+time.Millisecond {
			t.Errorf("TTL %v for %v", ttl, l.TTL)
		}
		release(t, a, &l, true)
	})
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

func TestClean(t *testing.T) {
	forEach(t, func(t *testing.T, driver string, cfg drivers.Config) {
		s := open(t, driver, cfg)
		rdb := bare(t, cfg)
		keep := cfg.Prefix + "keep"
		if err := rdb.Set(t.Context(), keep, "1", 0).Err(); err != nil {
			t.Fatal(err)
		}
		var keys []string
		pipe := rdb.Pipeline()
		for i := range 600 { // more than two batches
			keys = append(keys, cfg.Prefix+string(rune('A'+i)))
			pipe.Set(t.Context(), keys[i], "1", 0)
		}
		if _, err := pipe.Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := s.(drivers.Cleaner).Clean(t.Context(), keys); err != nil {
			t.Fatal(err)
		}
		if n := rdb.Exists(t.Context(), keys...).Val(); n != 0 {
			t.Errorf("%d keys are left", n)
		}
		if n := rdb.Exists(t.Context(), keep).Val(); n != 1 {
			t.Error("a key that was not named is gone")
		}
		if err := s.(drivers.Cleaner).Clean(t.Context(), nil); err != nil {
			t.Error(err)
		}
	})
}

func TestPing(t *testing.T) {
	forEach(t, func(t *testing.T, driver string, cfg drivers.Config) {
		if err := open(t, driver, cfg).(drivers.Pinger).Ping(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestUseAfterClose(t *testing.T) {
	forEach(t, func(t *testing.T, driver string, cfg drivers.Config) {
		d, _ := drivers.Lookup(driver)
		for _, cfg.Pipelining = range []drivers.Pipelining{"", "auto", "off"} {
			s, err := d.Open(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			a := session(t, s, 0)
			l := drivers.Lease{Key: cfg.Prefix + "k", TTL: time.Minute}
			try(t, a, &l, true)
			release(t, a, &l, true)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := a.Try(context.Background(), &l); drivers.ClassOf(err) != drivers.ClassClosed {
				t.Errorf("pipelining %q: %v (%s), want class closed", cfg.Pipelining, err, drivers.ClassOf(err))
			}
		}
	})
}
