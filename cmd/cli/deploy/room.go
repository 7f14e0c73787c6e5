// Whether the server has room for the connections, before any load is made.

package deploy

import (
	"context"
	"fmt"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/wait"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads/matrix"
)

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
	if !matrix.Addressed(c.Driver) || matrix.Library(c.Driver).Pinned(c.Lock) {
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
