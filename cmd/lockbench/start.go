// Starting the servers of our own: what each service's topologies are made of.

package main

import (
	"context"
	"errors"

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
