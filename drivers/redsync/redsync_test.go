package redsync

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-redsync/redsync/v4"
	"go.uber.org/goleak"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/drivertest"
	"github.com/lockbench/lockbench/drivers/fault"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, servertest.GoRedisEnds) }

// patient gives attempts more time than the library's default of 5 % of a lease: the suite's leases are so short that
// those would be 10 ms, and machines stall.
var patient = map[string]string{"timeout-factor": "1"}

func TestConformance(t *testing.T) {
	var all sync.WaitGroup // mostly waiting, so more can run at once than with t.Parallel
	run := func(name string, cfg drivers.Config, nodes int, start func(*testing.T, int) []string) {
		all.Go(func() { t.Run(name, func(t *testing.T) { conform(t, cfg, start(t, nodes)...) }) })
	}
	run("redis-server", drivers.Config{}, 1, redisServers)
	run("set-nx-on-extend", drivers.Config{Lock: onExtend.Name}, 1, redisServers)
	if !testing.Short() {
		run("embedded", drivers.Config{Embedded: true}, 1, embedded)
		run("five nodes", drivers.Config{Topology: drivers.TopologyRedlock}, 5, redisServers)
	}
	all.Wait()
}

func redisServers(t *testing.T, n int) (urls []string) {
	for range n {
		urls = append(urls, servertest.Redis(t, servers.Options{}).URL())
	}
	return urls
}

func embedded(t *testing.T, n int) (urls []string) {
	for range n {
		urls = append(urls, servertest.Embedded(t))
	}
	return urls
}

func conform(t *testing.T, cfg drivers.Config, urls ...string) {
	cfg.Lock, cfg.IOTimeout, cfg.Params = cmp.Or(cfg.Lock, library.Name), time.Second, patient
	drivertest.Through(t, urls...).Run(t, drivertest.Setup{Driver: driver{}, Config: cfg})
}

// open opens a service that is closed with the test.
func open(t *testing.T, cfg drivers.Config) drivers.Service {
	t.Helper()
	cfg.Lock = "library"
	return drivertest.Open(t, driver{}, cfg)
}

func sessionOf(t *testing.T, svc drivers.Service, id int) *session {
	t.Helper()
	return drivertest.SessionOf[*session](t, svc, id)
}

func lease() *drivers.Lease { return &drivers.Lease{Key: "k", TTL: time.Minute} }

// What the library's errors mean depends on how many nodes have not answered.
func TestFailed(t *testing.T) {
	taken, dead := &redsync.ErrNodeTaken{}, &redsync.RedisError{Err: io.EOF}
	refused := &redsync.RedisError{Err: &drivers.Error{Class: drivers.ClassConnect, Op: "connect", Err: io.EOF}}
	for _, tt := range []struct {
		name  string
		nodes int
		err   error
		class drivers.Class // empty: the lock was taken
	}{
		{"one node, taken", 1, &redsync.ErrTaken{Nodes: []int{0}}, ""},
		{"one node, joined", 1, errors.Join(taken), ""},
		{"one node, no answer", 1, errors.Join(dead), drivers.ClassClosed},
		{"one node, no connection", 1, errors.Join(refused), drivers.ClassConnect},
		{"granted too late, or tries used up", 1, redsync.ErrFailed, ""},
		{"split vote", 5, errors.Join(errors.Join(taken), taken), ""},
		{"minority dead", 5, errors.Join(errors.Join(errors.Join(taken), dead), dead), ""},
		{"majority dead", 5, errors.Join(errors.Join(errors.Join(taken, dead), dead), dead), drivers.ClassClosed},
		{"half of two dead", 2, errors.Join(errors.Join(taken), dead), drivers.ClassClosed},
		{"one of four dead, split vote", 4, errors.Join(errors.Join(taken), dead), ""},
		{"half of four dead", 4, errors.Join(errors.Join(errors.Join(taken), dead), dead), drivers.ClassClosed},
		{"something else", 1, io.ErrShortBuffer, drivers.ClassOther},
	} {
		err := (&session{service: &service{nodes: tt.nodes}}).failed(t.Context(), lease(), tt.err)
		if (err == nil) != (tt.class == "") || err != nil && drivers.ClassOf(err) != tt.class {
			t.Errorf("%s: %v, want class %q", tt.name, err, tt.class)
		}
	}
}

