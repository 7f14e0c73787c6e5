package drivertest

// Cases about what a driver says of itself, and about a service as a whole.

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// design compares the listing with the open service.
func design(t *T) {
	names := map[string]bool{}
	for _, d := range t.Driver.Designs() {
		t.fatalIf(d.Name == "" || names[d.Name], "the design name %q is empty or listed twice", d.Name)
		names[d.Name] = true
		t.errorIf(d.Models == "", "the design %q does not say what it models", d.Name)
		if d.Traits.Session && d.Traits.Expires {
			t.Errorf("the design %q claims the traits session and expires: a hold that is kept alive does not end after its TTL", d.Name)
		}
		t.errorIf(d.Traits.MaxSessions != 0,
			"the design %q claims max_sessions, which only an open service can know", d.Name)
	}
	got := t.open(1).Traits()
	got.MaxSessions = 0
	got.Blocks = t.traits.Blocks // Config.Blocks was not set; see the case "blocks"
	opened, _ := json.Marshal(got)
	claimed, _ := json.Marshal(t.traits)
	t.fatalIf(got != t.traits, "the service has the traits %s, its design claims %s", opened, claimed)
}

// unknownLock opens a design that does not exist, with a password that must not show.
func unknownLock(t *T) {
	const password = "correct-horse-battery-staple"
	cfg := t.Config
	cfg.Lock, cfg.Clients, cfg.Password = "no-such-lock", 1, password
	svc, err := t.Driver.Open(t.ctx, cfg)
	if err == nil {
		svc.Close()
		t.Fatalf("Open accepts the lock %q", cfg.Lock)
	}
	t.fatalIf(strings.Contains(err.Error(), password), "an error of Open contains the password")
	t.fatalIf(!strings.Contains(err.Error(), cfg.Lock),
		"Open does not say what is wrong with the lock %q: %v", cfg.Lock, err)
}

// capabilities compares the claims with what the types can do.
func capabilities(t *T) {
	svc := t.open(2)
	c := t.client(svc)
	renewer, ok := drivers.As[drivers.Renewer](c.Session)
	t.errorIf(t.traits.Renews && !ok, "the trait renews is true but the session cannot renew")
	if !t.traits.Renews && ok {
		l := c.takes(t.key(), long)
		owned, err := renewer.Renew(t.ctx, l)
		t.errorIf(owned && err == nil, "Renew works (the trait renews is not claimed)")
		c.release(l, true, "the client held the key")
	}
	claim := t.traits.Waits
	t.errorIf(claim != (c.waiter != nil), "the trait waits is %v, and that the session waits is %v", claim, !claim)
	t.wakesOrNot(svc, t.traits.Wakes)
	if !t.traits.Exclusive {
		return
	}
	cfg := t.Config // without Wakes: the service may still claim to wake, but that must be true
	cfg.Clients = 1
	svc = t.openWith(cfg)
	t.fatalIf(svc.Traits().Wakes && !t.traits.Wakes, "the trait wakes is true without Config.Wakes and false with it")
	t.wakesOrNot(svc, svc.Traits().Wakes)
}

// clean must remove every trace of the given keys, however many, and nothing of others.
func clean(t *T) {
	svc := t.open(2)
	a, b := t.client(svc), t.client(svc)
	cleaner, _ := drivers.As[drivers.Cleaner](svc)
	other := a.takes(t.key(), long)
	const many = 300
	keys := make([]string, many)
	for i := range keys {
		keys[i] = t.key()
		if i%3 > 0 { // every third one is free
			a.hold(lease(keys[i], long), "the key is free")
		}
	}
	for _, names := range [][]string{nil, keys, keys} {
		err := cleaner.Clean(t.ctx, names)
		t.fatalIf(err != nil, "Clean of %d keys: %v", len(names), err)
	}
	for i, key := range keys {
		l := lease(key, long)
		if b.hold(l, fmt.Sprintf("key %d of %d was cleaned", i+1, many)); t.traits.Owned {
			b.release(l, true, "the client held the key")
		}
	}
	b.refused(lease(other.Key, long), "another client holds it; only other keys were cleaned")
	a.release(other, true, "the client held the key")
}

