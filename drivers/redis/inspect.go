// Asking the server what it is and what it has used, and finding what a run has left.
package redis

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

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
	conns, err := s.primaries(ctx)
	if err != nil {
		return drivers.Server{}, drivers.Usage{}, err
	}
	var all clusterReport
	for _, conn := range conns {
		server, usage, err := s.inspect(ctx, conn)
		if err != nil {
			return drivers.Server{}, drivers.Usage{}, err
		}
		all.add(server, usage)
	}
	return all.server, all.usage, nil
}

// clusterReport sums up the reports of several servers.
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
	r.server.Evicted += s.Evicted
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
	return parseInfo(text), nil
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

// parseInfo parses the reply to INFO: lines "field:value", comments with # and empty lines.
func parseInfo(text string) info {
	fields := info{}
	for line := range strings.Lines(text) {
		if field, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ":"); ok {
			fields[field] = value
		}
	}
	return fields
}

// info has the fields of an INFO reply. Fields that are missing or make no sense are unknown.
type info map[string]string

// number returns a count, or unknown.
func (f info) number(field string, unknown int64) int64 {
	n, err := strconv.ParseInt(f[field], 10, 64)
	if err != nil || n < 0 {
		return unknown
	}
	return n
}

func (f info) server() drivers.Server {
	s := drivers.Server{
		Mode:       cmp.Or(f["redis_mode"], f["server_mode"]), // Valkey has renamed it
		RunID:      f["run_id"],
		Replicas:   int(min(f.number("connected_slaves", 0), math.MaxInt32)),
		MaxClients: int(min(f.number("maxclients", 0), math.MaxInt32)),
		Connected:  int(min(f.number("connected_clients", 0), math.MaxInt32)),
		Evicted:    f.number("evicted_keys", 0),
	}
	// After a fail-over there and back the primary is the same process, with the id of the one between.
	if between := f["master_replid2"]; strings.Trim(between, "0") != "" {
		s.RunID += "-" + between
	}
	// Forks keep a redis_version for compatibility and add their own.
	for _, name := range []string{"valkey", "dragonfly", "kvrocks", "redis"} {
		if version, ok := f[name+"_version"]; ok {
			s.Name, s.Version = name, version
			break
		}
	}
	return s
}

// usage returns the running total. total_commands_processed includes commands inside scripts: on 7.0.15 ten EVALs of
// two GETs each raise it by thirty, like the sum of commandstats.
func (f info) usage() drivers.Usage {
	return drivers.Usage{
		CPU:      f.cpu(),
		Commands: f.number("total_commands_processed", -1),
		BytesIn:  f.number("total_net_input_bytes", -1),
		BytesOut: f.number("total_net_output_bytes", -1),
	}
}

func (f info) cpu() time.Duration {
	var total time.Duration
	for _, field := range []string{"used_cpu_user", "used_cpu_sys"} {
		// Twelve decimal places at most: time.ParseDuration is exact, a float is not.
		d, err := time.ParseDuration(f[field] + "s")
		if err != nil || d < 0 || total+d < total {
			return -1
		}
		total += d
	}
	return total
}

// persistence says what the server writes to disk. save is its configuration of snapshots and fsync that of the
// append-only file; known reports whether the server allowed asking for them.
func (f info) persistence(save, fsync string, known bool) string {
	var parts []string
	if known && save != "" {
		parts = append(parts, "rdb")
	}
	switch aof := f["aof_enabled"]; {
	case aof == "1" && fsync != "":
		parts = append(parts, "aof "+fsync)
	case aof == "1":
		parts = append(parts, "aof")
	case aof != "0" || !known:
		return ""
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, " + ")
}

// primaries returns connections to all servers that have keys.
func (s *service) primaries(ctx context.Context) ([]Conn, error) {
	cluster, ok := s.conn.(*clusterConn)
	if !ok {
		return []Conn{s.conn}, nil
	}
	addrs, err := cluster.primaries(ctx)
	if err != nil {
		return nil, err
	}
	conns := make([]Conn, len(addrs))
	for i, addr := range addrs {
		if conns[i], err = cluster.node(ctx, addr); err != nil {
			return nil, err
		}
	}
	return conns, nil
}
