package main

// The private servers, one for each service.

import (
	"context"
	"errors"
	"fmt"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
)

// endpoint is the address of a running service.
type endpoint struct {
	urls  []string
	close func() error
}

// one and several return the endpoint of a server with one address and with several.
func one(s interface {
	URL() string
	Close() error
}, err error) (endpoint, error) {
	if err != nil {
		return endpoint{}, err
	}
	return endpoint{[]string{s.URL()}, s.Close}, nil
}

func several(s interface {
	URLs() []string
	Close() error
}, err error) (endpoint, error) {
	if err != nil {
		return endpoint{}, err
	}
	return endpoint{s.URLs(), s.Close}, nil
}

// starts has a function for the service of each driver; see drivers.Addressed.
var starts = map[string]func(context.Context, servers.Durability) (endpoint, error){
	"redis": func(ctx context.Context, d servers.Durability) (endpoint, error) {
		s, err := servers.StartRedis(ctx, servers.RedisOptions{Durability: d})
		return one(s, err)
	},
	"zookeeper": func(ctx context.Context, d servers.Durability) (endpoint, error) {
		s, err := servers.StartZooKeeper(ctx, 1, servers.ZooKeeperOptions{Durability: d})
		return several(s, err)
	},
	"etcd": func(ctx context.Context, d servers.Durability) (endpoint, error) {
		s, err := servers.StartEtcd(ctx, 1, servers.EtcdOptions{Durability: d})
		return several(s, err)
	},
	"mysql": func(ctx context.Context, d servers.Durability) (endpoint, error) {
		s, err := servers.StartMySQL(ctx, servers.MySQLOptions{Durability: d})
		return one(s, err)
	},
	"postgres": func(ctx context.Context, d servers.Durability) (endpoint, error) {
		s, err := servers.StartPostgres(ctx, servers.PostgresOptions{Durability: d})
		return one(s, err)
	},
}

// deployments starts each service's server once.
type deployments struct {
	durability servers.Durability
	running    map[string]endpoint
}

// at returns the endpoint for a driver, which must be Addressed.
func (f *deployments) at(ctx context.Context, driver string) (endpoint, error) {
	d, err := drivers.Lookup(driver)
	if err != nil {
		return endpoint{}, err
	}
	service := d.(drivers.Addressed).Service()
	if e, ok := f.running[service]; ok {
		return e, nil
	}
	start, ok := starts[service]
	if !ok {
		return endpoint{}, fmt.Errorf("%s: cannot start %s", driver, service)
	}
	e, err := start(ctx, f.durability)
	if err == nil {
		f.running[service] = e
	}
	return e, err
}

func (f *deployments) close() error {
	var errs []error
	for _, e := range f.running {
		errs = append(errs, e.close())
	}
	return errors.Join(errs...)
}
