// Finding and deleting what a run has left, by its prefix.
package redis

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/drivers"
)

// scanCount is the number of keys that one SCAN looks at: few enough not to delay other users of the server.
const scanCount = "1000"

// Sweep implements drivers.Sweeper with SCAN and DEL, on every primary of a cluster.
func (d Driver) Sweep(ctx context.Context, cfg drivers.Config, dry bool) ([]string, error) {
	if cfg.Prefix == "" {
		return nil, fail("sweep", drivers.ErrNoPrefix)
	}
	if cfg.Topology == drivers.TopologyReplicated { // replicas need not answer
		cfg.Topology = drivers.TopologySingle
	}
	cfg.Lock, cfg.Clients, cfg.Conns, cfg.Wakes, cfg.Blocks = setNX.Name, 1, 1, false, false
	opened, err := d.Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	s := opened.(*service)
	conns, err := s.primaries(ctx)
	if err != nil {
		return nil, fail("sweep", err)
	}
	found := map[string]bool{} // SCAN may return a key twice
	for _, conn := range conns {
		err := scan(ctx, conn, cfg.Prefix, func(keys []string) error {
			for _, key := range keys {
				found[key] = true
			}
			if dry {
				return nil
			}
			return s.remove(ctx, keys)
		})
		if err != nil {
			return slices.Sorted(maps.Keys(found)), fail("sweep", err)
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
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

// scan calls each with the keys of one server that begin with the prefix, in batches.
func scan(ctx context.Context, conn Conn, prefix string, each func(keys []string) error) error {
	for cursor := "0"; ; {
		reply, err := conn.Do(ctx, []string{"SCAN", cursor, "MATCH", literal.Replace(prefix) + "*", "COUNT", scanCount}, 0)
		if err != nil {
			return err
		}
		parts, err := reply.AsArray()
		if err != nil {
			return err
		}
		if len(parts) != 2 {
			return Unexpected("SCAN answers a cursor and keys")
		}
		items, err := parts[1].AsArray()
		if err != nil {
			return err
		}
		var keys []string
		for _, item := range items {
			if key, _ := item.AsText(); strings.HasPrefix(key, prefix) { // not trusting the server's matching
				keys = append(keys, key)
			}
		}
		if err := each(keys); err != nil {
			return err
		}
		if cursor, err = parts[0].AsText(); err != nil || cursor == "0" {
			return err
		}
	}
}

// literal escapes the special characters of Redis's patterns.
var literal = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`)
