package redis_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/testwait"
)

// standing is a session in line: it waits until its place has become the lock, and reports that.
type standing struct {
	drivers.Session
	lease drivers.Lease
	held  chan error // nil when it holds the lock
}

// stand makes a session wait, and returns when the server has its place.
func stand(t *testing.T, rdb *goredis.Client, cfg drivers.Config, s drivers.Session, l drivers.Lease) *standing {
	t.Helper()
	line := cfg.Prefix + "line:{" + l.Key + "}"
	before := rdb.LLen(t.Context(), line).Val()
	w := join(t.Context(), s, l)
	testwait.Until(t, "it stands in line", func() bool { return rdb.LLen(t.Context(), line).Val() > before })
	return w
}

// join makes a session wait.
func join(ctx context.Context, s drivers.Session, l drivers.Lease) *standing {
	w := &standing{s, l, make(chan error, 1)}
	go func() {
		for {
			held, err := w.Try(ctx, &w.lease)
			if held || err != nil {
				w.held <- err
				return
			}
			if err := w.Session.(drivers.Waiter).Wait(ctx, &w.lease); err != nil {
				w.held <- err
				return
			}
		}
	}()
	return w
}

func (w *standing) gets(t *testing.T, after string) {
	t.Helper()
	select {
	case err := <-w.held:
		if err != nil {
			t.Fatalf("after %s: %v", after, err)
		}
	case <-time.After(time.Minute):
		t.Fatalf("it does not get the lock after %s", after)
	}
}

func (w *standing) waits(t *testing.T) {
	t.Helper()
	select {
	case err := <-w.held:
		t.Fatalf("it has got the lock out of turn, or an error: %v", err)
	default:
	}
}

// fairCases runs a test on every library and server, with two services: two processes.
func fairCases(t *testing.T, test func(t *testing.T, rdb *goredis.Client, cfg drivers.Config, one, two drivers.Service, l drivers.Lease)) {
	forEach(t, func(t *testing.T, driver string, cfg drivers.Config) {
		cfg.Lock = "fair"
		test(t, bare(t, cfg), cfg, open(t, driver, cfg), open(t, driver, cfg), drivers.Lease{Key: cfg.Prefix + "k", TTL: time.Minute})
	})
}