// With a minority of the nodes dead the lock works, and contention is still not an error; without a majority nothing
// works.
func TestDeadNodes(t *testing.T) {
	if testing.Short() {
		t.Skip("nodes that are dead: make test-all")
	}
	proxies := drivertest.Through(t, embedded(t, 5)...)
	svc := open(t, drivers.Config{Topology: drivers.TopologyRedlock, Embedded: true, IOTimeout: time.Second, Addrs: proxies.Addrs()})
	a, b := sessionOf(t, svc, 0), sessionOf(t, svc, 1)
	for _, p := range proxies[:2] {
		defer p.Outage()()
	}
	l := lease()
	if held, err := a.Try(t.Context(), l); !held || err != nil {
		t.Fatalf("Try with 2 of 5 nodes dead: %v, %v", held, err)
	}
	if held, err := b.Try(t.Context(), lease()); held || err != nil {
		t.Fatalf("Try of a held key with 2 of 5 nodes dead: %v, %v", held, err)
	}
	if owned, err := b.Release(t.Context(), lease()); owned || err != nil {
		t.Fatalf("Release by another client with 2 of 5 nodes dead: %v, %v", owned, err)
	}
	if owned, err := a.Release(t.Context(), l); !owned || err != nil {
		t.Fatalf("Release with 2 of 5 nodes dead: %v, %v", owned, err)
	}
	defer proxies[2].Outage()()
	if held, err := a.Try(t.Context(), l); held || err == nil {
		t.Fatalf("Try with 3 of 5 nodes dead: %v, %v", held, err)
	}
	if owned, err := a.Release(t.Context(), l); owned || err == nil {
		t.Fatalf("Release with 3 of 5 nodes dead: %v, %v", owned, err)
	}
}

// A lock is lost only if so many nodes say so that the others are no majority, whatever those say that do not answer.
func TestLostAtSomeNodes(t *testing.T) {
	for _, tt := range []struct {
		nodes, lost, silent int
		known               bool // that it is lost
	}{
		{5, 1, 2, false},
		{5, 2, 1, false},
		{5, 2, 2, false},
		{5, 3, 0, true},
		{5, 3, 2, true},
		{3, 1, 1, false},
		{3, 2, 1, true},
		{4, 1, 1, false},
		{4, 2, 1, true},
		{1, 1, 0, true},
		{1, 0, 1, false},
	} {
		t.Run(fmt.Sprintf("%d of %d lost, %d silent", tt.lost, tt.nodes, tt.silent), func(t *testing.T) {
			single := drivers.Config{Embedded: true, IOTimeout: time.Second}
			cfg := single
			cfg.Topology, cfg.Params = drivers.TopologyRedlock, patient
			direct := embedded(t, tt.nodes)
			proxies := drivertest.Through(t, direct...)
			cfg.Addrs = proxies.Addrs()
			s, l := sessionOf(t, open(t, cfg), 0), lease()
			if held, err := s.Try(t.Context(), l); !held || err != nil {
				t.Fatal(held, err)
			}
			for _, node := range direct[:tt.lost] {
				single.Addrs = []string{node}
				if owned, err := sessionOf(t, open(t, single), 0).Release(t.Context(), &drivers.Lease{Key: l.Key, TTL: l.TTL, Owner: l.Owner}); !owned || err != nil {
					t.Fatal(owned, err)
				}
			}
			for _, p := range proxies[tt.lost : tt.lost+tt.silent] {
				p.Outage()
			}
			if owned, err := s.Renew(t.Context(), l); owned || (err == nil) != tt.known {
				t.Errorf("Renew answered %v, %v", owned, err)
			}
			if owned, err := s.Release(t.Context(), l); owned || (err == nil) != tt.known {
				t.Errorf("Release answered %v, %v", owned, err)
			}
		})
	}
}

