// Package breakable starts the servers of lockbench prove, which breaks them.
package breakable

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/workloads/hazards"
)

// Servers starts servers for hazards, which reach them over a port of this machine. It is safe for concurrent use.
type Servers struct {
	mu     sync.Mutex
	shared map[kind]func() (hazards.Server, error)
	all    []hazards.Server
}

// Shared implements hazards.Servers.
func (b *Servers) Shared(ctx context.Context, service string, k hazards.Kind) (hazards.Server, error) {
	b.mu.Lock()
	start := b.shared[kind{service, k}]
	if start == nil {
		start = sync.OnceValues(func() (hazards.Server, error) {
			s, err := b.Own(ctx, service, k)
			if err == nil {
				b.mu.Lock()
				b.all = append(b.all, s)
				b.mu.Unlock()
			}
			return s, err
		})
		if b.shared == nil {
			b.shared = map[kind]func() (hazards.Server, error){}
		}
		b.shared[kind{service, k}] = start
	}
	b.mu.Unlock()
	return start()
}

// Own implements hazards.Servers.
func (b *Servers) Own(ctx context.Context, service string, k hazards.Kind) (hazards.Server, error) {
	start, ok := starts[kind{service, k}]
	if !ok {
		return nil, fmt.Errorf("lockbench cannot start a server of %s", service)
	}
	return start(ctx)
}

// Close stops the shared servers.
func (b *Servers) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var errs []error
	for _, s := range b.all {
		errs = append(errs, s.Close())
	}
	b.all = nil
	return errors.Join(errs...)
}

// kind is what to start.
type kind struct {
	service string
	kind    hazards.Kind
}

// starts has a function for each kind. The servers keep on disk what they keep by default.
var starts = map[kind]func(context.Context) (hazards.Server, error){
	{"redis", hazards.Single}: func(ctx context.Context) (hazards.Server, error) {
		return orNil(servers.StartRedis(ctx, servers.RedisOptions{TCP: true}))
	},
	{"redis", hazards.HasClock}: func(ctx context.Context) (hazards.Server, error) {
		return orNil(servers.StartRedis(ctx, servers.RedisOptions{TCP: true, Clock: true}))
	},
	{"redis", hazards.IsQuorum}: startQuorum,
	{"redis", hazards.IsPair}: func(ctx context.Context) (hazards.Server, error) {
		return orNil(startReplicated(ctx, 1))
	},
	{"redis", hazards.IsReplicated}: func(ctx context.Context) (hazards.Server, error) {
		return orNil(startReplicated(ctx, 2))
	},
	{"redis", hazards.IsSentinel}: func(ctx context.Context) (hazards.Server, error) {
		return orNil(startSentinel(ctx))
	},
	{"etcd", hazards.Single}: func(ctx context.Context) (hazards.Server, error) {
		e, err := servers.StartEtcd(ctx, 1, servers.EtcdOptions{})
		if err != nil {
			return nil, err
		}
		return alone{e.Nodes[0], e.Close}, nil
	},
	{"zookeeper", hazards.Single}: func(ctx context.Context) (hazards.Server, error) {
		z, err := servers.StartZooKeeper(ctx, 1, servers.ZooKeeperOptions{})
		if err != nil {
			return nil, err
		}
		return alone{z.Nodes[0], z.Close}, nil
	},
	{"mysql", hazards.Single}: func(ctx context.Context) (hazards.Server, error) {
		return orNil(servers.StartMySQL(ctx, servers.MySQLOptions{TCP: true}))
	},
	{"postgres", hazards.Single}: func(ctx context.Context) (hazards.Server, error) {
		return orNil(servers.StartPostgres(ctx, servers.PostgresOptions{TCP: true}))
	},
	{"postgres", hazards.HasPooler}: startPooled,
}

// alone is the only member of an ensemble.
type alone struct {
	hazards.Server
	close func() error
}

// Close stops the ensemble.
func (a alone) Close() error { return a.close() }

// orNil returns a nil interface with an error.
func orNil[S hazards.Server](s S, err error) (hazards.Server, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}

// quorum is five servers.
type quorum struct {
	hazards.Server // the first one
	nodes          []hazards.Server
}

func startQuorum(ctx context.Context) (hazards.Server, error) {
	q := &quorum{}
	for range 5 {
		s, err := servers.StartRedis(ctx, servers.RedisOptions{TCP: true})
		if err != nil {
			return nil, errors.Join(err, q.Close())
		}
		q.nodes = append(q.nodes, s)
	}
	q.Server = q.nodes[0]
	return q, nil
}

// Nodes implements hazards.Quorum.
func (q *quorum) Nodes() []hazards.Server { return q.nodes }

// Close stops all of them.
func (q *quorum) Close() error {
	var errs []error
	for _, s := range q.nodes {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}
