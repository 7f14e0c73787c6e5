// What is particular to one design each.
package redis_test

import (
	"fmt"
	"regexp"
	"strconv"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/testwait"
)

// TestHalfway forbids the second command of two. The outcome of the first must be unknown, so that it is released.
func TestHalfway(t *testing.T) {
	forBoth(t, func(t *testing.T, driver string) {
		for _, test := range []struct{ lock, rule string }{{"setnx-expire", "-pexpire"}, {"lua-setnx-expire", "-pexpire"}} {
			server := startRedis(t, servers.Options{})
			cfg := drivers.Config{Addrs: []string{server.URL()}, Lock: test.lock}
			a, rdb := session(t, open(t, driver, cfg), 0), bare(t, cfg)
			restrict(t, server, test.rule)
			held, err := a.Try(t.Context(), &drivers.Lease{Key: "k", TTL: time.Minute})
			if held || err == nil {
				t.Errorf("%s: %v, %v", test.lock, held, err)
			}
			left := rdb.Exists(t.Context(), "k").Val() == 1
			if left == drivers.NoEffect(err) {
				t.Errorf("%s: the lock is there: %v, and %q claims no effect: %v", test.lock, left, err, drivers.NoEffect(err))
			}
			if inScript := test.lock != "setnx-expire"; inScript == left {
				t.Errorf("%s: the lock is there: %v", test.lock, left)
			}
		}
	})
}

func TestGetset(t *testing.T) {
	forEach(t, func(t *testing.T, driver string, cfg drivers.Config) {
		cfg.Lock = "getset"
		s, rdb := open(t, driver, cfg), bare(t, cfg)
		a := session(t, s, 0)
		l := drivers.Lease{Key: cfg.Prefix + "k", TTL: time.Minute}
		stamp := func(in time.Duration) string { return strconv.FormatInt(time.Now().Add(in).Unix(), 10) + ".5" }
		value := func() time.Duration {
			seconds, err := strconv.ParseFloat(rdb.Get(t.Context(), l.Key).Val(), 64)
			if err != nil {
				t.Fatal(err)
			}
			return time.Until(time.UnixMicro(int64(seconds * 1e6)))
		}
		set := func(v string) { rdb.Set(t.Context(), l.Key, v, 0) }
		ours := func(d time.Duration) bool { return d > 50*time.Second && d <= time.Minute }

		set(stamp(2 * time.Hour)) // held
		try(t, a, &l, false)
		if d := value(); ours(d) {
			t.Errorf("a held lock's stamp was overwritten: %v left", d)
		}
		rest, err := a.(drivers.Remainer).Remaining(t.Context(), &l)
		if err != nil || rest < 119*time.Minute || rest > 2*time.Hour+time.Second {
			t.Errorf("Remaining %v, %v, of two hours", rest, err)
		}
		for _, over := range []string{stamp(-2 * time.Second), "", "no number"} { // as Ruby's to_f parses them
			set(over)
			if rest, err := a.(drivers.Remainer).Remaining(t.Context(), &l); rest != 0 || err != nil {
				t.Errorf("%q: Remaining %v, %v", over, rest, err)
			}
			try(t, a, &l, true)
			if d := value(); !ours(d) || l.ValidUntil.IsZero() {
				t.Errorf("%q: the lock has %v left", over, d)
			}
		}
		late := l
		late.ValidUntil = time.Now().Add(-time.Second)
		release(t, a, &late, false) // by its own clock it is over: DEL might hit another client's
		release(t, a, &l, true)
	})
}

// TestReentrantCount enters again without a command, and so without a longer lease and without noticing a loss.
func TestReentrantCount(t *testing.T) {
	forBoth(t, func(t *testing.T, driver string) {
		cfg := drivers.Config{Addrs: plainRedis(t), Lock: "reentrant-count", Conns: 1}
		a, rdb := session(t, open(t, driver, cfg), 0), bare(t, cfg)
		outer, inner := drivers.Lease{Key: "k", TTL: time.Minute}, drivers.Lease{Key: "k", TTL: time.Hour}
		try(t, a, &outer, true)
		before := calls(t, rdb)
		try(t, a, &inner, true)
		release(t, a, &inner, true)
		try(t, a, &inner, true)
		after := calls(t, rdb)
		delete(before, "info")
		delete(after, "info")
		if fmt.Sprint(before) != fmt.Sprint(after) {
			t.Errorf("re-entry cost commands: %v, then %v", before, after)
		}
		if ttl := rdb.PTTL(t.Context(), "k").Val(); ttl > time.Minute {
			t.Errorf("re-entry extended the lease to %v", ttl)
		}
		rdb.Del(t.Context(), "k") // it is lost
		third := inner
		try(t, a, &third, true)
		release(t, a, &third, true)
		release(t, a, &inner, true)
		release(t, a, &outer, false)
		try(t, a, &outer, true)
	})
}

