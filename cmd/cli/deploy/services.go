package deploy

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
)

// Service returns the service of a driver, and nil for one that needs no server.
func Service(driver string) *servers.Service {
	d, err := drivers.Lookup(driver)
	if err != nil {
		return nil
	}
	a, ok := d.(drivers.Addressed)
	if !ok {
		return nil
	}
	return servers.Named(a.Service())
}

// Services returns the services of a list of drivers, each once, in the order in which they come.
func Services(driverNames []string) (list []*servers.Service) {
	for _, name := range driverNames {
		if s := Service(name); s != nil && !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}

// driverOf returns a driver of the service that has a capability.
func driverOf[T any](s *servers.Service) T {
	for _, name := range drivers.Names() {
		d, _ := drivers.Lookup(name)
		if found, ok := d.(T); ok && Service(name) == s {
			return found
		}
	}
	panic(fmt.Sprintf("lockbench: no driver of %s is a %v", s.Name, reflect.TypeFor[T]()))
}

// ReadAddr reads an address of the service, as any of its drivers would.
func ReadAddr(s *servers.Service, addr string) (drivers.Addr, error) {
	return driverOf[drivers.Addressed](s).ReadAddr(addr)
}

// Redact returns a list of addresses without users and passwords.
func Redact(s *servers.Service, addrs []string) string {
	var list []string
	for _, addr := range addrs {
		read, err := ReadAddr(s, addr)
		if err != nil {
			return "an address of " + s.Name // quoting it might show a password
		}
		list = append(list, read.Redacted)
	}
	return strings.Join(list, ",")
}

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
func Sweeper(s *servers.Service) drivers.Sweeper { return driverOf[drivers.Sweeper](s) }