// probe probes and pings while a key is held.
func probe(t *T) {
	svc := t.open(2)
	a, b := t.client(svc), t.client(svc)
	l := a.takes(t.key(), long)
	over, cancel := context.WithCancel(t.ctx)
	cancel()
	if prober, ok := drivers.As[drivers.Prober](svc); ok {
		t.must("Probe", prober.Probe(t.ctx))
		t.fatalIf(prober.Probe(over) == nil, "Probe succeeds although its context is over")
	}
	if pinger, ok := drivers.As[drivers.Pinger](svc); ok {
		t.must("Ping", pinger.Ping(t.ctx))
		t.fatalIf(pinger.Ping(over) == nil, "Ping succeeds although its context is over")
	}
	b.refused(lease(l.Key, long), "another client holds the key; the service was only probed")
	a.release(l, true, "the client held the key; the service was only probed")
}

// inspect checks that the server is identified, and that its usage grows.
func inspect(t *T) {
	svc := t.open(1)
	inspector, _ := drivers.As[drivers.Inspector](svc)
	look := func() (drivers.Server, drivers.Usage) {
		server, usage, err := inspector.Inspect(t.ctx)
		t.must("Inspect", err)
		return server, usage
	}
	server, before := look()
	t.fatalIf(server.Name == "", "Inspect does not name the server")
	c, key := t.client(svc), t.key()
	const cycles = 10
	for range cycles {
		c.cycle(key)
	}
	again, after := look()
	t.fatalIf(again.Name != server.Name || again.RunID != server.RunID,
		"Inspect says %q, run %q after %q, run %q", again.Name, again.RunID, server.Name, server.RunID)
	for _, total := range []struct {
		name          string
		before, after int64
		grows         int64 // at least
	}{
		{"CPU", int64(before.CPU), int64(after.CPU), 0},
		{"Commands", before.Commands, after.Commands, 2 * cycles},
		{"BytesIn", before.BytesIn, after.BytesIn, 2 * cycles},
		{"BytesOut", before.BytesOut, after.BytesOut, 2 * cycles},
	} {
		known := total.before >= 0
		if known != (total.after >= 0) || known && total.after-total.before < total.grows {
			t.Errorf("Usage.%s was %d before %d acquisitions and releases and is %d after them",
				total.name, total.before, cycles, total.after)
		}
	}
}

// traffic checks that the service's own counts grow with use, by one answer per call, and neither by reading them nor
// shrink at the end of a session.
func traffic(t *T) {
	svc := t.open(2)
	counter, _ := drivers.As[drivers.Counter](svc)
	c, key := t.client(svc), t.key()
	c.cycle(key) // pays the costs of the first use
	before := counter.Traffic()
	const cycles = 10
	for range cycles {
		c.cycle(key)
	}
	after := counter.Traffic()
	t.errorIf(after.RoundTrips-before.RoundTrips < 2*cycles, "%d acquisitions and releases took %d round trips, "+
		"although each has heard an answer", cycles, after.RoundTrips-before.RoundTrips)
	again := counter.Traffic()
	t.errorIf(again.RoundTrips != after.RoundTrips, "counting has cost %d round trips", again.RoundTrips-after.RoundTrips)
	c.close()
	end := counter.Traffic()
	t.errorIf(end.RoundTrips < again.RoundTrips || end.Notices < again.Notices || end.KeepAlives < again.KeepAlives,
		"Traffic is no total: it was %+v, and is %+v after the end of a session", again, end)
}

// crowd opens thousands of sessions, up to the service's limit, and uses each on its own key.
func crowd(t *T) {
	const workers, memory = 32, 256 << 20
	size, perSession := 2000, 64<<10
	if t.MemoryPerSession > 0 {
		perSession = t.MemoryPerSession
		size = min(size, max(memory/perSession, workers))
	}
	if t.Config.Embedded {
		// The embedded server makes an interpreter for each script. Sessions are the driver's, and no fewer than with a
		// real server.
		size = min(size, 500)
	}
	if t.crowd > 0 {
		size = t.crowd
	}
	if t.traits.Session { // long like a lease: on busy machines, thousands of sessions are kept alive late
		t.Config.TTL = long
	}
	svc := t.open(size)
	if limit := svc.Traits().MaxSessions; limit > 0 {
		size = min(size, limit)
	}
	before := heap()
	clients := make([]*client, size)
	for i := range clients {
		clients[i] = t.client(svc)
	}
	keys := make([]string, size)
	for i := range keys {
		keys[i] = t.key()
	}
	var all sync.WaitGroup
	for w := range workers {
		t.goes(&all, func() {
			for i := w; i < size; i += workers {
				clients[i].cycle(keys[i])
			}
		})
	}
	all.Wait()
	if grown := heap() - before; grown > int64(size*perSession) {
		t.Errorf("%d sessions take %d KB each; want %d or less", size, grown/int64(size)>>10, perSession>>10)
	}
	runtime.KeepAlive(clients)
}

