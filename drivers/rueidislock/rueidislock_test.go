package rueidislock

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/rueidis/rueidislock"
	"go.uber.org/goleak"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/drivertest"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
	"github.com/lockbench/lockbench/drivers/testwait"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, servertest.RueidisEnds) }

// patient gives a request more time than the library's default of 20 ms: machines stall.
func patient() map[string]string { return map[string]string{"try-next-after": "1500ms"} }

func TestConformance(t *testing.T) {
	var all sync.WaitGroup // mostly waiting, so more can run at once than with t.Parallel
	run := func(name string, cfg drivers.Config, server func(t *testing.T) string) {
		all.Go(func() { t.Run(name, func(t *testing.T) { conform(t, cfg, server(t)) }) })
	}
	own := func(t *testing.T) string { return servertest.Redis(t, servers.Options{}).URL() }
	run("redis-server", drivers.Config{Params: patient()}, own)
	if !testing.Short() {
		run("embedded", drivers.Config{Embedded: true, Params: patient()}, func(t *testing.T) string { return servertest.Embedded(t) })
		run("two lockers", drivers.Config{Lockers: 2, Params: patient()}, own)
	}
	all.Wait()
}

func conform(t *testing.T, cfg drivers.Config, url string) {
	// The TTL bounds the cost of a wake-up that the library loses, and half of it is how long the process may be starved before
	// its locks are lost.
	cfg.Lock, cfg.IOTimeout, cfg.TTL = "library", time.Second, 6*time.Second
	drivertest.Through(t, url).Run(t, drivertest.Setup{Driver: driver{}, Config: cfg, SessionTimeout: cfg.TTL})
}

func openWith(t *testing.T, cfg drivers.Config) drivers.Service {
	t.Helper()
	cfg.Lock = "library"
	return drivertest.Open(t, driver{}, cfg)
}

func sessionOf(t *testing.T, svc drivers.Service, id int) *session {
	t.Helper()
	return drivertest.SessionOf[*session](t, svc, id)
}

func mustTry(t *testing.T, s *session, l *drivers.Lease, want bool) {
	t.Helper()
	if held, err := s.Try(t.Context(), l); held != want || err != nil {
		t.Fatalf("Try answered %v, %v; want %v", held, err, want)
	}
}

// Traits.Session, without cutting others off: the library renews a lock while its process lives, and it ends a TTL
// after that has died.
func TestLeaseOfTheProcess(t *testing.T) {
	if testing.Short() {
		t.Skip("a connection that breaks: make test-all")
	}
	const ttl = 1500 * time.Millisecond // much longer than the interval of its renewals, for machines that stall
	server := servertest.Redis(t, servers.Options{})
	proxy := drivertest.Through(t, server.URL())[0]
	cfg := drivers.Config{Prefix: "test:", TTL: ttl, IOTimeout: time.Second, Params: patient()}
	cfg.Params["extend-interval"] = "30ms"
	cfg.Addrs = []string{proxy.Addr()}
	dying := sessionOf(t, openWith(t, cfg), 0)
	cfg.Addrs = []string{server.URL()}
	other := sessionOf(t, openWith(t, cfg), 0)

	held, next := &drivers.Lease{Key: "test:k", TTL: ttl}, &drivers.Lease{Key: "test:k", TTL: ttl}
	mustTry(t, dying, held, true)
	time.Sleep(ttl + ttl/4)
	mustTry(t, other, next, false)
	defer proxy.Outage()() // to the server, a process that is cut off for good is dead
	testwait.Until(t, "the lock of a dead process comes free", func() bool {
		got, err := other.Try(t.Context(), next)
		if err != nil {
			t.Fatal(err)
		}
		return got
	})
	if owned, err := dying.Release(t.Context(), held); owned {
		t.Errorf("Release by a process that was cut off answered %v, %v", owned, err)
	}
	if owned, err := other.Release(t.Context(), next); !owned || err != nil {
		t.Errorf("Release answered %v, %v", owned, err)
	}
}

// A lock that was taken away is no longer owned. Without client-side caching the library does not notice, and its
// release returns nothing: the answer is intercepted.
func TestReleaseOfWhatWasTakenAway(t *testing.T) {
	for name, cfg := range map[string]drivers.Config{
		"redis-server": {Addrs: []string{servertest.Redis(t, servers.Options{}).URL()}, Params: patient()},
		"embedded":     {Addrs: []string{servertest.Embedded(t)}, Embedded: true, Params: patient()},
	} {
		t.Run(name, func(t *testing.T) {
			svc := openWith(t, cfg)
			s, l := sessionOf(t, svc, 0), &drivers.Lease{Key: "k", TTL: time.Minute}
			mustTry(t, s, l, true)
			if err := svc.(drivers.Cleaner).Clean(t.Context(), []string{"k"}); err != nil {
				t.Fatal(err)
			}
			if owned, err := s.Release(t.Context(), l); owned || err != nil {
				t.Errorf("Release answered %v, %v", owned, err)
			}
		})
	}
}

