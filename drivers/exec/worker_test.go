package exec

// Workers on real servers, killed and stopped.

import (
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/testwait"
)

// lease is one that machines under load do not outrun by chance, and the least that etcd gives.
const lease = 2 * time.Second

// log collects events.
type log struct {
	mu     sync.Mutex
	events []Event
}

func (l *log) add(e Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, e)
}

// of returns the events of a kind so far.
func (l *log) of(k Kind) (list []Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.events {
		if e.Kind == k {
			list = append(list, e)
		}
	}
	return list
}

// rival is a lock client in this process, on the same server as the workers of a test.
func rival(t *testing.T, driver string, cfg drivers.Config) drivers.Session {
	t.Helper()
	d, err := drivers.Lookup(driver)
	if err != nil {
		t.Fatal(err)
	}
	return rivalOf(t, d, cfg)
}

func rivalOf(t *testing.T, d drivers.Driver, cfg drivers.Config) drivers.Session {
	t.Helper()
	cfg.Clients = 1
	svc, err := d.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := svc.Close(); err != nil {
			t.Error(err)
		}
	})
	s, err := svc.Session(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// on returns the configuration of a lock on the shared server of its driver.
func on(t *testing.T, driver, lock string) drivers.Config {
	t.Helper()
	var unique drivers.Owners
	return drivers.Config{Lock: lock, Addrs: urls(t, driver), Prefix: "exec:" + unique.Next() + ":", TTL: lease, Polls: true}
}

// granted tries until a lock is granted, and returns the time after that.
func granted(t *testing.T, s drivers.Session, l *drivers.Lease) time.Time {
	t.Helper()
	testwait.Until(t, "the lock is granted to the other client", func() bool {
		held, err := s.Try(t.Context(), l)
		if err != nil {
			t.Fatal(err)
		}
		return held
	})
	return time.Now()
}

// A killed worker's lock comes free when its design says so, or never.
func TestKill(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("workers that die: make test-all")
	}
	for _, tt := range []struct{ driver, lock, ends string }{
		{"rueidis", "set-nx", "expires"}, {"rueidis", "setnx", "never"}, {"etcd", "lease", "session"},
	} {
		t.Run(tt.driver+"/"+tt.lock, func(t *testing.T) {
			t.Parallel()
			cfg := on(t, tt.driver, tt.lock)
			w, other := start(t, Options{Driver: tt.driver, Config: cfg}), rival(t, tt.driver, cfg)
			if tr := w.Traits(); !tr.Exclusive || tr.Session != (tt.ends == "session") || tr.Expires != (tt.ends == "expires") {
				t.Fatalf("the worker claims %+v", tr)
			}
			l := &drivers.Lease{Key: cfg.Prefix + "k", TTL: lease}
			next := *l
			began := time.Now()
			held(t, w.Session(), l)
			if w.Traits().Fenced && l.Fence == 0 || w.Traits().Owned && l.Owner == "" {
				t.Errorf("owner %q, fence %d", l.Owner, l.Fence)
			}
			if ok, err := other.Try(t.Context(), &next); err != nil || ok && time.Since(began) < lease {
				t.Errorf("Try of the worker's lock: %v, %v", ok, err)
			} else if ok {
				t.Skip("the machine stalls for as long as a lease")
			}
			d, err := w.Kill()
			if err != nil || d.State != "signal: killed" || d.Gone.Before(d.Sent) {
				t.Errorf("%+v, %v", d, err)
			}
			if tt.ends == "never" {
				r, _ := drivers.As[drivers.Remainer](other)
				if left, err := r.Remaining(t.Context(), l); left >= 0 || err != nil {
					t.Errorf("the lock still lasts %v, %v", left, err)
				}
				return
			}
			at := granted(t, other, &next)
			if tt.ends == "expires" && at.Sub(began) < lease-5*time.Millisecond {
				t.Errorf("granted %v after the worker was, whose lease lasts %v", at.Sub(began), lease)
			}
		})
	}
}

