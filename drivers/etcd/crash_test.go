package etcd

import (
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/testwait"
)

// The lease of a client that dies expires by itself. It is not revoked, neither then nor when the service is closed,
// which revokes the leases of live clients; and those are kept alive over the connection that they share.
func TestCrashLeavesItsLease(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a client that dies: make test-all")
	}
	urls := relaxed(t, 1).URLs()
	watcher := open(t, drivers.Config{Addrs: urls})
	const ttl = 2 // seconds, the minimum
	s := open(t, drivers.Config{Addrs: urls, TTL: ttl * time.Second})
	dead, second, living := client(t, s, 0), client(t, s, 1), client(t, s, 2)
	lasts := func(id clientv3.LeaseID) bool {
		t.Helper()
		answer, err := watcher.conns[0].TimeToLive(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return answer.TTL >= 0 // in whole seconds; otherwise -1
	}
	try(t, dead, "k", true)
	held := try(t, living, "held", true)
	first, kept := dead.live.id, living.live.id
	dead.Crash()
	if !lasts(first) {
		t.Error("the lease of a dead client is gone at once")
	}
	if _, known := s.leases[first]; known {
		t.Error("the service still minds the lease of a dead client")
	}
	testwait.Until(t, "the lease of a dead client runs out", func() bool { return !lasts(first) })
	if keys(t, s, "k") != 0 || !lasts(kept) || keys(t, s, "held") != 1 {
		t.Error("the lease that has run out has left its key, or taken another client's lease along")
	}
	release(t, living, held, true)

	last := second.live.id
	second.Crash()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if !lasts(last) || lasts(kept) {
		t.Errorf("when the service has closed, the lease of a dead client lasts: %v; that of a living one: %v", lasts(last), lasts(kept))
	}
}

// A probe makes no key.
func TestProbeLeavesNothing(t *testing.T) {
	t.Parallel()
	s := open(t, drivers.Config{Addrs: relaxed(t, 1).URLs()})
	for range 3 {
		if err := s.Probe(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	answer, err := s.conns[0].Get(t.Context(), "", clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err != nil || answer.Count != 0 {
		t.Errorf("there are %d keys (%v)", answer.Count, err)
	}
}
