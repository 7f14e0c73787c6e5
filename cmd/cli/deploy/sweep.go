package deploy

import (
	"context"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
)

// Traces are what a run may have left: names with a prefix, on servers that are asked together or one by one.
type Traces struct {
	Service  *servers.Service
	Addrs    []string
	Topology drivers.Topology
	Prefix   string
	File     string // that names the addresses, unless the user does
}

// Configs returns what the servers are opened with, each by itself unless they are one service.
func (t Traces) Configs(a Access) (list []drivers.Config) {
	cfg := drivers.Config{Addrs: t.Addrs, Topology: t.Topology, Prefix: t.Prefix, Master: a.Master}
	a.fill(&cfg)
	if t.Service.Database == servers.DatabaseNone {
		cfg.Database = ""
	}
	if t.Topology != "" {
		return []drivers.Config{cfg}
	}
	for _, addr := range t.Addrs {
		cfg.Addrs = []string{addr}
		list = append(list, cfg)
	}
	return list
}

// sweepTimeout bounds the sweep at the end of a run.
const sweepTimeout = 30 * time.Second

// SweepPatiently sweeps at the end of a run, and tries again for a while if the server loads its data or comes back.
func SweepPatiently(s drivers.Sweeper, cfg drivers.Config) error {
	ctx, cancel := context.WithTimeout(context.Background(), sweepTimeout)
	defer cancel()
	return drivers.RetryCleanup(ctx, func() error {
		_, err := s.Sweep(ctx, cfg, false)
		return err
	})
}

// Sweeper returns a driver of the service that can sweep.
func Sweeper(s *servers.Service) drivers.Sweeper {
	for _, name := range drivers.Names() {
		if Service(name) != s {
			continue
		}
		d, _ := drivers.Lookup(name)
		if sweeper, ok := d.(drivers.Sweeper); ok {
			return sweeper
		}
	}
	panic("lockbench: no driver sweeps servers of " + s.Name)
}
