// Package target has the servers of a run, started or merely named, and what a driver needs to know to open one.
package target

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"sync"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/wait"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads/matrix"
)

// Deployments is the servers of a run: one deployment for each service, durability and topology that its cells ask for,
// started when the first of them runs. It is used by one goroutine at a time, but for Close.
type Deployments struct {
	Targets
	Access
	conns map[deployment]int // that the biggest cell needs

	mu      sync.Mutex
	running map[deployment]*Server
	closed  bool
}

// New returns the deployments of some cells, and reads the files that external servers need. Nothing is started yet.
func New(t Targets, cells []matrix.Cell) (ds *Deployments, err error) {
	ds = &Deployments{Targets: t, conns: map[deployment]int{}, running: map[deployment]*Server{}}
	for _, c := range cells {
		d := deploymentOf(c.Plan)
		conns, _ := matrix.Connections(&c.Plan)
		ds.conns[d] = max(ds.conns[d], conns)
	}
	if len(ds.List) > 0 && ds.List[0].Kind == matrix.External {
		ds.Access, err = ds.List[0].read()
	}
	return ds, err
}

// Both returns those of the cells of two sides, the same twice if they have the same targets.
func Both(base, head Targets, baseCells, headCells []matrix.Cell) (b, h *Deployments, err error) {
	same := func(a, b Target) bool {
		return a.Service == b.Service && a.Kind == b.Kind && a.Login == b.Login && slices.Equal(a.URLs, b.URLs)
	}
	if slices.EqualFunc(base.List, head.List, same) {
		b, err = New(base, slices.Concat(baseCells, headCells))
		return b, b, err
	}
	if b, err = New(base, baseCells); err == nil {
		h, err = New(head, headCells)
	}
	return b, h, err
}

// Server is what the cells of a deployment run on.
type Server struct {
	*servers.Running
	target Target
	access Access
}

// Running returns the server of a cell; nil as long as it has none.
func (ds *Deployments) Running(p spec.Plan) *Server {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	return ds.running[deploymentOf(p)]
}

// Server returns the server of a cell, which it starts unless it runs.
func (ds *Deployments) Server(ctx context.Context, p spec.Plan) (*Server, error) {
	if s := ds.Running(p); s != nil {
		return s, nil
	}
	d := deploymentOf(p)
	s, err := ds.start(ctx, p.Driver, d)
	if err != nil {
		return nil, err
	}
	ds.mu.Lock()
	defer ds.mu.Unlock()
	if ds.closed {
		return nil, errors.Join(context.Canceled, s.Close())
	}
	ds.running[d] = s
	return s, nil
}

func (ds *Deployments) start(ctx context.Context, driver string, d deployment) (_ *Server, err error) {
	t := ds.Of(driver)
	s := &Server{&servers.Running{URLs: t.URLs, Network: t.Network, Close: nothing}, t, ds.Access}
	switch t.Kind {
	case matrix.Private:
		s.Running, err = t.Service.Start(ctx, servers.Options{
			Binary: t.Binary, Durability: d.durability, Conns: ds.conns[d],
			Topology: d.topology, Nodes: d.nodes, Replicas: d.replicas,
		})
	case matrix.Embedded:
		s.Running, err = t.Service.Embedded(max(1, d.nodes))
	}
	return s, err
}

// Adopt returns a server that another process of this machine has started for a cell, and stops.
func (ds *Deployments) Adopt(p spec.Plan, r *servers.Running) (*Server, error) {
	s := &Server{r, ds.Of(p.Driver), ds.Access}
	for _, addr := range r.URLs {
		read, err := ReadAddr(s.target.Service, addr)
		if u, malformed := url.Parse(read.Redacted); err != nil || read.Network != "unix" &&
			(malformed != nil || !net.ParseIP(u.Hostname()).IsLoopback()) {
			return nil, fmt.Errorf("a server of rank 0's own is not on this machine: %s", Redact(s.target.Service, r.URLs))
		}
	}
	return s, nil
}

// Close stops the servers of our own. An exit that waits for nothing calls it while the run goes on.
func (ds *Deployments) Close() (err error) {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	if !ds.closed {
		for _, s := range ds.running {
			err = errors.Join(err, s.Close())
		}
	}
	ds.closed = true
	return err
}

// Open opens the service of a cell.
func (s *Server) Open(ctx context.Context, p spec.Plan, prefix string) (drivers.Service, error) {
	d, err := matrix.Driver(&p)
	if err != nil {
		return nil, err
	}
	cfg := matrix.Config(&p, prefix)
	if s.target.Kind != matrix.InProcess {
		cfg.Addrs, cfg.Master = s.URLs, s.Master
		cfg.Password, cfg.TLS = s.access.Password, s.access.tls
	}
	return d.Open(ctx, cfg)
}

// Neighbour opens a service beside the one that the load is on, with connections of its own to the same server, which
// sends a cell's probes; nil if it has none. It also returns what closes that. The error is a *matrix.Misfit if its
// driver has no such request.
func (s *Server) Neighbour(ctx context.Context, p spec.Plan, prefix string) (drivers.Prober, func() error, error) {
	if p.Probe == 0 {
		return nil, nothing, nil
	}
	p.Clients, p.Conns, p.Lockers, p.Wait = 1, 0, 0, wait.None
	svc, err := s.Open(ctx, p, prefix+"neighbour:")
	if err != nil {
		return nil, nil, fmt.Errorf("opening the neighbour of -probe: %w", err)
	}
	to, ok := drivers.As[drivers.Prober](svc)
	if !ok {
		_ = svc.Close()
		why := "its driver has no request that a neighbour would send"
		return nil, nil, &matrix.Misfit{What: p.Driver + " -probe", Why: why}
	}
	return to, svc.Close, nil
}

// Describe returns what the engine cannot know of the server; nothing of none.
func (s *Server) Describe() results.Server {
	if s == nil {
		return results.Server{}
	}
	return results.Server{Addr: Redact(s.target.Service, s.URLs), Network: s.Network, Persistence: s.Persistence}
}

// Threads returns the processes of the server of which the main thread executes all commands; nil if there is none.
func (s *Server) Threads() func() []int {
	if service := s.target.Service; service != nil && service.SingleThreaded {
		return s.PIDs
	}
	return nil
}

// deployment names the servers that a cell needs; cells with the same one share them.
type deployment struct {
	service         *servers.Service
	durability      servers.Durability
	topology        string
	nodes, replicas int
}

func deploymentOf(p spec.Plan) deployment {
	return deployment{Service(p.Driver), servers.Durability(p.Durability), p.Topology, p.Nodes, p.Replicas}
}

func nothing() error { return nil }