// A worker that is stopped for longer than its lease, or its session, loses the lock to another client, and writes when
// it goes on. Its watchdog cannot prevent that, and a fence tells the writes apart.
func TestLongStop(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("workers that stop: make test-all")
	}
	for _, tt := range []struct{ driver, lock string }{
		{"rueidis", "fenced"}, {"zookeeper", "sequential"},
	} {
		t.Run(tt.driver+"/"+tt.lock, func(t *testing.T) {
			t.Parallel()
			// The stop may fall between a write and the next look, and the watchdog be the first to go on: then no write
			// is stale. That is some microseconds in each write, so it does not happen every time.
			for range 5 {
				if longStop(t, tt.driver, on(t, tt.driver, tt.lock)) > 0 {
					return
				}
			}
			t.Error("no write is stale, in five stops")
		})
	}
}

// longStop returns the number of writes that were stale for certain.
func longStop(t *testing.T, driver string, cfg drivers.Config) (stale int) {
	var events log
	w, other := start(t, Options{Driver: driver, Config: cfg, Event: events.add}), rival(t, driver, cfg)
	l := &drivers.Lease{Key: cfg.Prefix + "k", TTL: lease}
	next := drivers.Lease{Key: l.Key, TTL: time.Hour}
	held(t, w.Session(), l)
	if !guarded(t, w, l) {
		return 0
	}
	testwait.Until(t, "the worker writes, or loses", func() bool { return len(events.of(Wrote)) > 2 || len(events.of(Lost)) > 0 })
	if len(events.of(Lost)) > 0 {
		return 0
	}
	stopped, err := w.Stop()
	if err != nil {
		t.Fatal(err)
	}
	at := granted(t, other, &next)
	testwait.Until(t, "two leases are over", func() bool { return time.Since(stopped) > 2*lease })
	p, err := w.Continue(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if p.Stopped != stopped || runtime.GOOS == "linux" && p.State != "T" || p.Length() < 2*lease || p.Gap < p.Length() {
		t.Errorf("%v from %v to %v, state %q, gap %v", p.Length(), p.Stopped, p.Continued, p.State, p.Gap)
	}
	if w.Traits().Renews {
		testwait.Until(t, "the watchdog tells of the loss", func() bool { return len(events.of(Lost)) > 0 })
	} else {
		testwait.Until(t, "the worker writes again", func() bool { return events.of(Wrote)[len(events.of(Wrote))-1].After.After(at) })
	}
	// A server closes the connection of a session that has expired, and the first release may find it closed.
	testwait.Until(t, "a release is answered", func() bool {
		owned, err := w.Session().Release(t.Context(), l)
		if owned {
			t.Errorf("Release of a lost lock: true, %v", err)
		}
		return err == nil
	})
	for i, e := range events.of(Wrote) {
		switch {
		case e.Count != uint64(i+1), e.Fence != l.Fence, e.Fence >= next.Fence:
			t.Errorf("write %d: %+v, with the lease %+v, before %+v", i+1, e, l, next)
		case e.After.After(at):
			stale++
		}
		if during := e.After.After(p.Stopped) && e.Read.Before(p.Continued); during {
			t.Errorf("write %d between %v and %v, while the worker was stopped", i+1, e.After, e.Read)
		}
	}
	if owned, err := other.Release(t.Context(), &next); !owned || err != nil {
		t.Errorf("Release by the other client: %v, %v", owned, err)
	}
	return stale
}

// guarded makes a worker write, and renew if it can. It reports whether the machine was quick enough for that.
func guarded(t *testing.T, w *Worker, l *drivers.Lease) bool {
	t.Helper()
	var errs []error
	if w.Traits().Renews {
		errs = append(errs, w.Watch(t.Context(), l))
	}
	for _, err := range append(errs, w.Write(t.Context(), l, 5*time.Millisecond)) {
		switch {
		case err != nil && strings.HasSuffix(err.Error(), "is lost"):
			return false
		case err != nil:
			t.Fatal(err)
		}
	}
	return true
}

// A watchdog keeps a lease beyond its end, unless the machine stalls for as long, which it tells.
func TestWatchdog(t *testing.T) {
	var events log
	w := start(t, Options{Driver: "memory", Event: events.add})
	l := &drivers.Lease{Key: "k", TTL: lease / 2}
	held(t, w.Session(), l)
	began := time.Now()
	if !guarded(t, w, l) {
		t.Skip("the machine stalls for as long as a lease")
	}
	testwait.Until(t, "only renewals can have kept the lease", func() bool {
		return time.Since(began) > 2*l.TTL || len(events.of(Lost)) > 0
	})
	owned, err := w.Session().Release(t.Context(), l)
	if lost := len(events.of(Lost)) > 0; err != nil || owned == lost {
		t.Errorf("Release: %t, %v; lost: %t", owned, err, lost)
	}
}

// What a worker does with a lease is over when it has released it.
func TestRelease(t *testing.T) {
	var events log
	w := start(t, Options{Driver: "memory", Event: events.add})
	s := w.Session()
	l := &drivers.Lease{Key: "k", TTL: time.Hour}
	for round := uint64(1); round <= 3; round++ {
		held(t, s, l)
		if l.Fence != round || l.Owner == "" {
			t.Errorf("round %d: fence %d, owner %q", round, l.Fence, l.Owner)
		}
		for _, err := range []error{w.Watch(t.Context(), l), w.Write(t.Context(), l, time.Millisecond)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		before := len(events.of(Wrote))
		testwait.Until(t, "it writes", func() bool { return len(events.of(Wrote)) > before })
		if owned, err := s.Release(t.Context(), l); !owned || err != nil {
			t.Fatalf("Release: %v, %v", owned, err)
		}
		after := len(events.of(Wrote))
		if again, err := s.Release(t.Context(), l); again || err != nil {
			t.Errorf("a second Release: %v, %v", again, err)
		}
		if err := w.Write(t.Context(), l, time.Millisecond); err == nil || !strings.Contains(err.Error(), "lease: 1 is not held") {
			t.Errorf("a write without a lock: %v", err)
		}
		if n := len(events.of(Wrote)); n != after {
			t.Errorf("%d writes after the release", n-after)
		}
	}
	if lost := events.of(Lost); lost != nil {
		t.Errorf("lost: %+v", lost)
	}
}

// A lock that does not renew gives no Renewer, and no watchdog.
func TestWithoutRenewals(t *testing.T) {
	cfg := on(t, "rueidis", "setnx")
	w := start(t, Options{Driver: "rueidis", Config: cfg})
	if _, ok := drivers.As[drivers.Renewer](w.Session()); ok {
		t.Error("it is a Renewer")
	}
	l := &drivers.Lease{Key: cfg.Prefix + "k", TTL: lease}
	held(t, w.Session(), l)
	if err := w.Watch(t.Context(), l); err == nil || !strings.Contains(err.Error(), "the lock does not renew") {
		t.Errorf("Watch: %v", err)
	}
}

// A stop too short to be told, and stops that are none.
func TestStopErrors(t *testing.T) {
	w := start(t, Options{Driver: "memory"})
	if _, err := w.Continue(t.Context()); err == nil {
		t.Error("a worker that is not stopped goes on")
	}
	if _, err := w.Stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Stop(); err == nil {
		t.Error("a stopped worker is stopped")
	}
	if _, err := w.Continue(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := w.Stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Kill(); err != nil {
		t.Error(err)
	}
	for _, err := range []error{ignore(w.Stop()), ignore(w.Continue(t.Context())), ignore(w.Kill())} {
		if err == nil {
			t.Error("a worker that is gone takes signals")
		}
	}
}

func ignore[T any](_ T, err error) error { return err }
