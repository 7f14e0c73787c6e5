package etcd

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/drivertest"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
	"github.com/lockbench/lockbench/drivers/testwait"
)

// relaxed returns a private etcd that answers soon.
func relaxed(t *testing.T, n int) *servers.Group[*servers.Server] {
	return servertest.Etcd(t, n, servers.Options{Durability: servers.Relaxed})
}

func open(t *testing.T, cfg drivers.Config) *service {
	t.Helper()
	if cfg.Prefix == "" {
		cfg.Prefix = "test:"
	}
	return drivertest.Open(t, driver{}, cfg).(*service)
}

func client(t *testing.T, s *service, id int) *session {
	t.Helper()
	return drivertest.SessionOf[*session](t, s, id)
}

func try(t *testing.T, c *session, key string, want bool) *drivers.Lease {
	t.Helper()
	l := &drivers.Lease{Key: key, TTL: time.Minute}
	held, err := c.Try(t.Context(), l)
	if err != nil || held != want {
		t.Fatalf("Try answered %t, %v; want %t", held, err, want)
	}
	return l
}

func release(t *testing.T, c *session, l *drivers.Lease, want bool) {
	t.Helper()
	owned, err := c.Release(t.Context(), l)
	if err != nil || owned != want {
		t.Fatalf("Release answered %t, %v; want %t", owned, err, want)
	}
}

// keys returns the keys under a lock's name.
func keys(t *testing.T, s *service, key string) int64 {
	t.Helper()
	answer, err := s.conns[0].Get(t.Context(), line(key), clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err != nil {
		t.Fatal(err)
	}
	return answer.Count
}

// A try that is refused makes one request and leaves nothing, and neither does a lock that was released.
func TestTryLeavesNothing(t *testing.T) {
	t.Parallel()
	s := open(t, drivers.Config{Addrs: relaxed(t, 1).URLs()})
	a, b := client(t, s, 0), client(t, s, 1)
	l := try(t, a, "k", true)
	before := s.Traffic()
	try(t, b, "k", false)
	if after := s.Traffic(); after.RoundTrips != before.RoundTrips+1 || after.Notices != 0 {
		t.Errorf("a try that was refused took the traffic from %+v to %+v", before, after)
	}
	if n := keys(t, s, "k"); n != 1 {
		t.Errorf("%d keys while one holds and one was refused", n)
	}
	release(t, a, l, true)
	if n := keys(t, s, "k"); n != 0 {
		t.Errorf("%d keys after the release", n)
	}
	again := try(t, a, "k", true) // a new key each time would extend etcd's index with every lock
	if again.Owner == l.Owner || keyOf("k", again.Owner) != keyOf("k", l.Owner) {
		t.Errorf("owner %q and then %q", l.Owner, again.Owner)
	}
	release(t, a, l, false)
	release(t, a, again, true)
}

// A request whose answer is lost may still be under way when its key is deleted. It must not make the key after that:
// its lease is gone. The session's other holds stay.
func TestUnknownOutcomeCannotComeLate(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a connection that breaks: make test-all")
	}
	e := relaxed(t, 1)
	p := drivertest.Through(t, e.URLs()...)[0]
	s := open(t, drivers.Config{Addrs: []string{p.Addr()}, IOTimeout: 5 * time.Second})
	direct := open(t, drivers.Config{Addrs: e.URLs()})
	c, other := client(t, s, 0), client(t, direct, 0)
	for _, holdsMore := range []bool{false, true} {
		var more *drivers.Lease
		if holdsMore {
			more = try(t, c, "more", true)
		}
		live := c.live
		restore := p.Mute()
		l := &drivers.Lease{Key: "k", TTL: time.Minute}
		held, err := c.Try(t.Context(), l)
		testwait.Until(t, "the server has granted it", func() bool {
			there, err := direct.conns[0].Get(t.Context(), keyOf("k", l.Owner))
			return err == nil && there.Count == 1
		})
		restore()
		if held || drivers.ClassOf(err) != drivers.ClassTimeout || drivers.NoEffect(err) {
			t.Fatalf("Try without an answer answered %t, %v", held, err)
		}
		if !holdsMore {
			testwait.Until(t, "its lease is no longer kept alive", func() bool { return c.lost(live) })
		}
		testwait.Until(t, "the connection is there again", func() bool { return s.Ping(t.Context()) == nil })
		release(t, c, l, true)
		release(t, other, try(t, other, "k", true), true)
		if holdsMore {
			try(t, other, "more", false)
			release(t, c, try(t, c, "k", true), true) // under a lease of its own
			release(t, c, more, true)
		}
		_, err = direct.conns[0].Put(t.Context(), keyOf("k", l.Owner), l.Owner, clientv3.WithLease(live.id))
		if !errors.Is(err, rpctypes.ErrLeaseNotFound) {
			t.Errorf("holds more %t: a request that comes late is answered %v", holdsMore, err)
		}
	}
}

