package hazards

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results/safety"
)

// lending is a pooler and its only pool in this process: server processes that are numbers, and the keys that they hold.
type lending struct {
	Server
	url string

	mu       sync.Mutex
	straight bool           // each client has a process of its own
	never    bool           // it does not lend
	idle     []int          // the one that came back last at the end
	served   map[int]string // the client of each process
	holds    map[string]int // the process that holds a key
}

func (p *lending) URL() string { return p.url }

func (p *lending) Pool(_ context.Context, straight bool) (Pool, error) {
	p.straight, p.idle, p.served, p.holds = straight || p.never, nil, map[int]string{}, map[string]int{}
	return p, nil
}

func (p *lending) Close() error { return nil }

func (p *lending) Clients(context.Context) (map[int]string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.served), nil
}

func (p *lending) Holders(context.Context) ([]int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Collect(maps.Values(p.holds)), nil
}

func (p *lending) Borrow(context.Context) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lend("other"), nil
}

// lend returns the process that serves a client from now on.
func (p *lending) lend(client string) int {
	pid := len(p.served) + 1
	if i := slices.IndexFunc(p.idle, func(pid int) bool { return !p.straight || p.served[pid] == client }); i >= 0 {
		if !p.straight {
			i = len(p.idle) - 1
		}
		pid = p.idle[i]
		p.idle = slices.Delete(p.idle, i, i+1)
	}
	p.served[pid] = client
	return pid
}

// pooledLock is a lock behind it: of the server's session, or, if it is pinned, of a transaction, which keeps its process.
type pooledLock struct {
	pinned bool
	pool   *lending
}

func (d *pooledLock) Designs() []drivers.Design {
	return []drivers.Design{{Name: "lock", Traits: drivers.Traits{Exclusive: true, Owned: true, Session: true}}}
}

func (d *pooledLock) Service() string                           { return "postgres" }
func (d *pooledLock) ReadAddr(string) (a drivers.Addr, _ error) { return a, nil }

func (d *pooledLock) Open(_ context.Context, cfg drivers.Config) (drivers.Service, error) {
	if len(cfg.Addrs) != 1 || !strings.HasPrefix(cfg.Addrs[0], "test://127.0.0.1:") {
		return nil, fmt.Errorf("no address of the pool: %q", cfg.Addrs)
	}
	return &pooledClient{pooledLock: d, name: cfg.Addrs[0], pids: map[string]int{}}, nil
}

// pooledClient is a service with its session.
type pooledClient struct {
	*pooledLock
	name string
	pids map[string]int // of its transactions, by their keys
}

func (c *pooledClient) Session(context.Context, int) (drivers.Session, error) { return c, nil }
func (c *pooledClient) Traits() drivers.Traits                                { return c.Designs()[0].Traits }
func (c *pooledClient) Close() error                                          { return nil }

func (c *pooledClient) Try(_ context.Context, l *drivers.Lease) (bool, error) {
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	pid := c.pool.lend(c.name)
	holder, held := c.pool.holds[l.Key]
	granted := !held || holder == pid
	if granted {
		c.pool.holds[l.Key] = pid
		c.pids[l.Key] = pid
	}
	if !granted || !c.pinned {
		c.pool.idle = append(c.pool.idle, pid)
	}
	return granted, nil
}

func (c *pooledClient) Release(_ context.Context, l *drivers.Lease) (bool, error) {
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	pid := c.pids[l.Key]
	if !c.pinned {
		pid = c.pool.lend(c.name)
	}
	c.pool.idle = append(c.pool.idle, pid)
	if c.pool.holds[l.Key] != pid {
		return false, nil
	}
	delete(c.pool.holds, l.Key)
	return true, nil
}

var lent, kept = &pooledLock{}, &pooledLock{pinned: true}

func init() {
	drivers.Register("planted-lent", lent)
	drivers.Register("planted-kept", kept)
}

// poolers is Servers with that pooler only.
type poolers struct{ *lending }

func (p poolers) Shared(context.Context, string, Kind) (Server, error) { return p.lending, nil }
func (p poolers) Own(context.Context, string, Kind) (Server, error)    { return p.lending, nil }

// TestPooler: a lock of a session is granted to both and stays behind; one of a transaction does not; and nothing is shown
// without a pooler, or with one that lends nothing.
func TestPooler(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, c := range []struct {
		name, driver   string
		placebo, never bool
		want           safety.Verdict
		why            string
	}{
		{"session", "planted-lent", false, false, safety.Fails, "A and B held the key at once"},
		{"transaction", "planted-kept", false, false, safety.Survives, ""},
		{"placebo", "planted-lent", true, false, safety.NotExercised, "there is no evidence that the pooler lends"},
		{"lends nothing", "planted-lent", false, true, safety.NotExercised, "there is no evidence that the pooler lends"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got safety.Cell
			for range 20 { // until the machine does not stall
				p := &lending{url: "test://" + l.Addr().String() + "/pool", never: c.never}
				lent.pool, kept.pool = p, p
				got = Run(t.Context(), hazardOf(t, "pooler"), []Lock{lockOf(t, c.driver)}, poolers{p}, Options{Attempts: 2, Placebo: c.placebo})[0]
				if got.Verdict != safety.Stalled {
					break
				}
			}
			if got.Verdict != c.want || !strings.HasPrefix(got.Why, c.why) {
				t.Errorf("%s: %s", got.Verdict, got.Why)
			}
			stays := slices.ContainsFunc(got.Story, func(e safety.Event) bool {
				return e.Kind == safety.Finding && strings.HasPrefix(e.Text, "the key was let go, and server process 1 holds it")
			})
			if fails := c.want == safety.Fails; stays != fails || got.Never != fails || fails && got.Failed != 2 {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestListedElsewhere: a design that admits a hazard which is shown on other servers only is said to be that.
func TestListedElsewhere(t *testing.T) {
	l := lockOf(t, "memory")
	h := hazardOf(t, "pooler")
	if why := h.applies(l, "mysql"); why != "only servers of postgres have this fault here" {
		t.Errorf("unlisted: %q", why)
	}
	l.Design.Loses = []drivers.Hazard{drivers.HazardPooler}
	if why := h.applies(l, "mysql"); why != "it admits that it fails, which lockbench can only show on servers of postgres" {
		t.Errorf("listed: %q", why)
	}
}
