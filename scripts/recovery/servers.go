package main

// The private servers, one for each service.

import (
	"context"
	"errors"
	"fmt"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
)

// endpoint is where a service is reached.
type endpoint struct {
	urls  []string
	close func() error
}

// one is a server that is reached at one address, several at one each.
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

// starts has the service of each driver; see drivers.Addressed.
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

// fleet starts each service's server once.
type fleet struct {
	durability servers.Durability
	running    map[string]endpoint
}

// at is the endpoint for a driver, which is Addressed.
func (f *fleet) at(ctx context.Context, driver string) (endpoint, error) {
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
		return endpoint{}, fmt.Errorf("%s: nobody knows how to start %s", driver, service)
	}
	e, err := start(ctx, f.durability)
	if err == nil {
		f.running[service] = e
	}
	return e, err
}

func (f *fleet) close() error {
	var errs []error
	for _, e := range f.running {
		errs = append(errs, e.close())
	}
	return errors.Join(errs...)
}
