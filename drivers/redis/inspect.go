// Asking the server what it is and what it has used.
package redis

import (
	"context"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/drivers"
)

// Inspect implements drivers.Inspector with INFO, and CONFIG GET if the server permits it. It changes nothing. What the
// server does not tell is unknown, which is not an error.
func (s *service) Inspect(ctx context.Context) (drivers.Server, drivers.Usage, error) {
	server, usage, err := s.inspectAll(ctx)
	if err != nil {
		return drivers.Server{}, drivers.Usage{}, fail("inspect", err)
	}
	switch s.cfg.Topology {
	case drivers.TopologySentinel, drivers.TopologyCluster:
		server.Mode = string(s.cfg.Topology)
	}
	return server, usage, nil
}

// inspectAll inspects the server, the current primary, or all primaries of a cluster.
func (s *service) inspectAll(ctx context.Context) (drivers.Server, drivers.Usage, error) {
	cluster, ok := s.conn.(*clusterConn)
	if !ok {
		return s.inspect(ctx, s.conn)
	}
	addrs, err := cluster.primaries(ctx)
	if err != nil {
		return drivers.Server{}, drivers.Usage{}, err
	}
	var all clusterReport
	for _, addr := range addrs {
		node, err := cluster.node(ctx, addr)
		if err != nil {
			return drivers.Server{}, drivers.Usage{}, err
		}
		server, usage, err := s.inspect(ctx, node)
		if err != nil {
			return drivers.Server{}, drivers.Usage{}, err
		}
		all.add(server, usage)
	}
	return all.server, all.usage, nil
}

// clusterReport sums up the reports of the primaries of a cluster.
type clusterReport struct {
	server drivers.Server
	usage  drivers.Usage
	nodes  int
}

func (r *clusterReport) add(s drivers.Server, u drivers.Usage) {
	if r.nodes++; r.nodes == 1 {
		r.server, r.usage = s, u
		return
	}
	r.server.Version = both(r.server.Version, s.Version)
	r.server.Persistence = both(r.server.Persistence, s.Persistence)
	r.server.RunID += "+" + s.RunID // changes when any of them restarts or is replaced
	r.server.Replicas += s.Replicas
	// Connections are limited per node: the fullest one counts.
	r.server.Connected = max(r.server.Connected, s.Connected)
	r.server.MaxClients = min(r.server.MaxClients, s.MaxClients)
	r.usage = r.usage.Plus(u)
}

// both joins the values of different nodes.
func both(a, b string) string {
	if slices.Contains(strings.Split(a, ", "), b) {
		return a
	}
	return a + ", " + b
}

// inspect inspects the server that conn leads to.
func (s *service) inspect(ctx context.Context, conn Conn) (drivers.Server, drivers.Usage, error) {
	fields, err := askInfo(ctx, conn)
	if err != nil {
		return drivers.Server{}, drivers.Usage{}, err
	}
	server, usage := fields.server(), fields.usage()
	if s.cfg.Embedded {
		server.Name = "miniredis"
		return server, usage, nil
	}
	save, known1, err := askConfig(ctx, conn, "save")
	if err != nil {
		return drivers.Server{}, drivers.Usage{}, err
	}
	fsync, known2, err := askConfig(ctx, conn, "appendfsync")
	if err != nil {
		return drivers.Server{}, drivers.Usage{}, err
	}
	server.Persistence = fields.persistence(save, fsync, known1 && known2)
	return server, usage, nil
}

// askInfo asks for INFO. A server that refuses it has no fields.
func askInfo(ctx context.Context, conn Conn) (info, error) {
	reply, err := conn.Do(ctx, []string{"INFO"}, 0)
	if _, refused := asServerError(err); refused {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	text, err := reply.AsText()
	if err != nil {
		return nil, err
	}
	return parseInfo(text)
}

// askConfig asks for one parameter; known is false if the server refuses, or does not know the parameter.
func askConfig(ctx context.Context, conn Conn, name string) (value string, known bool, err error) {
	reply, err := conn.Do(ctx, []string{"CONFIG", "GET", name}, 0)
	if _, refused := asServerError(err); refused {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	pair, err := reply.AsArray()
	if err != nil {
		return "", false, err
	}
	if len(pair) != 2 {
		return "", false, nil
	}
	value, err = pair[1].AsText()
	return value, err == nil, err
}
