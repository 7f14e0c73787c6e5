// Wrong releases: locks that are broken on purpose, and sound ones that look like them.

package workloads

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/redis"
	"github.com/lockbench/lockbench/drivers/redis/goredis"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
)

// naive makes releases of the memory lock like a plain DEL: they remove the lock whoever has it. It claims owners all the
// same if owned is set.
type naive struct {
	drivers.Service
	owned bool
	wrong atomic.Int64 // releases that have removed another client's lock
}

type naiveSession struct {
	drivers.Session
	svc *naive
}

func (n *naive) Traits() drivers.Traits {
	t := n.Service.Traits()
	t.Owned, t.Fenced = n.owned, false // Clean begins at 1 again
	return t
}

func (n *naive) Session(ctx context.Context, id int) (drivers.Session, error) {
	s, err := n.Service.Session(ctx, id)
	return naiveSession{s, n}, err
}

func (s naiveSession) Release(ctx context.Context, l *drivers.Lease) (bool, error) {
	if owned, err := s.Session.Release(ctx, l); owned || err != nil {
		return owned, err
	}
	removed, err := remove(ctx, s.svc.Service, s.Session, l)
	if removed {
		s.svc.wrong.Add(1)
	}
	return removed, err
}

// remove deletes a key of the memory lock, whoever holds it.
func remove(ctx context.Context, svc drivers.Service, s drivers.Session, l *drivers.Lease) (bool, error) {
	rest, _ := drivers.As[drivers.Remainer](s)
	if left, err := rest.Remaining(ctx, l); left <= 0 || err != nil {
		return false, err
	}
	cleaner, _ := drivers.As[drivers.Cleaner](svc)
	return true, cleaner.Clean(ctx, []string{l.Key})
}

// TestWrongReleases lets releases remove whatever lock there is. What is counted is never more than what was done, and
// not much less. Where grants are late, a release may remove the lock of a client that has not heard of it yet; that is
// not seen.
func TestWrongReleases(t *testing.T) {
	overrun := func(p *spec.Plan) { p.Hold = 25 * ms }
	for _, tc := range []struct {
		name  string
		owned bool
		plan  func(*spec.Plan)
		wrap  func(drivers.Service) drivers.Service
		least float64 // the share of the wrong releases that is counted
	}{
		{"holds outlast the lease", false, overrun, nil, 0.9},
		{"holds outlast the lease, of a lock that claims owners", true, overrun, nil, 0.9},
		{"a late grant", false, func(*spec.Plan) {}, func(s drivers.Service) drivers.Service { return late{s, 25 * ms} }, 0.4},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := plan("memory", "mutex")
			p.Clients, p.Hold, p.Think, p.TTL, p.Duration = 2, 10*ms, ms, 20*ms, time.Second
			tc.plan(&p)
			n := &naive{owned: tc.owned}
			bubble(t, p, func(s drivers.Service) drivers.Service {
				if n.Service = s; tc.wrap != nil {
					return tc.wrap(n)
				}
				return n
			}, func(t *testing.T, r *results.Record) {
				s, wrong := r.Safety, n.wrong.Load()
				if wrong < 10 || s.WrongReleases > wrong || float64(s.WrongReleases) < tc.least*float64(wrong) {
					t.Errorf("%d wrong releases counted, of %d", s.WrongReleases, wrong)
				}
				if !r.Violated() {
					t.Errorf("not violated: %+v", s)
				}
			})
		})
	}
}

// gapped is a lock that compares in the client before it removes, as GET and DEL do. Between the two it pauses.
type gapped struct {
	drivers.Service
	pause time.Duration

	mu    sync.Mutex
	owner string // of the last grant, of any key
}

type gappedSession struct {
	drivers.Session
	svc *gapped
}

func (g *gapped) Unwrap() drivers.Service { return g.Service }

func (g *gapped) Traits() drivers.Traits {
	t := g.Service.Traits()
	t.Fenced = false // Clean begins at 1 again
	return t
}

func (g *gapped) Session(ctx context.Context, id int) (drivers.Session, error) {
	s, err := g.Service.Session(ctx, id)
	return gappedSession{s, g}, err
}

func (s gappedSession) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	held, err := s.Session.Try(ctx, l)
	if held {
		s.svc.mu.Lock()
		s.svc.owner = l.Owner
		s.svc.mu.Unlock()
	}
	return held, err
}

func (s gappedSession) Release(ctx context.Context, l *drivers.Lease) (bool, error) {
	s.svc.mu.Lock()
	own := s.svc.owner == l.Owner
	s.svc.mu.Unlock()
	if !own {
		return false, nil
	}
	time.Sleep(s.svc.pause)
	return remove(ctx, s.svc.Service, s.Session, l)
}

// TestGapBetweenCompareAndDelete: a lease of 20 ms ends during a release, or does not. If it does, the next holder's lock
// is removed. It is gone when that one looks, which may be when its own lease is over; then another client's grant shows
// that it was gone before.
func TestGapBetweenCompareAndDelete(t *testing.T) {
	for _, tc := range []struct {
		hold, pause time.Duration
		wrong, late bool // late: all but one, whose hold the end of the run cuts, look when their leases may be over
	}{
		{12 * ms, 10 * ms, true, false}, {12 * ms, ms, false, false},
		{18500 * us, 5 * ms, true, true}, {18500 * us, 200 * us, false, true},
	} {
		p := plan("memory", "mutex")
		p.Clients, p.Hold, p.Think, p.TTL, p.Duration = 2, tc.hold, ms, 20*ms, time.Second
		bubble(t, p, func(s drivers.Service) drivers.Service { return &gapped{Service: s, pause: tc.pause} }, func(t *testing.T, r *results.Record) {
			s := r.Safety
			if tc.wrong != (s.WrongReleases >= 20) || tc.wrong != (s.Violations >= 20) || !tc.wrong && s.WrongReleases+s.Violations > 0 {
				t.Errorf("%+v: %d wrong releases, %d violations", tc, s.WrongReleases, s.Violations)
			}
			if s.WrongReleases > s.Violations+1 || (s.LostEarly > 1) != (tc.wrong && !tc.late) || r.Violated() != tc.wrong {
				t.Errorf("%+v: violated %v, %d wrong releases, %d violations, %d lost early", tc, r.Violated(), s.WrongReleases, s.Violations, s.LostEarly)
			}
		})
	}
}