// heap returns the memory in use, including goroutine stacks.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}

// closing uses sessions after their service has been closed.
func closing(t *T) {
	cfg := t.Config
	cfg.Clients, cfg.Wakes = 1, true
	svc := t.openOnly(cfg)
	s := t.session(svc, 0)
	l := lease(t.key(), long)
	held, err := s.Try(t.ctx, l)
	t.fatalIf(!held || err != nil, "Try of a free key returned %v, %v", held, err)
	_, err = s.Release(t.ctx, l)
	t.must("Release", err)
	t.must("Close", svc.Close())
	if !t.traits.Exclusive {
		return // a design without exclusion may work when closed
	}
	t.ends(slack, "calls on a closed service have not returned after %v", func(ctx context.Context) {
		answer, err := s.Try(ctx, l)
		t.mustFail("Try on a closed service", answer, err)
		answer, err = s.Release(ctx, l)
		t.mustFail("Release on a closed service", answer, err)
	})
}

// goroutines uses everything that a service has, and looks for goroutines that outlive it. Many holders die meanwhile,
// whose goroutines must not outlive them either: more than the number of goroutines that sessions may share.
func goroutines(t *T) {
	const label, crashes = "drivertest", 32
	inner := &T{known: t.known, name: t.name, ctx: t.ctx, prefix: t.prefix}
	var svc drivers.Service
	pprof.Do(t.ctx, pprof.Labels(label, t.prefix), func(context.Context) { inner.guard(func() { svc = inner.usedUp() }) })
	if svc != nil && dies(t.known) {
		const dying = "drivertest-crash"
		pprof.Do(t.ctx, pprof.Labels(dying, t.prefix), func(context.Context) {
			inner.guard(func() {
				for range crashes {
					c := inner.numbered(svc, 1)
					c.hold(lease(inner.key(), long), "the key is free")
					c.crash()
					c.closed = true // it need not be closed
				}
			})
		})
		t.dwindle(dying, crashes, "goroutines of sessions that have crashed are left")
	}
	pprof.Do(t.ctx, pprof.Labels(label, t.prefix), func(context.Context) {
		for i := len(inner.cleanups) - 1; i >= 0; i-- {
			inner.guard(inner.cleanups[i])
		}
	})
	for _, f := range inner.failures {
		t.Errorf("%s", f.Text)
	}
	t.dwindle(label, 1, "goroutines outlive Service.Close")
}

// dwindle waits until there are fewer goroutines than that with a profiler label, which goroutines inherit.
func (t *T) dwindle(label string, fewer int, orElse string) {
	var left []string
	count := 0
	for start := time.Now(); time.Since(start) < slack; time.Sleep(5 * time.Millisecond) {
		if left, count = labelled(label, t.prefix); count < fewer {
			return
		}
	}
	t.Errorf("%s, %d of them:\n%s", orElse, count, strings.Join(left, "\n"))
}

// usedUp opens a service and uses what it has.
func (t *T) usedUp() drivers.Service {
	svc := t.open(2)
	a, b := t.client(svc), t.client(svc)
	key := t.key()
	if t.traits.Wakes {
		t.listen(svc).add(key)
	}
	l := a.takes(key, long)
	if b.waiter != nil && t.traits.Exclusive {
		next := lease(key, long)
		next.Deadline = time.Now().Add(settleTime)
		t.within(slack, func(ctx context.Context) { b.acquire(ctx, next) })
	}
	if r, ok := drivers.As[drivers.Renewer](a.Session); ok && t.traits.Renews {
		r.Renew(t.ctx, l)
	}
	if p, ok := drivers.As[drivers.Prober](svc); ok {
		p.Probe(t.ctx)
	}
	t.numbered(svc, 1).crash()
	return svc // The lock stays held: Close has to cope.
}
