package redis_test

import (
	"context"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/testwait"
)

// woken collects wake-ups.
type woken struct {
	mu   sync.Mutex
	keys map[string]int
}

func (w *woken) wake(key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.keys == nil {
		w.keys = map[string]int{}
	}
	w.keys[key]++
}

func (w *woken) count(key string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.keys[key]
}

func listen(t *testing.T, s drivers.Service, w *woken) drivers.Listener {
	t.Helper()
	l, err := s.(drivers.Subscriber).Listen(within(t, time.Minute), w.wake)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func add(t *testing.T, l drivers.Listener, key string) {
	t.Helper()
	if err := l.Add(within(t, time.Minute), key); err != nil {
		t.Fatal(err)
	}
}

// handOver acquires and releases key once.
func handOver(t *testing.T, s drivers.Session, key string) {
	t.Helper()
	l := drivers.Lease{Key: key, TTL: time.Minute}
	try(t, s, &l, true)
	release(t, s, &l, true)
}

// TestUnheldReleaseWakesNobody releases what is not held.
func TestUnheldReleaseWakesNobody(t *testing.T) {
	forEach(t, func(t *testing.T, driver string, cfg drivers.Config) {
		cfg.Wakes = true
		s := open(t, driver, cfg)
		a, b := session(t, s, 0), session(t, s, 1)
		var w woken
		l := listen(t, s, &w)
		key := cfg.Prefix + "k"
		add(t, l, key)
		la := drivers.Lease{Key: key, TTL: time.Minute}
		lb := drivers.Lease{Key: key, TTL: time.Minute, Owner: "someone else"}
		try(t, a, &la, true)
		release(t, b, &lb, false)
		release(t, a, &la, true)
		testwait.Until(t, "the owner's release wakes", func() bool { return w.count(key) > 0 })
		if n := w.count(key); n != 1 {
			t.Errorf("%d wake-ups for one release", n)
		}
	})
}

// TestListenThroughRestart adds and removes keys while the server is away.
func TestListenThroughRestart(t *testing.T) {
	if testing.Short() {
		t.Skip("servers go down and come back: make test-all")
	}
	forBoth(t, func(t *testing.T, driver string) {
		server := startRedis(t, servers.Options{})
		cfg := drivers.Config{Addrs: []string{server.URL()}, Wakes: true}
		s := open(t, driver, cfg)
		var w woken
		l := listen(t, s, &w)
		add(t, l, "before")
		add(t, l, "dropped")
		server.kill()
		short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if err := l.Add(short, "given up"); err == nil {
			t.Error("a key was added without a server")
		}
		added := make(chan error, 1)
		ctx := within(t, time.Minute)
		go func() { added <- l.Add(ctx, "during") }()
		l.Remove(t.Context(), "dropped") // with or without an error
		server.start()
		if err := <-added; err != nil {
			var stacks strings.Builder // shows what the listener is doing instead
			pprof.Lookup("goroutine").WriteTo(&stacks, 1)
			t.Fatalf("%v\n%s", err, stacks.String())
		}
		testwait.Until(t, "it reports the break", func() bool { return w.count("") == 1 })
		rdb := bare(t, cfg)
		for channel, n := range rdb.PubSubNumSub(t.Context(), "before:released", "during:released", "dropped:released", "given up:released").Val() {
			want := int64(1)
			if strings.HasPrefix(channel, "d") && channel != "during:released" || strings.HasPrefix(channel, "g") {
				want = 0
			}
			if n != want {
				t.Errorf("%d subscribers of %s, want %d", n, channel, want)
			}
		}
	})
}

// TestListenConcurrently adds and removes from many goroutines; in the end the server knows what is wanted.
func TestListenConcurrently(t *testing.T) {
	forBoth(t, func(t *testing.T, driver string) {
		cfg := drivers.Config{Addrs: plainRedis(t), Wakes: true}
		s := open(t, driver, cfg)
		var w woken
		l := listen(t, s, &w)
		ctx := within(t, time.Minute)
		var group sync.WaitGroup
		for i := range 20 {
			group.Go(func() {
				key := string(rune('a' + i))
				for range 20 {
					if err := l.Add(ctx, key); err != nil {
						t.Error(err)
						return
					}
					if err := l.Remove(ctx, key); err != nil {
						t.Error(err)
						return
					}
				}
				if err := l.Add(ctx, key); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if n := len(bare(t, cfg).PubSubChannels(t.Context(), "*:released").Val()); n != 20 {
			t.Errorf("%d channels, want 20", n)
		}
	})
}

// TestListenRefused subscribes to a channel that the server does not permit.
func TestListenRefused(t *testing.T) {
	forBoth(t, func(t *testing.T, driver string) {
		server := startRedis(t, servers.Options{})
		restrict(t, server, "resetchannels", "&ok*")
		s := open(t, driver, drivers.Config{Addrs: []string{server.URL()}, Wakes: true})
		var w woken
		l := listen(t, s, &w)
		if err := l.Add(within(t, time.Minute), "forbidden"); drivers.ClassOf(err) != drivers.ClassAuth {
			t.Errorf("%v (%s), want class auth", err, drivers.ClassOf(err))
		}
		add(t, l, "ok")
		a := session(t, s, 0)
		handOver(t, a, "ok")
		testwait.Until(t, "ok wakes", func() bool { return w.count("ok") == 1 })
		// A release whose publication is forbidden must leave the lock as it is: the error says "no effect".
		lease := drivers.Lease{Key: "forbidden", TTL: time.Minute}
		try(t, a, &lease, true)
		if _, err := a.Release(t.Context(), &lease); !drivers.NoEffect(err) {
			t.Errorf("%v is not refused", err)
		}
		try(t, a, &drivers.Lease{Key: "forbidden", TTL: time.Minute}, false)
	})
}

// TestServiceCloseEndsListeners leaves a listener open; goleak finds what is left.
func TestServiceCloseEndsListeners(t *testing.T) {
	forEach(t, func(t *testing.T, driver string, cfg drivers.Config) {
		cfg.Wakes = true
		d, _ := drivers.Lookup(driver)
		s, err := d.Open(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		l, err := s.(drivers.Subscriber).Listen(t.Context(), func(string) {})
		if err != nil {
			t.Fatal(err)
		}
		add(t, l, "k")
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if err := l.Add(t.Context(), "k"); drivers.ClassOf(err) != drivers.ClassClosed {
			t.Errorf("%v (%s), want class closed", err, drivers.ClassOf(err))
		}
	})
}