// A release that did not get through must not leave the key locked as long as the session lives.
func TestFailedReleaseIsMadeGood(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a connection that breaks: make test-all")
	}
	e := relaxed(t, 1)
	p := drivertest.Through(t, e.URLs()...)[0]
	s := open(t, drivers.Config{Addrs: []string{p.Addr()}, IOTimeout: 5 * time.Second})
	other := client(t, open(t, drivers.Config{Addrs: e.URLs()}), 0)
	c := client(t, s, 0)
	l := try(t, c, "k", true)
	restore := p.Outage()
	if owned, err := c.Release(t.Context(), l); owned || err == nil {
		t.Fatalf("Release without a connection answered %t, %v", owned, err)
	}
	restore()
	testwait.Until(t, "the connection is there again", func() bool { return s.Ping(t.Context()) == nil })
	try(t, other, "k", false)
	release(t, c, try(t, c, "another", true), true)
	try(t, other, "k", true)
}

// A lease that ends although its holder lives, for example revoked, is noticed: the next try has a new one.
func TestRevokedLease(t *testing.T) {
	t.Parallel()
	s := open(t, drivers.Config{Addrs: relaxed(t, 1).URLs()})
	a, b := client(t, s, 0), client(t, s, 1)
	l := try(t, a, "k", true)
	revoked := a.live.id
	if _, err := s.conns[0].Revoke(t.Context(), revoked); err != nil {
		t.Fatal(err)
	}
	next := try(t, b, "k", true)
	if next.Fence <= l.Fence {
		t.Errorf("fence %d after %d", next.Fence, l.Fence)
	}
	release(t, a, l, false)
	if err := a.Ended(); err == nil || !strings.Contains(err.Error(), "the lease "+strconv.FormatInt(int64(revoked), 16)) {
		t.Errorf("it ended because of %v, want its lease", err)
	}
	try(t, a, "k", false)
	l = try(t, a, "another", true)
	release(t, b, next, true)
	if err := s.Clean(t.Context(), []string{"another"}); err != nil {
		t.Fatal(err)
	}
	release(t, a, l, false)
	if err := a.Ended(); err != nil {
		t.Errorf("its key was deleted, and it says %v", err)
	}
}

// The lease has the requested length, in whole seconds, and at least the server's minimum; it is kept alive, which is
// counted.
func TestKeepAlive(t *testing.T) {
	t.Parallel()
	e := relaxed(t, 1)
	for _, tt := range []struct {
		ttl  time.Duration
		want int64
	}{{0, 60}, {10*time.Second + 1, 11}, {time.Millisecond, 2}} {
		s := open(t, drivers.Config{Addrs: e.URLs(), TTL: tt.ttl})
		c := client(t, s, 0)
		answer, err := s.conns[0].TimeToLive(t.Context(), c.live.id)
		if err != nil || answer.GrantedTTL != tt.want {
			t.Errorf("TTL %v: granted %d s, %v; want %d s", tt.ttl, answer.GrantedTTL, err, tt.want)
		}
		if about, _, err := s.Inspect(t.Context()); err != nil || about.Session != time.Duration(tt.want)*time.Second {
			t.Errorf("TTL %v: it says that a lease lasts %v, %v; want %d s", tt.ttl, about.Session, err, tt.want)
		}
		testwait.Until(t, "a keep-alive is counted", func() bool { return !c.lost(c.live) && s.Traffic().KeepAlives > 0 })
		if n := s.Traffic().RoundTrips; n != 1 {
			t.Errorf("%d round trips for a lease", n)
		}
	}
}