// Nothing is kept after it is over.
func TestEarForgets(t *testing.T) {
	svc := openWith(t, drivers.Config{Addrs: []string{servertest.Embedded(t)}, Embedded: true, Params: patient()})
	a, b, l := sessionOf(t, svc, 0), sessionOf(t, svc, 1), &drivers.Lease{Key: "k", TTL: time.Minute}
	mustTry(t, a, l, true)
	other := &drivers.Lease{Key: "k", TTL: time.Minute, Deadline: time.Now().Add(30 * time.Millisecond)}
	mustTry(t, b, other, false)
	if err := b.Wait(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	if owned, err := a.Release(t.Context(), l); !owned || err != nil {
		t.Fatal(owned, err)
	}
	a.interceptor.holds.Range(func(token, _ any) bool {
		t.Errorf("it still listens for %q", token)
		return true
	})
}

// A Locker stands for a process, and the sessions take turns.
func TestLockers(t *testing.T) {
	svc := openWith(t, drivers.Config{Addrs: []string{servertest.Embedded(t)}, Embedded: true, Lockers: 2})
	a, b, c := sessionOf(t, svc, 0), sessionOf(t, svc, 1), sessionOf(t, svc, 2)
	if a.Locker == b.Locker || a.Locker != c.Locker {
		t.Error("sessions 0 and 2 share the first of two lockers, session 1 has the second")
	}
}

func TestOpenRefuses(t *testing.T) {
	one := []string{"127.0.0.1:1"}
	for want, cfg := range map[string]drivers.Config{
		"give single":               {Topology: drivers.TopologyRedlock, Addrs: one},
		"there are 2 addresses":     {Addrs: []string{"127.0.0.1:1", "127.0.0.1:2"}},
		"give more lockers":         {Addrs: one, Conns: 2},
		"pipelining off":            {Addrs: one, Pipelining: drivers.PipeliningOff},
		`unknown parameter "tries"`: {Addrs: one, Params: map[string]string{"tries": "3"}},
		"is too short":              {Addrs: one, TTL: time.Microsecond},
		"127.0.0.1:1":               {Addrs: one},
	} {
		cfg.Lock = "library"
		if _, err := (driver{}).Open(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
}

// The library's own limits are short, and it may not have heard that it has undone the attempt: then the driver asks. If
// the server confirms it, it is a no.
func TestTimeoutOfTheLibrary(t *testing.T) {
	for _, tt := range []struct {
		name      string
		h         *hold
		down      bool
		want      bool
		limit     error
		confirmed int64 // requests that it takes
	}{
		{"heard", &hold{heard: true}, false, true, context.DeadlineExceeded, 0},
		{"heard before an outage", &hold{heard: true}, true, true, context.DeadlineExceeded, 0},
		{"not heard", &hold{err: context.DeadlineExceeded}, false, true, context.DeadlineExceeded, 1},
		{"not asked, because the TTL was over", &hold{}, false, true, context.Canceled, 1},
		{"not heard in an outage", &hold{err: context.DeadlineExceeded}, true, false, context.DeadlineExceeded, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			proxy := drivertest.Through(t, servertest.Embedded(t))[0]
			s := sessionOf(t, openWith(t, drivers.Config{Addrs: []string{proxy.Addr()}, Embedded: true, Params: patient()}), 0)
			s.Locker = gaveUp{s.Locker, tt.h, tt.limit}
			mustRelease(t, s, &drivers.Lease{Key: "k", Owner: "warm up"}, false) // which sends the script
			before := proxy.Requests()
			if tt.down {
				defer proxy.Outage()()
			}
			held, err := s.Try(t.Context(), &drivers.Lease{Key: "k", TTL: time.Minute})
			if held || (err == nil) != tt.want {
				t.Errorf("Try answered %v, %v", held, err)
			}
			if sent := proxy.Requests() - before; !tt.down && sent != tt.confirmed {
				t.Errorf("it has sent %d requests, want %d", sent, tt.confirmed)
			}
			if err := s.Wait(t.Context(), &drivers.Lease{Key: "k", TTL: time.Minute}); (err == nil) != (tt.h.err == nil || !tt.down) {
				t.Errorf("Wait answered %v", err)
			}
		})
	}
}

// After the TTL the library does not release a hold, and says that its time is over: then the driver asks.
func TestReleaseAfterTheTTL(t *testing.T) {
	s := sessionOf(t, openWith(t, drivers.Config{Addrs: []string{servertest.Embedded(t)}, Embedded: true, Params: patient()}), 0)
	late := &hold{ctx: t.Context(), end: func() {}, token: "token", err: context.DeadlineExceeded}
	mustRelease(t, s, &drivers.Lease{Key: "k", Owner: text("token"), Aux: late}, false)
}

func mustRelease(t *testing.T, s *session, l *drivers.Lease, want bool) {
	t.Helper()
	if owned, err := s.Release(t.Context(), l); owned != want || err != nil {
		t.Fatalf("Release answered %v, %v; want %v", owned, err, want)
	}
}

// A wait ends after a TTL, even without a wake-up.
func TestWaitIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &session{locker: locker{deaf{}, &interceptor{}}, service: &service{ttl: time.Minute}}
		for _, tt := range []struct{ timeout, want time.Duration }{
			{0, time.Minute}, {time.Hour, time.Minute}, {time.Second, time.Second}, {-time.Second, 0},
		} {
			l := &drivers.Lease{Key: "k", TTL: time.Minute}
			if tt.timeout != 0 {
				l.Deadline = time.Now().Add(tt.timeout)
			}
			start := time.Now()
			if err := s.Wait(t.Context(), l); err != nil || time.Since(start) != tt.want {
				t.Errorf("with a time-out of %v Wait took %v: %v; want %v", tt.timeout, time.Since(start), err, tt.want)
			}
		}
	})
}

