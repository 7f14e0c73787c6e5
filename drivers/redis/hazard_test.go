// Hazards that strike between two commands of a design.
package redis_test

import (
	"context"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/drivertest"
	"github.com/lockbench/lockbench/drivers/fault"
	"github.com/lockbench/lockbench/drivers/redis"
	"github.com/lockbench/lockbench/drivers/redis/goredis"
	"github.com/lockbench/lockbench/drivers/redis/rueidis"
	"github.com/lockbench/lockbench/drivers/testwait"
)

// stepped is a connection that calls before, once, when its next command of that name is about to be sent.
type stepped struct {
	redis.Conn
	name   string
	before func()
}

func (s *stepped) Do(ctx context.Context, args []string, key int) (redis.Reply, error) {
	if before := s.before; before != nil && args[0] == s.name {
		s.before = nil
		before()
	}
	return s.Conn.Do(ctx, args, key)
}

// openStepped opens a service whose connection is the returned one.
func openStepped(t *testing.T, driver string, cfg drivers.Config) (drivers.Service, *stepped) {
	dial := map[string]func(context.Context, redis.Options) (redis.Conn, error){"go-redis": goredis.Dial, "rueidis": rueidis.Dial}[driver]
	s := &stepped{}
	return drivertest.Open(t, redis.Driver{Dial: func(ctx context.Context, o redis.Options) (redis.Conn, error) {
		conn, err := dial(ctx, o)
		s.Conn = conn
		return s, err
	}}, cfg), s
}

// expired returns a lease whose holder is gone and whose stamp is past.
func expired(t *testing.T, cfg drivers.Config) drivers.Lease {
	l := drivers.Lease{Key: "k", TTL: time.Minute}
	bare(t, cfg).Set(t.Context(), l.Key, "1000.5", 0)
	return l
}

// TestTwoSteal lets a second waiter take an expired lock before the command by which the first one takes it: both hold it
// with setnx-steal, and one with getset.
func TestTwoSteal(t *testing.T) {
	for _, test := range []struct {
		lock, command string
		both          bool
	}{{"setnx-steal", "DEL", true}, {"getset", "GETSET", false}} {
		forBoth(t, func(t *testing.T, driver string) {
			cfg := drivers.Config{Addrs: plainRedis(t), Lock: test.lock}
			svc, conn := openStepped(t, driver, cfg)
			a, b := session(t, svc, 0), session(t, open(t, driver, cfg), 0)
			la := expired(t, cfg)
			lb := la
			conn.name, conn.before = test.command, func() { try(t, b, &lb, true) }
			try(t, a, &la, test.both)
		})
	}
}

// TestStealOfAReleased reads no stamp, because the holder has just released, and then meets another client's lock.
func TestStealOfAReleased(t *testing.T) {
	forBoth(t, func(t *testing.T, driver string) {
		cfg := drivers.Config{Addrs: plainRedis(t), Lock: "setnx-steal"}
		svc, conn := openStepped(t, driver, cfg)
		a, b := session(t, svc, 0), session(t, open(t, driver, cfg), 0)
		la := drivers.Lease{Key: "k", TTL: time.Minute}
		lb := la
		try(t, b, &lb, true)
		conn.name, conn.before = "GET", func() { release(t, b, &lb, true) }
		try(t, a, &la, false)
		try(t, b, &lb, true)
	})
}

// TestRetries drops the reply to a DEL. With retries go-redis sends it again, and deletes the lock of the client that has
// come since.
func TestRetries(t *testing.T) {
	if testing.Short() {
		t.Skip("a connection that loses a reply: make test-all")
	}
	for retries, wrong := range map[int]bool{0: false, 100: true} {
		cfg := drivers.Config{Addrs: plainRedis(t), Lock: "set-nx-del"}
		proxy := drivertest.Through(t, cfg.Addrs...)[0]
		through := cfg
		through.Addrs, through.IOTimeout, through.Retries = []string{proxy.Addr()}, time.Second, retries
		a, b, rdb := session(t, open(t, "go-redis", through), 0), session(t, open(t, "go-redis", cfg), 0), bare(t, cfg)
		la := drivers.Lease{Key: "k", TTL: time.Minute}
		lb := la
		try(t, a, &la, true)
		lost := proxy.Drop(fault.Replies)
		released := make(chan bool)
		go func() {
			_, err := a.Release(t.Context(), &la)
			released <- err == nil
		}()
		testwait.Until(t, "the reply to the DEL is lost", lost)
		if n := rdb.Exists(t.Context(), la.Key).Val(); n != 0 {
			t.Errorf("%d retries: the DEL has had no effect", retries)
		}
		try(t, b, &lb, true)
		proxy.Resume() // until then the library makes no connection to send it on again
		if answered := <-released; answered != wrong {
			t.Errorf("%d retries: the release was answered: %v", retries, answered)
		}
		release(t, b, &lb, !wrong)
	}
}

// TestRetriesRejected asks for retries where they are not possible.
func TestRetriesRejected(t *testing.T) {
	for _, test := range []struct {
		driver string
		cfg    drivers.Config
	}{
		{"go-redis", drivers.Config{Retries: -1}},
		{"go-redis", drivers.Config{Retries: 1, Topology: drivers.TopologyCluster}},
		{"rueidis", drivers.Config{Retries: 1}},
	} {
		d, err := drivers.Lookup(test.driver)
		if err != nil {
			t.Fatal(err)
		}
		test.cfg.Addrs = plainRedis(t)
		if s, err := d.Open(t.Context(), test.cfg); err == nil {
			s.Close()
			t.Errorf("%s opens with %d retries in topology %q", test.driver, test.cfg.Retries, test.cfg.Topology)
		}
	}
}
