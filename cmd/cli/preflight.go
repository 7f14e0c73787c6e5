// Preflight: whether the server has room for the connections, before any load is made.

package cli

import (
	"context"
	"fmt"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads/matrix"
)

// checkRoom compares a cell with what its open service can take.
func checkRoom(c spec.Plan, svc drivers.Service) error {
	if most := svc.Traits().MaxSessions; most > 0 && c.Clients > most {
		remedy := "lower -clients"
		if s := serviceOf(c.Driver); s != nil && s.Limit != "" {
			remedy += ", or raise the server's " + s.Limit
		}
		return fmt.Errorf("-clients %d: %s %s can take %d clients here (a connection each, and a few for others): %s",
			c.Clients, c.Driver, c.Lock, most, remedy)
	}
	return nil
}

// checkServer compares a cell with what its server says of itself through svc, which has own connections to it, or
// to each of its nodes. It answers a warning, if the cell's may just not fit beside those of others.
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
	if s := serviceOf(c.Driver); s != nil && s.Limit != "" {
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