// TestFairHandOver hands the lock down a line of two processes. Each release publishes to one inbox, and the notified
// client sends no command before its own release.
func TestFairHandOver(t *testing.T) {
	fairCases(t, func(t *testing.T, rdb *goredis.Client, cfg drivers.Config, one, two drivers.Service, l drivers.Lease) {
		heard := rdb.PSubscribe(t.Context(), cfg.Prefix+"*")
		defer heard.Close()
		if _, err := heard.Receive(t.Context()); err != nil {
			t.Fatal(err)
		}
		first := session(t, one, 0)
		held := l
		try(t, first, &held, true)
		var line []*standing
		for i, svc := range []drivers.Service{one, two, one, two} {
			line = append(line, stand(t, rdb, cfg, session(t, svc, 1+i), l))
		}
		var holder drivers.Session = first
		barger := session(t, two, 9)
		inboxes := map[string]int{}
		for i, next := range line {
			release(t, holder, &held, true)
			if rdb.Exists(t.Context(), l.Key).Val() == 0 { // before another command repairs it
				t.Errorf("release %d leaves the lock free although a client waits", i)
			}
			try(t, barger, &drivers.Lease{Key: l.Key, TTL: time.Minute}, false)
			next.gets(t, fmt.Sprint("release ", i))
			if left := time.Until(next.lease.ValidUntil); left <= 30*time.Second || left > time.Minute {
				t.Errorf("the lease is said to last for another %v of a minute", left)
			}
			m, err := heard.ReceiveTimeout(t.Context(), time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			message := m.(*goredis.Message)
			inboxes[message.Channel]++
			if !strings.HasPrefix(message.Payload, next.lease.Owner+" ") {
				t.Errorf("release %d tells %q, owner %q is next", i, message.Payload, next.lease.Owner)
			}
			for _, other := range line[i+1:] {
				other.waits(t)
			}
			holder, held = next, next.lease
		}
		release(t, holder, &held, true)
		if len(inboxes) != 2 {
			t.Errorf("told in %v: want two inboxes, twice each", inboxes)
		}
		if keys := rdb.Keys(t.Context(), cfg.Prefix+"*").Val(); len(keys) != 0 {
			t.Errorf("left behind: %q", keys)
		}
		if m, err := heard.ReceiveTimeout(t.Context(), 20*time.Millisecond); err == nil {
			t.Errorf("one message too many: %v", m)
		}
	})
}

// TestFairTryTakesNoPlace: clients that never wait (-wait none) are refused.
func TestFairTryTakesNoPlace(t *testing.T) {
	fairCases(t, func(t *testing.T, rdb *goredis.Client, cfg drivers.Config, one, two drivers.Service, l drivers.Lease) {
		a, b, c := session(t, one, 0), session(t, two, 0), session(t, two, 1)
		la, lb := l, l
		try(t, a, &la, true)
		try(t, b, &lb, false)
		try(t, b, &lb, false)
		release(t, a, &la, true)
		try(t, c, &lb, true)
	})
}

// TestFairByPolling stands in line from Try to Try, and loses the place by staying away.
func TestFairByPolling(t *testing.T) {
	forEach(t, func(t *testing.T, driver string, cfg drivers.Config) {
		cfg.Lock, cfg.Polls = "fair", true
		s := open(t, driver, cfg)
		var sessions []drivers.Session
		var leases []*drivers.Lease
		for i := range 4 {
			sessions = append(sessions, session(t, s, i))
			leases = append(leases, &drivers.Lease{Key: cfg.Prefix + "k", TTL: time.Minute, Deadline: time.Now().Add(time.Hour)})
			try(t, sessions[i], leases[i], i == 0)
		}
		for i := range 3 {
			release(t, sessions[i], leases[i], true)
			for j := 3; j > i+1; j-- {
				try(t, sessions[j], leases[j], false)
			}
			try(t, sessions[i+1], leases[i+1], true)
			if left := time.Until(leases[i+1].ValidUntil); left <= 30*time.Second || left > time.Minute {
				t.Errorf("the lease is said to last for another %v of a minute", left)
			}
		}

		// A client that leaves gets nothing, however long its place would have been kept.
		try(t, sessions[0], leases[0], false)
		if err := sessions[0].(drivers.Waiter).Leave(t.Context(), leases[0]); err != nil {
			t.Fatal(err)
		}
		// A place is kept until the deadline and no longer, by the server's clock and from the time of the request.
		impatient := &drivers.Lease{Key: cfg.Prefix + "k", TTL: time.Minute, Deadline: time.Now().Add(20 * time.Millisecond)}
		try(t, sessions[2], impatient, false)
		rdb := bare(t, cfg)
		testwait.Until(t, "the place ends", func() bool { return rdb.Time(t.Context()).Val().After(keptUntil(t, rdb, cfg, impatient.Key)) })
		release(t, sessions[3], leases[3], true)
		try(t, sessions[1], leases[1], true)
		release(t, sessions[1], leases[1], true)

		// A Try without an answer may have a place, or the lock: Release gives up whatever it is.
		try(t, sessions[0], leases[0], true)
		try(t, sessions[1], leases[1], false)
		release(t, sessions[1], leases[1], false)
		try(t, sessions[2], leases[2], false)
		release(t, sessions[0], leases[0], true)
		try(t, sessions[1], leases[1], false) // it is behind now
		try(t, sessions[2], leases[2], true)
	})
}

// keptUntil returns until when the first place in a line is kept, by the server's clock.
func keptUntil(t *testing.T, rdb *goredis.Client, cfg drivers.Config, key string) time.Time {
	t.Helper()
	place := rdb.LIndex(t.Context(), cfg.Prefix+"line:{"+key+"}", 0).Val()
	kept, _, _ := strings.Cut(place, " ")
	ms, err := strconv.ParseInt(kept, 10, 64)
	if err != nil {
		t.Fatalf("the place %q: %v", place, err)
	}
	return time.UnixMilli(ms)
}

// cancelledAfterStanding returns a context that ends when a client is in line.
func cancelledAfterStanding(t *testing.T, rdb *goredis.Client, cfg drivers.Config, key string) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		for t.Context().Err() == nil && rdb.LLen(t.Context(), cfg.Prefix+"line:{"+key+"}").Val() == 0 {
			time.Sleep(time.Millisecond)
		}
	}()
	return ctx
}

