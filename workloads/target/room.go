package target

// Whether there is room for the connections of a cell: on this machine and on its server.

import (
	"cmp"
	"context"
	"fmt"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/wait"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads/host"
	"github.com/lockbench/lockbench/workloads/matrix"
)

// CheckLimits returns an error about what a cell lacks on this machine. The runtime has raised the soft limit on
// files to the hard one when the program began (https://go.dev/issue/46279), so what is missing here needs the user.
func (s *Server) CheckLimits(p spec.Plan) error { return s.checkLimits(p, host.ReadLimits()) }

func (s *Server) checkLimits(p spec.Plan, m host.Limits) error {
	conns, _ := matrix.Connections(&p)
	all := conns * max(1, p.Nodes)
	files := all + 64 // for what else is open
	if s.target.Kind == matrix.Embedded {
		files += all // the other ends are ours too
	}
	switch {
	case all > 0 && m.Files > 0 && files > m.Files:
		return fmt.Errorf("%d connections need %d open files, and this process may have %d: "+
			"raise it with `ulimit -n %d`, or lower -conns or -clients", all, files, m.Files, files)
	case s.Network != "unix" && m.Ports > 0 && conns > m.Ports:
		return fmt.Errorf("%d connections to one address need as many local ports, and there are %d "+
			"(net.ipv4.ip_local_port_range): lower -conns or -clients", conns, m.Ports)
	}
	return nil
}

// CheckRoom compares a cell with what its open service can take.
func CheckRoom(ctx context.Context, p spec.Plan, svc drivers.Service) error {
	most := svc.Traits().MaxSessions
	if most == 0 || p.Clients <= most {
		return nil
	}
	var has drivers.Server
	if inspector, ok := drivers.As[drivers.Inspector](svc); ok {
		has, _, _ = inspector.Inspect(ctx)
	}
	remedy := "lower -clients"
	if limit := limitOf(p, has); limit != "" {
		remedy += ", or raise " + limit
	}
	if most < has.MaxClients {
		remedy += fmt.Sprintf(" (%d: %d in use, %d kept for other requests)", has.MaxClients, has.Connected,
			max(0, has.MaxClients-has.Connected-most))
	}
	return fmt.Errorf("-clients %d: %s %s has room for %s here, a connection each: %s",
		p.Clients, p.Driver, p.Lock, format.Plural(most, "client"), remedy)
}

// limitOf returns the name of the setting that bounds the connections to a cell's server; empty if it is not known.
func limitOf(p spec.Plan, has drivers.Server) string {
	if s := Service(p.Driver); s != nil {
		return cmp.Or(has.ClientLimit, s.Limit)
	}
	return has.ClientLimit
}

// CheckServer asks the server of a cell what it has room for, over a single connection: a pool that is opened at once
// fails in ways of its own if it finds no room, and its connections would pass for somebody else's. It returns a
// warning if the cell's may just not fit beside those of others.
func (s *Server) CheckServer(ctx context.Context, p spec.Plan, prefix string) (warning string, err error) {
	one := p
	one.Clients, one.Conns, one.Wait, one.Probe = 1, 1, wait.None, 0
	if lib := matrix.Library(p.Driver); lib.Outside || lib.Pinned(p.Lock) || !matrix.Addressed(p.Driver) {
		one.Conns = 0
	}
	svc, err := s.Open(ctx, one, prefix)
	if err != nil {
		return "", err
	}
	defer svc.Close()
	inspector, ok := drivers.As[drivers.Inspector](svc)
	if !ok {
		return "", nil
	}
	has, _, err := inspector.Inspect(ctx)
	if err != nil {
		return "", err
	}
	lower := "-conns or -clients"
	if svc.Traits().MaxSessions > 0 { // each client has a connection
		lower = "-clients"
	}
	ours, _ := matrix.Connections(&one)
	return fits(p, has, max(0, has.Connected-ours), lower)
}

// fits compares a cell with what its server, or each node of it, keeps and has room for beside the connections of
// others.
func fits(p spec.Plan, has drivers.Server, others int, lower string) (warning string, err error) {
	need, _ := matrix.Connections(&p)
	limit := cmp.Or(limitOf(p, has), "its limit")
	switch {
	case has.Mode == drivers.Lent:
		return "", fmt.Errorf("a pooler lends the connections to the server for one transaction, and the locks of %s with them: "+
			"give the server's own address, set pool_mode to session, or take -lock row-lock", p.Lock)
	case has.MaxClients == 0:
	case need > has.MaxClients:
		return "", fmt.Errorf("%d connections are needed and the server accepts %d (%s): lower %s, or raise %s",
			need, has.MaxClients, limit, lower, limit)
	case need > has.MaxClients-others:
		return fmt.Sprintf("the server has %d of its %d connections (%s) in use and this run needs up to %d: "+
			"some may be refused", others, has.MaxClients, limit, need), nil
	}
	return "", nil
}
