// A run goes on when a service takes its clients for dead while they live.

package cli

import (
	"context"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/fault"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads"
	"github.com/lockbench/lockbench/workloads/matrix"
)

// watched runs a plan that has no end of its own. It stops when watch, which sees each snapshot and whether some client
// has been granted a lock, answers true.
func watched(t *testing.T, p spec.Plan, addrs []string, watch func(s workloads.Snapshot, held bool) bool) *results.Record {
	t.Helper()
	d, err := drivers.Lookup(p.Driver)
	if err != nil {
		t.Fatal(err)
	}
	p.Keys, p.Duration, p.IOTimeout, p.Oracle, p.Server = 1, time.Hour, time.Second, true, matrix.External
	p.BackoffMin, p.BackoffMax = time.Millisecond, 20*time.Millisecond
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cfg := matrix.Config(&p, "lockbench:outage:")
	cfg.Addrs = addrs
	svc, err := d.Open(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer svc.Close()
	var last workloads.Snapshot
	w := witness{Service: svc, held: new(atomic.Bool)}
	run := workloads.Run{Plan: p, Service: w, Prefix: "lockbench:outage:", Progress: func(s workloads.Snapshot) {
		if last = s; s.Phase == workloads.PhaseMeasure && watch(s, w.held.Load()) {
			cancel()
		}
	}}
	rec, err := run.Do(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if ctx.Err() == context.DeadlineExceeded {
		t.Fatalf("the run did not come so far: %+v, errors %v", last, rec.Counts.ErrorSample)
	}
	return rec
}

// witness sees the first grant of a service; a snapshot counts a lock when it is released.
type witness struct {
	drivers.Service
	held *atomic.Bool
}

func (w witness) Unwrap() drivers.Service { return w.Service }

func (w witness) Session(ctx context.Context, id int) (drivers.Session, error) {
	s, err := w.Service.Session(ctx, id)
	return witnessed{s, w.held}, err
}

type witnessed struct {
	drivers.Session
	held *atomic.Bool
}

func (w witnessed) Unwrap() drivers.Session { return w.Session }

func (w witnessed) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	held, err := w.Session.Try(ctx, l)
	if held {
		w.held.Store(true)
	}
	return held, err
}

// proxied puts a proxy before a server, and answers the address to use in the server's place.
func proxied(t *testing.T, server string) (addr string, proxy *fault.Proxy) {
	t.Helper()
	at, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	if proxy, err = fault.NewProxy(at.Host); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { proxy.Close() })
	at.Host = proxy.Addr()
	return at.String(), proxy
}

// TestSessionEnds takes the network from two clients of which one holds the lock, for longer than the service waits for
// a sign of life, and gives it back while the holder still believes in its hold: the run goes on, the other gets in, the
// oracle sees the overlap, and the holder hears from its release, with which the run ends, that the lock was lost.
func TestSessionEnds(t *testing.T) {
	if testing.Short() {
		t.Skip("servers go down and come back: make test-all")
	}
	t.Parallel()
	for _, test := range []struct {
		driver, lock string
		ttl          time.Duration // the session's time-out
		outage       time.Duration // longer than that, as the service keeps it
		server       func() string
	}{
		{"zookeeper", "sequential", 1500 * time.Millisecond, 4 * time.Second, func() string {
			return servertest.ZooKeeper(t, 1, servers.Options{}).URLs()[0]
		}},
		{"mysql", "get-lock", time.Second, time.Second, func() string {
			return servertest.MySQL(t, servers.Options{TCP: true}).URL()
		}},
	} {
		t.Run(test.driver, func(t *testing.T) {
			t.Parallel()
			addr, proxy := proxied(t, test.server())
			cut, restored, over := false, make(chan struct{}, 1), new(atomic.Bool)
			rec := watched(t, spec.Plan{Load: spec.Load{Clients: 2, TTL: test.ttl, Hold: time.Hour}, Driver: test.driver, Lock: test.lock, Wait: "native"},
				[]string{addr}, func(s workloads.Snapshot, held bool) bool {
					if !cut && held {
						cut = true
						restore := proxy.Outage()
						time.AfterFunc(test.outage, func() { restore(); over.Store(true); restored <- struct{}{} })
					}
					// With a bad cut the other hears of its grant before it is cut off too: the overlap comes early.
					return over.Load() && s.Violations > 0
				})
			if cut {
				<-restored
			}
			if rec.Counts.Lost == 0 || rec.Safety.Violations == 0 || rec.Safety.Longest == 0 {
				t.Errorf("a hold that its session ended was not counted as lost: %+v, %+v", rec.Counts, rec.Safety)
			}
		})
	}
}
