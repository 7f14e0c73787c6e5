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
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/wait"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads/matrix"
)

// Deployments is the servers of a run: one deployment for each service, durability and topology that its cells ask for,
// started when the first of them runs. It is used by one goroutine at a time.
type Deployments struct {
	Targets
	Access
	conns   map[deployment]int // that the biggest cell needs
	running map[deployment]*server

	mu     sync.Mutex // guards closed against the exit that waits for nothing
	closed bool
}

// server is a deployment that can be opened.
type server struct {
	*servers.Running
	service *servers.Service
}

// New returns the deployments of some cells, and reads the files that external servers need. Nothing is started yet.
func New(t Targets, cells []matrix.Cell) (*Deployments, error) {
	ds := &Deployments{Targets: t, conns: map[deployment]int{}, running: map[deployment]*server{}}
	for _, c := range cells {
		d := deploymentOf(c.Plan)
		ds.conns[d] = max(ds.conns[d], matrix.Connections(&c.Plan))
	}
	if len(ds.List) == 0 || ds.List[0].Kind != matrix.External {
		return ds, nil
	}
	var err error
	ds.Access, err = ds.List[0].Login.Read()
	return ds, err
}

// Both returns those of the cells of two sides, the same twice if they can share them.
func Both(base, head Targets, baseCells, headCells []matrix.Cell) (b, h *Deployments, err error) {
	if all, ok := base.Join(head); ok {
		b, err = New(all, slices.Concat(baseCells, headCells))
		return b, b, err
	}
	if b, err = New(base, baseCells); err == nil {
		h, err = New(head, headCells)
	}
	return b, h, err
}

// Adopt takes a server that another process of this machine has started for that of a cell.
func (ds *Deployments) Adopt(c spec.Plan, s *servers.Running) error {
	d := deploymentOf(c)
	for _, addr := range s.URLs {
		if read, err := ReadAddr(d.service, addr); err != nil || !local(read) {
			return fmt.Errorf("a server of rank 0's own is not on this machine: %s", Redact(d.service, s.URLs))
		}
	}
	s.Close = func() error { return nil }
	ds.running[d] = &server{s, d.service}
	return nil
}

// local reports whether an address leads to a server of this machine.
func local(a drivers.Addr) bool {
	u, err := url.Parse(a.Redacted)
	return a.Network == "unix" || err == nil && net.ParseIP(u.Hostname()).IsLoopback()
}

// Running returns the server of a cell; nil as long as it has none.
func (ds *Deployments) Running(c spec.Plan) *servers.Running {
	if s := ds.running[deploymentOf(c)]; s != nil {
		return s.Running
	}
	return nil
}

// Start starts the server of a cell, unless it runs.
func (ds *Deployments) Start(ctx context.Context, p spec.Plan) (err error) {
	if matrix.Addressed(p.Driver) {
		_, err = ds.at(ctx, p)
	}
	return err
}

// at returns the server of a cell.
func (ds *Deployments) at(ctx context.Context, c spec.Plan) (*server, error) {
	d := deploymentOf(c)
	if s := ds.running[d]; s != nil {
		return s, nil
	}
	running, err := ds.start(ctx, c, d)
	if err != nil {
		return nil, err
	}
	s := &server{running, d.service}
	ds.mu.Lock()
	defer ds.mu.Unlock()
	if ds.closed {
		return nil, errors.Join(context.Canceled, s.Close())
	}
	ds.running[d] = s
	return s, nil
}

func (ds *Deployments) start(ctx context.Context, c spec.Plan, d deployment) (*servers.Running, error) {
	nothing := func() error { return nil }
	t := ds.Of(c.Driver)
	switch t.Kind {
	case matrix.Private:
		return t.Service.Start(ctx, servers.Options{
			Binary: t.Binary, Durability: d.durability, Conns: ds.conns[d],
			Topology: string(d.topology), Nodes: d.nodes, Replicas: d.replicas,
		})
	case matrix.Embedded:
		return t.Service.Embedded(max(1, d.nodes))
	case matrix.External:
		return &servers.Running{URLs: t.URLs, Network: t.Network, Close: nothing}, nil
	}
	return &servers.Running{Close: nothing}, nil
}

// Close stops the servers of our own. It leaves running as it is: an exit that waits for nothing calls it while the run
// goes on to read that.
func (ds *Deployments) Close() error {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	if ds.closed {
		return nil
	}
	ds.closed = true
	var err error
	for _, s := range ds.running {
		err = errors.Join(err, s.Close())
	}
	return err
}