// A key's name may be a prefix of another's, and contain the separator before the owner.
func TestNamesWithSlashes(t *testing.T) {
	t.Parallel()
	s := open(t, drivers.Config{Addrs: relaxed(t, 1).URLs()})
	a, b := client(t, s, 0), client(t, s, 1)
	for _, key := range []string{"k/a", "k", "k%2Fa", "k/", "k//"} {
		try(t, a, key, true)
		try(t, b, key, false)
	}
	if err := s.Clean(t.Context(), []string{"k%2Fa"}); err != nil {
		t.Fatal(err)
	}
	try(t, b, "k/a", false)
	try(t, b, "k", false)
	try(t, a, "k%2Fa", true)
}

// Closing the service ends all sessions, however many.
func TestCloseRevokes(t *testing.T) {
	t.Parallel()
	e := relaxed(t, 1)
	s := open(t, drivers.Config{Addrs: e.URLs()})
	watching := open(t, drivers.Config{Addrs: e.URLs()})
	for i := range 40 {
		try(t, client(t, s, i), fmt.Sprint("k", i), true)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	answer, err := watching.conns[0].Leases(t.Context())
	if err != nil || len(answer.Leases) != 0 {
		t.Errorf("%d leases are left, %v", len(answer.Leases), err)
	}
	if _, err := s.Session(t.Context(), 0); drivers.ClassOf(err) != drivers.ClassClosed {
		t.Errorf("a session of a closed service: %v", err)
	}
}

// An ensemble works on without a minority; without a majority it grants nothing, and its errors come in time.
func TestEnsemble(t *testing.T) {
	t.Parallel()
	e := relaxed(t, 3)
	s := open(t, drivers.Config{
		Addrs: e.URLs(), Topology: drivers.TopologyEnsemble, TTL: 20 * time.Second, IOTimeout: 2 * time.Second,
	})
	a, b := client(t, s, 0), client(t, s, 1)
	server, _, err := s.Inspect(t.Context())
	if err != nil || server.Mode != "cluster of 3" || server.Replicas != 2 {
		t.Errorf("Inspect: %+v, %v", server, err)
	}
	l := try(t, a, "k", true)
	try(t, b, "k", false)
	if err := e.Nodes[0].Kill(); err != nil {
		t.Fatal(err)
	}
	works := func(c *session, key string) bool {
		l := &drivers.Lease{Key: key}
		held, err := c.Try(t.Context(), l)
		if err != nil {
			if !drivers.NoEffect(err) {
				c.Release(t.Context(), l)
			}
			return false
		}
		owned, err := c.Release(t.Context(), l)
		return held && owned && err == nil
	}
	testwait.Until(t, "two of three members work", func() bool { return works(b, "l") })
	testwait.Until(t, "the held key is refused", func() bool { // while members elect, an answer can get lost
		held, err := b.Try(t.Context(), &drivers.Lease{Key: "k"})
		if held {
			t.Fatal("k is held, and granted once more")
		}
		return err == nil
	})
	if err := e.Nodes[1].Kill(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if held, err := b.Try(t.Context(), &drivers.Lease{Key: "m"}); held || err == nil {
			t.Errorf("Try without a majority answered %t, %v", held, err)
		}
	}
	var starting sync.WaitGroup
	for _, node := range e.Nodes[:2] {
		starting.Go(func() {
			if err := node.Restart(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	starting.Wait()
	testwait.Until(t, "three members work", func() bool { return works(b, "l") })
	testwait.Until(t, "the holder can release", func() bool {
		_, err := a.Release(t.Context(), l)
		return err == nil
	})
	testwait.Until(t, "the key is free", func() bool { return works(b, "k") })
}
