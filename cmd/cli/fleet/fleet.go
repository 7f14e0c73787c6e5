// Package fleet has the servers of a run, started or merely named, and what a driver needs to know to open one.
package fleet

import (
	"context"
	"errors"
	"fmt"
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

// Fleet is the servers of a run: one deployment for each service, durability and topology that its cells ask for,
// started when the first of them runs. It is used by one goroutine at a time.
type Fleet struct {
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

// New returns the fleet of some cells, and reads the files that external servers need. Nothing is started yet.
func New(t Targets, cells []matrix.Cell) (*Fleet, error) {
	f := &Fleet{Targets: t, conns: map[deployment]int{}, running: map[deployment]*server{}}
	for _, c := range cells {
		d := deploymentOf(c.Plan)
		f.conns[d] = max(f.conns[d], matrix.Connections(&c.Plan))
	}
	if len(f.List) == 0 || f.List[0].Kind != matrix.External {
		return f, nil
	}
	var err error
	f.Access, err = f.List[0].Login.Read()
	return f, err
}

// Both returns the fleets of the cells of two sides, the same one twice if they can share it.
func Both(base, head Targets, baseCells, headCells []matrix.Cell) (b, h *Fleet, err error) {
	if all, ok := base.Join(head); ok {
		b, err = New(all, slices.Concat(baseCells, headCells))
		return b, b, err
	}
	if b, err = New(base, baseCells); err == nil {
		h, err = New(head, headCells)
	}
	return b, h, err
}

// Start starts the server of a plan, unless it runs.
func (f *Fleet) Start(ctx context.Context, p spec.Plan) error {
	if !matrix.Addressed(p.Driver) {
		return nil
	}
	_, err := f.at(ctx, p)
	return err
}

// at returns the server of a plan.
func (f *Fleet) at(ctx context.Context, c spec.Plan) (*server, error) {
	d := deploymentOf(c)
	if s := f.running[d]; s != nil {
		return s, nil
	}
	running, err := f.start(ctx, c, d)
	if err != nil {
		return nil, err
	}
	s := &server{running, d.service}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, errors.Join(context.Canceled, s.Close())
	}
	f.running[d] = s
	return s, nil
}

func (f *Fleet) start(ctx context.Context, c spec.Plan, d deployment) (*servers.Running, error) {
	nothing := func() error { return nil }
	t := f.Of(c.Driver)
	switch t.Kind {
	case matrix.Private:
		return t.Service.Start(ctx, servers.StartOptions{
			Binary: t.Binary, Durability: d.durability, Conns: f.conns[d],
			Topology: string(d.topology), Nodes: d.nodes, Replicas: d.replicas,
		})
	case matrix.Embedded:
		return t.Service.Embedded(max(1, d.nodes))
	case matrix.External:
		return &servers.Running{URLs: t.URLs, Network: t.Network, Master: t.Master, Close: nothing}, nil
	}
	return &servers.Running{Close: nothing}, nil
}

// Close stops the servers of our own. It leaves running as it is: an exit that waits for nothing calls it while the run
// goes on to read that.
func (f *Fleet) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil
	}
	f.closed = true
	var errs []error
	for _, s := range f.running {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

// Open opens the service of a plan.
func (f *Fleet) Open(ctx context.Context, c spec.Plan, prefix string) (drivers.Service, error) {
	d, err := matrix.Driver(&c)
	if err != nil {
		return nil, err
	}
	cfg := matrix.Config(&c, prefix)
	if t := f.Of(c.Driver); t.Kind != matrix.InProcess {
		s, err := f.at(ctx, c)
		if err != nil {
			return nil, err
		}
		f.fill(&cfg)
		cfg.Addrs, cfg.Master, cfg.Database = s.URLs, s.Master, t.DB
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

// Neighbour opens the one that sends a plan's probes, if it has any. The error is a *matrix.Misfit if its driver has no such
// request.
func (f *Fleet) Neighbour(ctx context.Context, c spec.Plan, prefix string) (n Neighbour, err error) {
	if c.Probe == 0 {
		return n, nil
	}
	c.Clients, c.Conns, c.Lockers, c.Wait = 1, 0, 0, wait.None
	svc, err := f.Open(ctx, c, prefix+"neighbour:")
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

// Describe returns what the engine cannot know of a plan's server.
func (f *Fleet) Describe(c spec.Plan) results.Server {
	s := f.running[deploymentOf(c)]
	switch {
	case s == nil:
		return results.Server{}
	case c.Server == matrix.External:
		return results.Server{Addr: f.Of(c.Driver).Redacted, Network: s.Network, Persistence: s.Persistence}
	}
	return results.Server{Addr: Redact(s.service, s.URLs), Network: s.Network, Persistence: s.Persistence}
}

// CPU reads what the servers of a plan have used, if they are ours; else it is nil.
func (f *Fleet) CPU(c spec.Plan) func() time.Duration {
	if s := f.running[deploymentOf(c)]; s != nil {
		return s.CPU
	}
	return nil
}

// Network returns how a plan reaches its server, "embedded" for both ends in this process, and empty as long as it has
// none.
func (f *Fleet) Network(c spec.Plan) string {
	if c.Server == matrix.Embedded {
		return matrix.Embedded
	}
	if s := f.running[deploymentOf(c)]; s != nil {
		return s.Network
	}
	return ""
}