// TestFairStalePlace drops expired places, whoever had them.
func TestFairStalePlace(t *testing.T) {
	fairCases(t, func(t *testing.T, rdb *goredis.Client, cfg drivers.Config, one, two drivers.Service, l drivers.Lease) {
		a := session(t, one, 0)
		la := l
		try(t, a, &la, true)
		line := cfg.Prefix + "line:{" + l.Key + "}"
		past := time.Now().Add(-time.Second).UnixMilli()
		for i := range 3 {
			rdb.RPush(t.Context(), line, fmt.Sprintf("%d 60000 dead%d %sinbox:dead", past, i, cfg.Prefix))
		}
		w := stand(t, rdb, cfg, session(t, two, 0), l)
		release(t, a, &la, true)
		w.gets(t, "a release into a line of dead waiters")
		rdb.RPush(t.Context(), line, fmt.Sprintf("%d 60000 dead %sinbox:dead", past, cfg.Prefix))
		release(t, w, &w.lease, true)
		try(t, a, &la, true)
		if n := rdb.Exists(t.Context(), line).Val(); n != 0 {
			t.Error("the line is still there")
		}
	})
}

// TestFairLeave gives up a place, and the lock that came in the meantime. Clean deletes the line, too.
func TestFairLeave(t *testing.T) {
	fairCases(t, func(t *testing.T, rdb *goredis.Client, cfg drivers.Config, one, two drivers.Service, l drivers.Lease) {
		line := cfg.Prefix + "line:{" + l.Key + "}"
		a, b := session(t, one, 0), session(t, two, 0)
		la, lb := l, l
		for _, granted := range []bool{false, true} {
			try(t, a, &la, true)
			try(t, b, &lb, false)
			b.(drivers.Waiter).Wait(cancelledAfterStanding(t, rdb, cfg, l.Key), &lb)
			if n := rdb.LLen(t.Context(), line).Val(); n != 1 {
				t.Fatalf("%d in line", n)
			}
			if ttl := rdb.PTTL(t.Context(), line).Val(); ttl <= 0 {
				t.Errorf("the line's TTL is %v", ttl)
			}
			if granted {
				release(t, a, &la, true)
			}
			if err := b.(drivers.Waiter).Leave(t.Context(), &lb); err != nil {
				t.Fatal(err)
			}
			if n := rdb.LLen(t.Context(), line).Val(); n != 0 {
				t.Errorf("%d in line after it left", n)
			}
			release(t, a, &la, !granted)
		}
		try(t, a, &la, true)
		b.(drivers.Waiter).Wait(cancelledAfterStanding(t, rdb, cfg, l.Key), &lb)
		if err := one.(drivers.Cleaner).Clean(t.Context(), []string{l.Key}); err != nil {
			t.Fatal(err)
		}
		if keys := rdb.Keys(t.Context(), cfg.Prefix+"*").Val(); len(keys) != 0 {
			t.Errorf("left behind: %q", keys)
		}
	})
}

// TestFairInboxBreaks cuts the inbox off just before a release: the waiters must still notice, and long before their
// places are renewed.
func TestFairInboxBreaks(t *testing.T) {
	if testing.Short() {
		t.Skip("a connection that breaks: make test-all")
	}
	forBoth(t, func(t *testing.T, driver string) {
		cfg := drivers.Config{Addrs: plainRedis(t), Lock: "fair"}
		rdb, s := bare(t, cfg), open(t, driver, cfg)
		a := session(t, s, 0)
		l := drivers.Lease{Key: "k", TTL: time.Minute}
		la := l
		for range 3 {
			try(t, a, &la, true)
			w := stand(t, rdb, cfg, session(t, s, 1), l)
			pipe := rdb.TxPipeline()
			pipe.ClientKillByFilter(t.Context(), "TYPE", "pubsub")
			if _, err := pipe.Exec(t.Context()); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			release(t, a, &la, true)
			w.gets(t, "a release that its inbox may not have heard")
			if time.Since(began) > 4*time.Second {
				t.Error("only when its place was about to end")
			}
			release(t, w, &w.lease, true)
		}
	})
}
