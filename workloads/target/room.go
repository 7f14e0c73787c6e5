package target

// Whether there is room for the connections of a cell: on this machine and on its server.

import (
	"context"
	"fmt"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/wait"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads/host"
	"github.com/lockbench/lockbench/workloads/matrix"
)

// spareFiles are the files that a process has open besides its connections.
const spareFiles = 64

// CheckLimits returns an error about what a cell lacks on this machine. The runtime has raised the soft limit on files to
// the hard one when the program began (https://go.dev/issue/46279), so what is missing here needs the user.
func (ds *Deployments) CheckLimits(p spec.Plan) error {
	return checkLimits(host.ReadLimits(), p, ds.Network(p))
}

func checkLimits(m host.Limits, p spec.Plan, network string) error {
	conns := matrix.Connections(&p)
	all := conns * max(1, p.Nodes)
	files := all + spareFiles
	if network == matrix.Embedded {
		files += all // the other ends are ours too
	}
	if all > 0 && m.Files > 0 && files > m.Files {
		return fmt.Errorf("%d connections need %d open files, and this process may have %d: "+
			"raise it with `ulimit -n %d`, or lower -conns or -clients", all, files, m.Files, files)
	}
	if network != "unix" && m.Ports > 0 && conns > m.Ports {
		return fmt.Errorf("%d connections to one address need as many local ports, and there are %d (net.ipv4.ip_local_port_range): lower -conns or -clients",
			conns, m.Ports)
	}
	return nil
}

// CheckRoom compares a cell with what its open service can take.
func CheckRoom(c spec.Plan, svc drivers.Service) error {
	if most := svc.Traits().MaxSessions; most > 0 && c.Clients > most {
		remedy := "lower -clients"
		if s := Service(c.Driver); s != nil && s.Limit != "" {
			remedy += ", or raise the server's " + s.Limit
		}
		return fmt.Errorf("-clients %d: %s %s can take %d clients here (a connection each, and a few for others): %s",
			c.Clients, c.Driver, c.Lock, most, remedy)
	}
	return nil
}

// CheckServer asks the server of a cell what it has room for, over a single connection: a pool that is opened at once fails in
// ways of its own if it finds no room, and its connections would pass for somebody else's. It returns a warning if the cell's
// may just not fit beside those of others.
func (ds *Deployments) CheckServer(ctx context.Context, c spec.Plan, prefix string) (warning string, err error) {
	one := c
	one.Clients, one.Conns, one.Wait, one.Probe = 1, 1, wait.None, 0
	if lib := matrix.Library(c.Driver); lib.Outside || lib.Pinned(c.Lock) || !matrix.Addressed(c.Driver) {
		one.Conns = 0
	}
	svc, err := ds.Open(ctx, one, prefix)
	if err != nil {
		return "", err
	}
	defer svc.Close()
	return checkServer(ctx, c, svc, matrix.Connections(&one))
}

// checkServer compares a cell with what its server says of itself through svc, which has own connections to it, or
// to each of its nodes.
func checkServer(ctx context.Context, c spec.Plan, svc drivers.Service, own int) (warning string, err error) {
	inspector, ok := drivers.As[drivers.Inspector](svc)
	if !ok {
		return "", nil
	}
	server, _, err := inspector.Inspect(ctx)
	if err != nil {
		return "", err
	}
	need, others, limit := matrix.Connections(&c), max(0, server.Connected-own), "its limit"
	if s := Service(c.Driver); s != nil && s.Limit != "" {
		limit = s.Limit
	}
	switch {
	case server.MaxClients == 0:
	case need > server.MaxClients:
		lower := "-conns or -clients"
		if svc.Traits().MaxSessions > 0 { // each client has a connection
			lower = "-clients"
		}
		return "", fmt.Errorf("%d connections are needed and the server accepts %d (%s): lower %s, or raise %s",
			need, server.MaxClients, limit, lower, limit)
	case need > server.MaxClients-others:
		return fmt.Sprintf("the server has %d of its %d connections (%s) in use and this run needs up to %d: some may be refused",
			others, server.MaxClients, limit, need), nil
	}
	return "", nil
}