// TestRedissonWire checks what a Java process would see, and does what it would do.
func TestRedissonWire(t *testing.T) {
	const (
		java      = "b983c153-7421-469a-addb-44fb92259a1b:47"
		javaLock  = "if redis.call('exists', KEYS[1]) == 0 then redis.call('hincrby', KEYS[1], ARGV[2], 1); redis.call('pexpire', KEYS[1], ARGV[1]); return nil end return redis.call('pttl', KEYS[1])"
		javaFrees = "redis.call('del', KEYS[1]) redis.call('publish', KEYS[2], 0) return 1"
	)
	forEach(t, func(t *testing.T, driver string, cfg drivers.Config) {
		ctx := t.Context()
		cfg.Lock, cfg.Wakes = "redisson", true
		s, rdb := open(t, driver, cfg), bare(t, cfg)
		session(t, s, 0)
		a := session(t, s, 0) // another thread, whatever its number
		key := cfg.Prefix + "k"
		channel := "redisson_lock__channel:{" + key + "}"
		heard := rdb.Subscribe(ctx, channel)
		defer heard.Close()
		if _, err := heard.Receive(ctx); err != nil {
			t.Fatal(err)
		}
		l := drivers.Lease{Key: key, TTL: time.Minute}
		try(t, a, &l, true)
		again := drivers.Lease{Key: key, TTL: time.Hour}
		try(t, a, &again, true)
		hash := rdb.HGetAll(ctx, key).Val()
		if !regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}:2$`).MatchString(l.Owner) ||
			len(hash) != 1 || hash[l.Owner] != "2" {
			t.Errorf("the lock is %v, its owner %q", hash, l.Owner)
		}
		if ttl := rdb.PTTL(ctx, key).Val(); ttl < 59*time.Minute {
			t.Errorf("re-entry left the lease at %v", ttl)
		}
		if n, err := rdb.Eval(ctx, javaLock, []string{key}, 30000, java).Int64(); err != nil || n < 59*60*1000 {
			t.Errorf("a Java process is told %v, %v", n, err)
		}
		release(t, a, &again, true)
		release(t, a, &l, true)
		if m, err := heard.ReceiveTimeout(ctx, time.Minute); err != nil || m.(*goredis.Message).Payload != "0" {
			t.Errorf("the release said %v, %v", m, err)
		}
		if rdb.Exists(ctx, key).Val() != 0 {
			t.Error("the lock is still there")
		}

		var w woken
		add(t, listen(t, s, &w), key)
		if err := rdb.Eval(ctx, javaLock, []string{key}, 30000, java).Err(); err != goredis.Nil {
			t.Fatalf("a Java process cannot lock: %v", err)
		}
		try(t, a, &l, false)
		release(t, a, &l, false)
		rest, err := a.(drivers.Remainer).Remaining(ctx, &l)
		if err != nil || rest < 20*time.Second || rest > 30*time.Second {
			t.Errorf("Remaining %v, %v, of a Java process' 30 s", rest, err)
		}
		rdb.Eval(ctx, javaFrees, []string{key, channel})
		testwait.Until(t, "a Java process' unlock wakes", func() bool { return w.count(key) > 0 })
		try(t, a, &l, true)
	})
}

// TestRedissonRemaining uses the reply to the refused try, but not for another key, nor after the lease is over.
func TestRedissonRemaining(t *testing.T) {
	forBoth(t, func(t *testing.T, driver string) {
		cfg := drivers.Config{Addrs: plainRedis(t), Lock: "redisson", Conns: 1}
		s, rdb := open(t, driver, cfg), bare(t, cfg)
		a, b := session(t, s, 0), session(t, s, 1)
		la := drivers.Lease{Key: "k", TTL: time.Minute}
		lb := la
		try(t, a, &la, true)
		try(t, b, &lb, false)
		asks := func(key string) (time.Duration, int64) {
			before := calls(t, rdb)["pttl"]
			rest, err := b.(drivers.Remainer).Remaining(t.Context(), &drivers.Lease{Key: key})
			if err != nil {
				t.Fatal(err)
			}
			return rest, calls(t, rdb)["pttl"] - before
		}
		if rest, n := asks("k"); n != 0 || rest < 50*time.Second || rest > time.Minute {
			t.Errorf("%d commands, %v", n, rest)
		}
		if rest, n := asks("other"); n != 1 || rest != 0 {
			t.Errorf("another key: %d commands, %v", n, rest)
		}
		testwait.Until(t, "a try is refused before the lease is over", func() bool {
			rdb.PExpire(t.Context(), "k", 20*time.Millisecond)
			held, err := b.Try(t.Context(), &lb)
			if err != nil {
				t.Fatal(err)
			}
			if held {
				release(t, b, &lb, true)
				try(t, a, &la, true)
			}
			return !held
		})
		testwait.Until(t, "the lease is over", func() bool { return rdb.Exists(t.Context(), "k").Val() == 0 })
		testwait.Until(t, "it is asked again", func() bool { rest, n := asks("k"); return n == 1 && rest == 0 })
	})
}

// TestFence keeps the counter through releases and expiries, and Clean deletes it.
func TestFence(t *testing.T) {
	forEach(t, func(t *testing.T, driver string, cfg drivers.Config) {
		cfg.Lock = "fenced"
		s, rdb := open(t, driver, cfg), bare(t, cfg)
		a := session(t, s, 0)
		l := drivers.Lease{Key: cfg.Prefix + "k", TTL: time.Minute}
		counter := cfg.Prefix + "fence:{" + l.Key + "}"
		for want := uint64(1); want <= 3; want++ {
			try(t, a, &l, true)
			if ttl := rdb.PTTL(t.Context(), counter).Val(); l.Fence != want || ttl <= 24*time.Hour || ttl > 24*time.Hour+l.TTL {
				t.Errorf("fence %d, want %d; the counter's TTL is %v", l.Fence, want, ttl)
			}
			release(t, a, &l, true)
		}
		rdb.Set(t.Context(), counter, "no number", 0)
		if held, err := a.Try(t.Context(), &l); held || !drivers.NoEffect(err) || rdb.Exists(t.Context(), l.Key).Val() != 0 {
			t.Errorf("with a broken counter: %v, %v", held, err)
		}
		if err := s.(drivers.Cleaner).Clean(t.Context(), []string{l.Key}); err != nil {
			t.Fatal(err)
		}
		if keys := rdb.Keys(t.Context(), cfg.Prefix+"*").Val(); len(keys) != 0 {
			t.Errorf("Clean leaves %q", keys)
		}
	})
}
