package redis_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/drivertest"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
	"github.com/lockbench/lockbench/drivers/testwait"
)

func blocker(t *testing.T, s drivers.Session) drivers.Blocker {
	t.Helper()
	b, ok := drivers.As[drivers.Blocker](s)
	if !ok {
		t.Fatal("no Blocker")
	}
	return b
}

// TestTokens checks what releases leave behind: one token, which expires by itself and is deleted with the key.
func TestTokens(t *testing.T) {
	forEach(t, func(t *testing.T, driver string, cfg drivers.Config) {
		for _, cfg.Wakes = range []bool{false, true} {
			cfg.Blocks = true
			s, rdb := open(t, driver, cfg), bare(t, cfg)
			a := session(t, s, 0)
			l := drivers.Lease{Key: cfg.Prefix + "k", TTL: time.Minute}
			tokens := l.Key + ":tokens"
			if owned, err := a.Release(t.Context(), &l); owned || err != nil {
				t.Fatalf("Release of nothing = %v, %v", owned, err)
			}
			if n := rdb.Exists(t.Context(), tokens).Val(); n != 0 {
				t.Error("a release of nothing has left a token")
			}
			for range 3 {
				try(t, a, &l, true)
				release(t, a, &l, true)
			}
			if n := rdb.LLen(t.Context(), tokens).Val(); n != 1 {
				t.Errorf("%d tokens after three releases", n)
			}
			if ttl := rdb.PTTL(t.Context(), tokens).Val(); ttl <= 0 || ttl > 10*time.Second {
				t.Errorf("a token lives for %v", ttl)
			}
			if woken, err := blocker(t, a).Block(t.Context(), &l, time.Millisecond); !woken || err != nil {
				t.Errorf("Block = %v, %v", woken, err)
			}
			for range 2 {
				if err := blocker(t, a).Rouse(t.Context(), &l); err != nil {
					t.Fatal(err)
				}
			}
			if n := rdb.LLen(t.Context(), tokens).Val(); n != 1 {
				t.Errorf("%d tokens after two Rouse", n)
			}
			if err := s.(drivers.Cleaner).Clean(t.Context(), []string{l.Key}); err != nil {
				t.Fatal(err)
			}
			if n := rdb.Exists(t.Context(), tokens).Val(); n != 0 {
				t.Error("Clean leaves the tokens")
			}
		}
	})
}

// TestBlockPublishes wakes listeners as well, if both are configured.
func TestBlockPublishes(t *testing.T) {
	forEach(t, func(t *testing.T, driver string, cfg drivers.Config) {
		cfg.Wakes, cfg.Blocks = true, true
		s := open(t, driver, cfg)
		var w woken
		add(t, listen(t, s, &w), cfg.Prefix+"k")
		handOver(t, session(t, s, 0), cfg.Prefix+"k")
		testwait.Until(t, "the release is heard", func() bool { return w.count(cfg.Prefix+"k") == 1 })
	})
}

// TestBlockWhileClosing closes the service under a sleeper.
func TestBlockWhileClosing(t *testing.T) {
	forEach(t, func(t *testing.T, driver string, cfg drivers.Config) {
		d, _ := drivers.Lookup(driver)
		cfg.Blocks = true
		s, err := d.Open(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		a := session(t, s, 0)
		l := drivers.Lease{Key: cfg.Prefix + "k", TTL: time.Minute}
		if woken, err := blocker(t, a).Block(t.Context(), &l, time.Millisecond); woken || err != nil { // connects
			t.Fatalf("Block = %v, %v", woken, err)
		}
		var asleep sync.WaitGroup
		asleep.Go(func() {
			if _, err := blocker(t, a).Block(context.Background(), &l, time.Minute); drivers.ClassOf(err) != drivers.ClassClosed {
				t.Errorf("Block = %v (%s), want class closed", err, drivers.ClassOf(err))
			}
		})
		s.Close()
		asleep.Wait()
		if _, err := blocker(t, a).Block(t.Context(), &l, time.Minute); drivers.ClassOf(err) != drivers.ClassClosed {
			t.Errorf("Block after Close = %v, want class closed", err)
		}
		if _, err := s.Session(t.Context(), 1); drivers.ClassOf(err) != drivers.ClassClosed {
			t.Errorf("Session after Close = %v, want class closed", err)
		}
	})
}

// TestBlockAfterACut: a sleeper whose connection has broken gets an error and can sleep again.
func TestBlockAfterACut(t *testing.T) {
	if testing.Short() {
		t.Skip("a connection that breaks: make test-all")
	}
	proxy := drivertest.Through(t, servertest.Redis(t, servers.Options{}).URL())[0]
	a := session(t, open(t, "rueidis", drivers.Config{Addrs: []string{proxy.Addr()}, Blocks: true, IOTimeout: 200 * time.Millisecond}), 0)
	l := drivers.Lease{Key: "k", TTL: time.Minute}
	block := func(want bool) {
		t.Helper()
		testwait.Until(t, fmt.Sprintf("Block works: %t", want), func() bool {
			woken, err := blocker(t, a).Block(t.Context(), &l, time.Millisecond)
			if woken {
				t.Errorf("Block = %v, %v", woken, err)
			}
			return (err == nil) == want // a machine that stalls for longer than IOTimeout makes it fail as well
		})
	}
	block(true)
	restore := proxy.Outage()
	block(false)
	restore()
	block(true)
	restore = proxy.Mute()
	block(false)
	restore()
	block(true)
}

// TestBlockLogsIn sleeps with a password, in a database, and gets the error for what is not permitted.
func TestBlockLogsIn(t *testing.T) {
	server := startRedis(t, servers.Options{})
	address := "unix://" + server.address()
	rdb := bare(t, drivers.Config{Addrs: []string{address}})
	if err := rdb.Do(t.Context(), "ACL", "SETUSER", "u", "on", ">secret", "~*", "&*", "+@all", "-blpop").Err(); err != nil {
		t.Fatal(err)
	}
	cfg := drivers.Config{Addrs: []string{address}, Username: "u", Password: "secret", Database: "2", Blocks: true}
	a := session(t, open(t, "rueidis", cfg), 0)
	l := drivers.Lease{Key: "k", TTL: time.Minute}
	for range 2 { // the connection stays in step
		if _, err := blocker(t, a).Block(t.Context(), &l, time.Millisecond); drivers.ClassOf(err) != drivers.ClassAuth {
			t.Errorf("Block = %v, want class auth", err)
		}
	}
	if err := rdb.Do(t.Context(), "ACL", "SETUSER", "u", "+blpop").Err(); err != nil {
		t.Fatal(err)
	}
	try(t, a, &l, true)
	release(t, a, &l, true)
	if woken, err := blocker(t, a).Block(t.Context(), &l, time.Minute); !woken || err != nil {
		t.Errorf("Block = %v, %v", woken, err)
	}
}
