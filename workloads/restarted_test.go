package workloads_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads"
)

// meddling calls do while the client that has the 50th grant holds it.
type meddling struct {
	drivers.Service
	grants atomic.Int64
	do     func() error
}

type meddlingSession struct {
	drivers.Session
	of *meddling
}

func (m *meddling) Unwrap() drivers.Service       { return m.Service }
func (s meddlingSession) Unwrap() drivers.Session { return s.Session }

func (m *meddling) Session(ctx context.Context, id int) (drivers.Session, error) {
	s, err := m.Service.Session(ctx, id)
	return meddlingSession{s, m}, err
}

func (s meddlingSession) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	held, err := s.Session.Try(ctx, l)
	if held && s.of.grants.Add(1) == 50 {
		err = s.of.do()
	}
	return held, err
}

// TestRestarted: a server that is restarted without persistence explains the locks that are lost, also if requests fail
// meanwhile. Nothing of that is told of one that goes on.
func TestRestarted(t *testing.T) {
	server := servertest.Redis(t, servers.Options{})
	restart := func() error { return errors.Join(server.Kill(), server.Restart(t.Context())) }
	for explained, do := range map[string]func() error{"the server was restarted or replaced": restart, "": func() error { return nil }} {
		driver, err := drivers.Lookup("rueidis")
		if err != nil {
			t.Fatal(err)
		}
		p := spec.Plan{
			Driver: "rueidis", Server: "external", Lock: "set-nx", Wait: "poll", Keys: 50, Ops: 400, Duration: time.Minute,
			Oracle: true, IOTimeout: 10 * time.Second, Load: spec.Load{Clients: 8, TTL: 10 * time.Second, Hold: time.Millisecond},
		}
		svc, err := driver.Open(t.Context(), drivers.Config{Lock: p.Lock, Addrs: []string{server.URL()}, Prefix: "restarted:"})
		if err != nil {
			t.Fatal(err)
		}
		r, err := (&workloads.Run{Plan: p, Service: &meddling{Service: svc, do: do}, Prefix: "restarted:"}).Do(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		restarted := explained != ""
		if r.Server.Replaced != restarted || (r.Safety.LostEarly > 0) != restarted || r.Safety.Explained != explained {
			t.Errorf("restarted %v: replaced %v, %d lost early, explained by %q", restarted, r.Server.Replaced, r.Safety.LostEarly,
				r.Safety.Explained)
		}
		if err := svc.Close(); err != nil {
			t.Error(err)
		}
	}
}
