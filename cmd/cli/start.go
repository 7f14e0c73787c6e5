// Starting the servers of our own: what each service's topologies are made of.

package cli

import (
	"context"
	"errors"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
)

// several is what the deployments of several servers have in common.
type several interface {
	URLs() []string
	Close() error
}

// startRedis leaves the CPU time to INFO.
func startRedis(ctx context.Context, d deployment, o startOptions) (*server, error) {
	redis := servers.RedisOptions{Binary: o.binary, Durability: o.durability}
	var s several
	var err error
	network, master := "tcp", ""
	switch d.topology {
	case drivers.TopologyRedlock:
		network = "unix"
		s, err = servers.StartNodes(ctx, d.nodes, redis)
	case drivers.TopologyReplicated:
		s, err = servers.StartReplicated(ctx, d.replicas, redis)
	case drivers.TopologySentinel:
		master = servers.SentinelMaster
		s, err = servers.StartSentinel(ctx, d.replicas, sentinels, redis)
	case drivers.TopologyCluster:
		s, err = servers.StartCluster(ctx, d.nodes, redis)
	default:
		r, err := servers.StartRedis(ctx, redis)
		if err != nil {
			return nil, err
		}
		return &server{urls: []string{r.URL()}, network: "unix", close: r.Close}, nil
	}
	if err != nil {
		return nil, err
	}
	return &server{urls: s.URLs(), network: network, master: master, close: s.Close}, nil
}

func startEmbedded(n int) (*server, error) {
	s := &server{network: "tcp"}
	var closers []func() error
	s.close = func() error {
		var errs []error
		for _, c := range closers {
			errs = append(errs, c())
		}
		return errors.Join(errs...)
	}
	for range n {
		e, err := servers.StartEmbedded()
		if err != nil {
			return nil, errors.Join(err, s.close())
		}
		s.urls, closers = append(s.urls, e.URL()), append(closers, e.Close)
	}
	return s, nil
}

// one is a server of our own that is one process, and ensemble one that is several.
type (
	one interface {
		URL() string
		Persistence() string
		CPU() time.Duration
		Close() error
	}
	ensemble interface {
		several
		Persistence() string
		CPU() time.Duration
	}
)

func startZooKeeper(ctx context.Context, d deployment, o startOptions) (*server, error) {
	s, err := servers.StartZooKeeper(ctx, max(1, d.nodes), servers.ZooKeeperOptions{Durability: o.durability})
	if err != nil {
		return nil, err
	}
	return ofEnsemble(s), nil
}

func startEtcd(ctx context.Context, d deployment, o startOptions) (*server, error) {
	s, err := servers.StartEtcd(ctx, max(1, d.nodes), servers.EtcdOptions{Binary: o.binary, Durability: o.durability})
	if err != nil {
		return nil, err
	}
	return ofEnsemble(s), nil
}

func startMySQL(ctx context.Context, _ deployment, o startOptions) (*server, error) {
	s, err := servers.StartMySQL(ctx, servers.MySQLOptions{Binary: o.binary, Durability: o.durability, Conns: room(o.conns)})
	if err != nil {
		return nil, err
	}
	return ofOne(s), nil
}

func startPostgres(ctx context.Context, _ deployment, o startOptions) (*server, error) {
	s, err := servers.StartPostgres(ctx, servers.PostgresOptions{Binary: o.binary, Durability: o.durability, Conns: room(o.conns)})
	if err != nil {
		return nil, err
	}
	return ofOne(s), nil
}

func ofOne(s one) *server {
	return &server{urls: []string{s.URL()}, network: "unix", persistence: s.Persistence(), cpu: s.CPU, close: s.Close}
}

func ofEnsemble(s ensemble) *server {
	return &server{urls: s.URLs(), network: "tcp", persistence: s.Persistence(), cpu: s.CPU, close: s.Close}
}

// room is what a database is told to have room for, with a few connections for looking at it and for mending what an
// outage has left. Up to the usual it is left alone, which is 0.
func room(conns int) int {
	const usual, spare = 500, 50
	if conns <= usual {
		return 0
	}
	return conns + spare
}