// Open opens the service of a cell.
func (ds *Deployments) Open(ctx context.Context, c spec.Plan, prefix string) (drivers.Service, error) {
	d, err := matrix.Driver(&c)
	if err != nil {
		return nil, err
	}
	cfg := matrix.Config(&c, prefix)
	if t := ds.Of(c.Driver); t.Kind != matrix.InProcess {
		s, err := ds.at(ctx, c)
		if err != nil {
			return nil, err
		}
		ds.fill(&cfg)
		cfg.Addrs, cfg.Master = s.URLs, s.Master
	}
	return d.Open(ctx, cfg)
}

// Neighbour is a service beside the one that the load is on, with connections of its own to the same server; the zero
// value is none.
type Neighbour struct {
	drivers.Prober
	svc drivers.Service
}

// Close closes its connections.
func (n Neighbour) Close() {
	if n.svc != nil {
		_ = n.svc.Close()
	}
}

// Neighbour opens the one that sends a cell's probes, if it has any. The error is a *matrix.Misfit if its driver has no such
// request.
func (ds *Deployments) Neighbour(ctx context.Context, c spec.Plan, prefix string) (n Neighbour, err error) {
	if c.Probe == 0 {
		return n, nil
	}
	c.Clients, c.Conns, c.Lockers, c.Wait = 1, 0, 0, wait.None
	svc, err := ds.Open(ctx, c, prefix+"neighbour:")
	if err != nil {
		return n, fmt.Errorf("opening the neighbour of -probe: %w", err)
	}
	prober, ok := drivers.As[drivers.Prober](svc)
	if !ok {
		_ = svc.Close()
		return n, &matrix.Misfit{What: c.Driver + " -probe", Why: "its driver has no request that a neighbour would send"}
	}
	return Neighbour{prober, svc}, nil
}

// Describe returns what the engine cannot know of a cell's server.
func (ds *Deployments) Describe(c spec.Plan) results.Server {
	s := ds.running[deploymentOf(c)]
	if s == nil {
		return results.Server{}
	}
	addr := Redact(s.service, s.URLs)
	if c.Server == matrix.External {
		addr = ds.Of(c.Driver).Redacted
	}
	return results.Server{Addr: addr, Network: s.Network, Persistence: s.Persistence}
}

// CPU reads what the servers of a cell have used, if they are ours; else it is nil.
func (ds *Deployments) CPU(c spec.Plan) func() time.Duration { return ds.of(c).CPU }

// Threads returns the processes of a cell's servers of which the main thread executes all commands; nil if there is none.
func (ds *Deployments) Threads(c spec.Plan) func() []int {
	if s := ds.of(c); s.service != nil && s.service.SingleThreaded {
		return s.PIDs
	}
	return nil
}

// Network returns how a cell reaches its server, "embedded" for both ends in this process, and empty as long as it has none.
func (ds *Deployments) Network(c spec.Plan) string {
	if c.Server == matrix.Embedded {
		return matrix.Embedded
	}
	return ds.of(c).Network
}

// of returns the server of a cell, and one of which nothing is known as long as it has none.
func (ds *Deployments) of(c spec.Plan) *server {
	if s := ds.running[deploymentOf(c)]; s != nil {
		return s
	}
	return &server{Running: &servers.Running{}}
}

// deployment names the servers that a cell needs; cells with the same one share them.
type deployment struct {
	service         *servers.Service
	durability      servers.Durability
	topology        drivers.Topology
	nodes, replicas int
}

func deploymentOf(c spec.Plan) deployment {
	return deployment{
		Service(c.Driver), servers.Durability(c.Durability), drivers.Topology(c.Topology), c.Nodes, c.Replicas,
	}
}

// Deployment describes the servers that a cell needs.
func Deployment(p spec.Plan) string { return deploymentOf(p).String() }

func (d deployment) String() string {
	switch d.topology {
	case drivers.TopologyRedlock:
		return fmt.Sprintf("%d independent servers", d.nodes)
	case drivers.TopologyReplicated:
		return fmt.Sprintf("a primary with %d replicas", d.replicas)
	case drivers.TopologySentinel:
		return fmt.Sprintf("a primary with %d replicas and %d sentinels", d.replicas, servers.Sentinels)
	case drivers.TopologyCluster:
		return fmt.Sprintf("a cluster of %d primaries", d.nodes)
	case drivers.TopologyEnsemble:
		return fmt.Sprintf("an ensemble of %d", d.nodes)
	}
	return "one server"
}