// TestGapOfErrors has the same lock, and a request that fails now and then, which may have had its effect later: then
// nothing is attributed.
func TestGapOfErrors(t *testing.T) {
	p := plan("memory", "mutex")
	p.Clients, p.Hold, p.Think, p.TTL, p.Duration = 2, 12*ms, ms, 20*ms, time.Second
	bubble(t, p, func(s drivers.Service) drivers.Service {
		return &faulty{Service: &gapped{Service: s, pause: 10 * ms}, try: every(5, context.DeadlineExceeded), release: every(1000, nil)}
	}, func(t *testing.T, r *results.Record) {
		if s := r.Safety; s.WrongReleases != 0 || s.LostEarly == 0 || s.Explained == "" {
			t.Errorf("safety %+v: want losses that prove nothing", s)
		}
	})
}

// copied is a lock with two copies, as after a fail-over that not all clients have noticed: client 0 has one of its own.
type copied struct{ drivers.Service }

func (c copied) Session(ctx context.Context, id int) (drivers.Session, error) {
	if id == 0 {
		d, _ := drivers.Lookup("memory")
		other, err := d.Open(ctx, drivers.Config{})
		if err != nil {
			return nil, err
		}
		return other.Session(ctx, id)
	}
	return c.Service.Session(ctx, id)
}

// TestCopiesOfALock: both holders remove their own copy, also at the very end of their leases. That violates exclusion,
// and no release is wrong. One client is slower than the other, so that each comes in the middle of the other's holds.
func TestCopiesOfALock(t *testing.T) {
	for _, hold := range []time.Duration{10 * ms, 19 * ms} {
		p := plan("memory", "mutex")
		p.Clients, p.Hold, p.Think, p.TTL, p.Duration = 2, hold, 3*ms, 20*ms, time.Second
		bubble(t, p, func(s drivers.Service) drivers.Service { return slow{copied{s}, 5 * ms} }, func(t *testing.T, r *results.Record) {
			if s := r.Safety; s.WrongReleases != 0 || s.Violations < 20 || r.Counts.Lost != 0 {
				t.Errorf("holds of %v: %d wrong releases, %d violations, %d lost; want violations alone", hold, s.WrongReleases, s.Violations, r.Counts.Lost)
			}
		})
	}
}

// gap is a connection on which the DEL of the first release waits until the key is another client's. That client does not
// look at its lock before the DEL is answered.
type gap struct {
	redis.Conn
	owner         string // of the first release
	looked, freed atomic.Int64
	deleted       chan struct{}
}

func (g *gap) Do(ctx context.Context, args []string, key int) (redis.Reply, error) {
	switch name := args[0]; {
	case name == "GET" && g.looked.Add(1) == 1:
		reply, err := g.Conn.Do(ctx, args, key)
		g.owner, _ = reply.AsText()
		return reply, err
	case name == "GET":
		<-g.deleted
	case name == "DEL" && g.looked.Load() == 1 && g.freed.Add(1) == 1:
		defer close(g.deleted)
		if err := g.passed(ctx, args[1]); err != nil {
			return redis.Reply{}, err
		}
	}
	return g.Conn.Do(ctx, args, key)
}

// passed returns when the key is another client's.
func (g *gap) passed(ctx context.Context, key string) error {
	for {
		reply, err := g.Conn.Do(ctx, []string{"GET", key}, 1)
		if err != nil {
			return err
		}
		if owner, err := reply.AsText(); err == nil && owner != g.owner { // not nil: free
			return nil
		}
		time.Sleep(ms)
	}
}

// TestGetDelGap lets two clients acquire set-nx-get-del once each on a real server. The lease of the first ends between
// the GET and the DEL of its release.
func TestGetDelGap(t *testing.T) {
	server := servertest.Redis(t, servers.Options{})
	driver := redis.Driver{Dial: func(ctx context.Context, o redis.Options) (redis.Conn, error) {
		conn, err := goredis.Dial(ctx, o)
		return &gap{Conn: conn, deleted: make(chan struct{})}, err
	}}
	p := plan("go-redis", "set-nx-get-del")
	p.Clients, p.Ops, p.TTL, p.Duration, p.Server = 2, 2, time.Second, time.Minute, "private"
	svc, err := driver.Open(t.Context(), drivers.Config{Lock: p.Lock, Addrs: []string{server.URL()}, Clients: p.Clients, Prefix: "test:"})
	if err != nil {
		t.Fatal(err)
	}
	defer svc.Close()
	r, err := (&Run{Plan: p, Service: svc, Prefix: "test:"}).Do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s := r.Safety
	if s.WrongReleases != 1 || s.LostEarly != 1 || s.Explained != "" || !r.Violated() {
		t.Errorf("safety %+v, violated %v: want one wrong release, and one lock lost early", s, r.Violated())
	}
	if n := r.Counts; n.Acquired != 2 || n.Released != 1 || n.Lost != 1 {
		t.Errorf("counts %+v: want one released, and one lost", n)
	}
}