// A refusal leaves nothing behind, though the end of its context cuts short the library's own undoing.
func TestCutOffRefusal(t *testing.T) {
	on := func(nodes ...string) drivers.Config {
		return drivers.Config{Topology: drivers.TopologyRedlock, Embedded: true, Addrs: nodes, Params: patient}
	}
	nodes := embedded(t, 5)
	holder := sessionOf(t, open(t, on(nodes[:3]...)), 0)
	if held, err := holder.Try(t.Context(), lease()); !held || err != nil {
		t.Fatal(held, err)
	}
	proxies := drivertest.Through(t, nodes[3:]...)
	s := sessionOf(t, open(t, on(slices.Concat(nodes[:3], proxies.Addrs())...)), 0)
	connected := &drivers.Lease{Key: "another", TTL: time.Minute}
	if held, err := s.Try(t.Context(), connected); !held || err != nil {
		t.Fatal(held, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var granted []*fault.Break
	for _, p := range proxies {
		granted = append(granted, p.BreakReply(1))
	}
	go func() {
		for _, g := range granted {
			<-g.Hit()
		}
		cancel()
		for _, g := range granted {
			g.Go()
		}
	}()
	held, err := s.Try(ctx, lease())
	if held || err != nil {
		t.Fatalf("a try that a majority refused: %v, %v", held, err)
	}
	other := sessionOf(t, open(t, on(nodes[3:]...)), 0)
	if held, err := other.Try(t.Context(), lease()); !held || err != nil {
		t.Errorf("on the two nodes that had granted the lock to the refused client: %v, %v", held, err)
	}
}

// The library gives up after its tries, unless it is to be called again, until the deadline.
func TestTriesUsedUp(t *testing.T) {
	params := map[string]string{"tries": "2", "retry-delay": "1ms"}
	cfg := drivers.Config{Addrs: []string{servertest.Embedded(t)}, Embedded: true, Params: params}
	a := sessionOf(t, open(t, cfg), 0)
	if held, err := a.Try(t.Context(), lease()); !held || err != nil {
		t.Fatal(held, err)
	}
	b, l := sessionOf(t, open(t, cfg), 0), lease()
	if err := b.Wait(t.Context(), l); err != drivers.ErrGaveUp || b.Sent != 2 {
		t.Fatalf("Wait: %v after %d attempts", err, b.Sent)
	}
	params["again"] = "true"
	b = sessionOf(t, open(t, cfg), 0)
	for l.Deadline = time.Now().Add(10 * time.Millisecond); b.Sent <= 2; l.Deadline = time.Now().Add(time.Second) {
		if err := b.Wait(t.Context(), l); err != nil {
			t.Fatalf("Wait: %v after %d attempts", err, b.Sent)
		}
	}
}

// Each locker has its own clients, and the sessions take turns.
func TestLockers(t *testing.T) {
	svc := open(t, drivers.Config{Addrs: []string{servertest.Embedded(t)}, Embedded: true, Lockers: 2})
	a, b, c := sessionOf(t, svc, 0), sessionOf(t, svc, 1), sessionOf(t, svc, 2)
	if a.locker == b.locker || a.locker != c.locker {
		t.Error("sessions 0 and 2 share the first of two lockers, session 1 has the second")
	}
	if n := len(svc.(*service).lockers); n != 2 {
		t.Errorf("%d lockers, want 2", n)
	}
}

func TestOpenRefuses(t *testing.T) {
	one := []string{"127.0.0.1:1"}
	for want, cfg := range map[string]drivers.Config{
		"give single":               {Topology: drivers.TopologyCluster, Addrs: one},
		"there are 2 addresses":     {Addrs: []string{"127.0.0.1:1", "127.0.0.1:2"}},
		"there are no addresses":    {Topology: drivers.TopologyRedlock},
		`unknown parameter "tires"`: {Addrs: one, Params: map[string]string{"tires": "3"}},
		"timeout-factor=0":          {Addrs: one, Params: map[string]string{"timeout-factor": "0"}},
		"the address is empty":      {Addrs: []string{""}},
		"127.0.0.1:1":               {Addrs: one},
	} {
		cfg.Lock = "library"
		if _, err := (driver{}).Open(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
	_, err := driver{}.Open(t.Context(), drivers.Config{
		Lock: "library", Addrs: []string{servertest.Embedded(t)}, Embedded: true, Pipelining: drivers.PipeliningAuto,
	})
	if err == nil || !strings.Contains(err.Error(), "one command at a time") {
		t.Errorf("pipelining auto: %v", err)
	}
}
