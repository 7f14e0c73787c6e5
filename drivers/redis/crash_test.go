// Clients that die, and probes.
package redis_test

import (
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/testwait"
)

// A client that sleeps on the server has its own connection, which ends with it; the next client with its number gets
// another one.
func TestCrashEndsItsConnection(t *testing.T) {
	cfg := drivers.Config{Addrs: plainRedis(t), Blocks: true}
	forBoth(t, func(t *testing.T, driver string) {
		cfg := cfg
		cfg.Prefix = "test:" + t.Name() + ":"
		s, rdb := open(t, driver, cfg), bare(t, cfg)
		asleep := func() int { return strings.Count(rdb.ClientList(t.Context()).Val(), "cmd=blpop") }
		l := drivers.Lease{Key: cfg.Prefix + "k", TTL: time.Minute}
		for range 3 {
			dead := session(t, s, 0)
			if woken, err := blocker(t, dead).Block(t.Context(), &l, time.Millisecond); woken || err != nil {
				t.Fatalf("Block = %v, %v", woken, err)
			}
			if n := asleep(); n != 1 {
				t.Fatalf("%d connections have slept, of 1", n)
			}
			crasher, ok := drivers.As[drivers.Crasher](dead)
			if !ok {
				t.Fatal("a session with a connection of its own is no Crasher")
			}
			crasher.Crash()
			testwait.Until(t, "the connection of a dead client ends", func() bool { return asleep() == 0 })
			if _, err := blocker(t, dead).Block(t.Context(), &l, time.Millisecond); err == nil {
				t.Error("a dead client can sleep")
			}
		}
	})
}

// A probe asks the server and leaves nothing there.
func TestProbeLeavesNothing(t *testing.T) {
	forEach(t, func(t *testing.T, driver string, cfg drivers.Config) {
		s, rdb := open(t, driver, cfg), bare(t, cfg)
		for range 3 {
			if err := s.(drivers.Prober).Probe(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if keys := rdb.Keys(t.Context(), "*").Val(); len(keys) > 0 {
			t.Errorf("there are the keys %q", keys)
		}
	})
}
