package workloads

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// desk is a service at which sessions have to log in.
type desk struct {
	drivers.Service
	session bool // Traits.Session
	login   func(ctx context.Context, id int) error

	mu     sync.Mutex
	logins []int
	open   atomic.Int64
}

type guest struct {
	drivers.Session
	desk *desk
}

func (d *desk) Traits() drivers.Traits {
	t := d.Service.Traits()
	t.Session = d.session
	return t
}

func (d *desk) Session(ctx context.Context, id int) (drivers.Session, error) {
	d.mu.Lock()
	d.logins = append(d.logins, id)
	d.mu.Unlock()
	if err := d.login(ctx, id); err != nil {
		return nil, err
	}
	s, err := d.Service.Session(ctx, id)
	d.open.Add(1)
	return &guest{s, d}, err
}

func (g *guest) Close() error {
	g.desk.open.Add(-1)
	return nil
}

// Clients that log in do so side by side; an error, or the end of the context, ends that and closes those that are in.
func TestOpenClients(t *testing.T) {
	p := plan("memory", "mutex")
	p.Clients, p.Duration = 4*atOnce, 50*time.Millisecond
	var arrived sync.WaitGroup
	arrived.Add(atOnce)
	together := func(_ context.Context, id int) error {
		if id < atOnce { // hangs for ever if they come one by one
			arrived.Done()
			arrived.Wait()
		}
		return nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	for name, tc := range map[string]struct {
		session bool
		login   func(ctx context.Context, id int) error
		want    string // of the error
		most    int    // logins
	}{
		"several at once": {true, together, "", p.Clients},
		"one by one":      {false, func(context.Context, int) error { return nil }, "", p.Clients},
		"refused": {true, func(ctx context.Context, id int) error {
			if id == 20 {
				return errors.New("the house is full")
			}
			if id > 20 {
				<-ctx.Done() // those under way are ended
				return ctx.Err()
			}
			return nil
		}, "client 20: the house is full", 20 + atOnce},
		"refused one by one": {false, func(_ context.Context, id int) error {
			if id == 20 {
				return errors.New("the house is full")
			}
			return nil
		}, "client 20: the house is full", 21},
		"interrupted": {true, func(ctx context.Context, id int) error {
			if id == 20 {
				cancel()
			}
			if id >= 20 {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}, "context canceled", 20 + atOnce},
	} {
		t.Run(name, func(t *testing.T) {
			d := &desk{Service: open(t, p), session: tc.session, login: tc.login}
			under := t.Context()
			if name == "interrupted" {
				under = ctx
			}
			_, err := (&Run{Plan: p, Service: d, Prefix: "test:"}).Do(under)
			if got := fmt.Sprint(err); tc.want == "" && err != nil || !strings.Contains(got, tc.want) {
				t.Errorf("the run ended with %v; want %q", err, tc.want)
			}
			if n := d.open.Load(); n != 0 {
				t.Errorf("%d sessions are left open", n)
			}
			if !tc.session && !slices.IsSorted(d.logins) || len(d.logins) > tc.most {
				t.Errorf("logins: %v", d.logins)
			}
		})
	}
}

// The delays of a client that backs off are no function of its keys and its holds.
func TestDelaysHaveTheirOwnStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := plan("memory", "mutex")
		p.Wait, p.BackoffMin, p.BackoffMax, p.Seed = "backoff", time.Hour, time.Hour, 1
		c := lone(t, p)
		draws := c.rng
		same := time.Duration(rand.New(&draws).Int64N(int64(p.BackoffMin)))
		begin := time.Now()
		if err := c.waiter.Wait(t.Context(), &c.lease); err != nil {
			t.Fatal(err)
		}
		if slept := time.Since(begin); slept == same {
			t.Errorf("the first delay, %v, is what the client draws for its keys and holds", slept)
		}
	})
}