// deaf is a Locker that misses every wake-up.
type deaf struct{ rueidislock.Locker }

func (deaf) WithContext(ctx context.Context, _ string) (context.Context, context.CancelFunc, error) {
	<-ctx.Done()
	return nil, nil, ctx.Err()
}

// gaveUp is a Locker whose attempts all take too long.
type gaveUp struct {
	rueidislock.Locker
	h     *hold
	limit error
}

func (g gaveUp) TryWithContext(ctx context.Context, _ string) (context.Context, context.CancelFunc, error) {
	h := ctx.Value(holdOf{}).(*hold)
	h.token, h.heard, h.err = "token", g.h.heard, g.h.err
	return ctx, func() {}, g.limit
}

func (g gaveUp) WithContext(ctx context.Context, name string) (context.Context, context.CancelFunc, error) {
	return g.TryWithContext(ctx, name)
}

// One wait makes many attempts, each with its own token, and only the last one counts.
func TestEarExpectsTheLastToken(t *testing.T) {
	e, h := &interceptor{}, &hold{removed: true, heard: true, err: context.Canceled}
	e.expect(h, "first")
	e.expect(h, "second")
	if _, known := e.holds.Load("first"); known || h.owner() != "second" {
		t.Errorf("it expects %q, and still listens for the first token: %t", h.owner(), known)
	}
	if _, removed, err := h.answer(); removed || err != nil {
		t.Errorf("the second attempt begins with the answer to the first: %t, %v", removed, err)
	}
}

// What the library has given up by itself, because it could not renew it, was lost, even if it then found the key and
// deleted it.
func TestGivingUpWhatWasLost(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, lost := range []bool{false, true} {
		if lost {
			cancel()
		}
		s := &session{locker: locker{nil, &interceptor{}}, service: &service{}}
		owned, err := s.giveUp(t.Context(), "k", &hold{ctx: ctx, end: func() {}, removed: true})
		if owned == lost || err != nil {
			t.Errorf("lost %t: giving it up answered %v, %v", lost, owned, err)
		}
	}
}

// A closed Locker releases what it holds while its client closes, after extensions whose contexts are over by then. The
// library's client would connect again for that (see Connections); goleak would find what is left.
func TestClosedStaysClosed(t *testing.T) {
	svc := openWith(t, drivers.Config{Addrs: []string{servertest.Embedded(t)}, Embedded: true, Params: patient()})
	client := sessionOf(t, svc, 0).interceptor
	if err := svc.Close(); err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for _, ctx := range []context.Context{over, t.Context()} {
		if err := client.Do(ctx, client.B().Ping().Build()).Error(); err == nil {
			t.Error("a closed client has been answered")
		}
	}
}

// TestTrackingRefused: without client-side caching the library works if it is told so, and its waiters look again.
func TestTrackingRefused(t *testing.T) {
	server := servertest.Redis(t, servers.Options{})
	cfg := drivers.Config{Prefix: "test:", TTL: time.Minute, Addrs: []string{server.URL()}, Lock: "library"}
	admin := openWith(t, cfg).(*service).lockers[0].interceptor.Client
	if err := admin.Do(t.Context(), admin.B().Arbitrary("ACL", "SETUSER", "default", "-client|tracking").Build()).Error(); err != nil {
		t.Fatal(err)
	}
	svc, err := driver{}.Open(t.Context(), cfg)
	if err == nil {
		svc.Close()
	}
	if drivers.ClassOf(err) != drivers.ClassServer || !strings.Contains(err.Error(), "client|tracking") || !strings.Contains(err.Error(), "-param disable-cache=true") {
		t.Errorf("a server without CLIENT TRACKING: %v", err)
	}
	cfg.Params, cfg.Lockers = map[string]string{"disable-cache": "true"}, 2 // which no local queue wakes
	svc = openWith(t, cfg)
	a, b := sessionOf(t, svc, 0), sessionOf(t, svc, 1)
	l, next := &drivers.Lease{Key: "k", TTL: time.Minute}, &drivers.Lease{Key: "k", TTL: time.Minute}
	mustTry(t, a, l, true)
	won := make(chan error, 1)
	go func() { won <- b.Wait(t.Context(), next) }()
	if owned, err := a.Release(t.Context(), l); !owned || err != nil {
		t.Errorf("Release: %v, %v", owned, err)
	}
	if err := <-won; err != nil {
		t.Fatal(err)
	}
	mustTry(t, b, next, true)
}
