// Package breakable starts the servers of lockbench prove, which breaks them.
package breakable

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/workloads/hazards"
)

// Servers starts servers for hazards, which reach them over a port of this machine. It is a hazards.Servers, and safe for
// concurrent use.
type Servers struct {
	mu     sync.Mutex
	shared map[kind]func() (hazards.Server, error)
	all    []hazards.Server
}

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

func (b *Servers) Own(ctx context.Context, service string, k hazards.Kind) (hazards.Server, error) {
	if start, ok := starts[kind{service, k}]; ok {
		return start(ctx)
	}
	described := servers.Named(service)
	switch {
	case described.Start == nil:
		var names []string
		for _, s := range servers.Services() {
			names = append(names, s.Name)
		}
		return nil, fmt.Errorf("lockbench does not know how to start %s: it starts %s, and what servers.Register describes", service, strings.Join(names, ", "))
	case k != hazards.Single:
		return nil, fmt.Errorf("lockbench starts a server of %s by itself only", service)
	}
	binary, err := described.Locate()
	if err != nil {
		return nil, err
	}
	running, err := described.Start(ctx, servers.StartOptions{Binary: binary, Nodes: 1})
	if err != nil {
		return nil, err
	}
	return registered{running, service}, nil
}

// registered is a server that servers.Register has described, of which no more is known than how to start and stop it.
type registered struct {
	*servers.Running
	service string
}

func (r registered) URL() string { return r.Running.URLs[0] }

func (r registered) PID() int {
	if r.PIDs == nil {
		return 0
	}
	return r.PIDs()[0]
}

func (r registered) Kill() error {
	return fmt.Errorf("lockbench does not know how to kill and restart a server of %s", r.service)
}

func (r registered) Restart(context.Context) error { return r.Kill() }

func (r registered) Close() error { return r.Running.Close() }

// Close stops the shared servers.
func (b *Servers) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := b.all
	b.all = nil
	return closeAll(all)
}

func closeAll[S interface{ Close() error }](all []S) (err error) {
	for _, s := range all {
		err = errors.Join(err, s.Close())
	}
	return err
}

// kind is what to start.
type kind struct {
	service string
	kind    hazards.Kind
}

// starts has a function for each kind. The servers keep on disk what they keep by default.
var starts = map[kind]func(context.Context) (hazards.Server, error){
	{"redis", hazards.Single}:       with(servers.StartRedis, servers.RedisOptions{TCP: true}),
	{"redis", hazards.HasClock}:     with(servers.StartRedis, servers.RedisOptions{TCP: true, Clock: true}),
	{"redis", hazards.IsQuorum}:     startQuorum,
	{"redis", hazards.IsPair}:       with(startReplicated, 1),
	{"redis", hazards.IsReplicated}: with(startReplicated, 2),
	{"redis", hazards.IsSentinel}:   startSentinel,
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
	{"mysql", hazards.Single}:       with(servers.StartMySQL, servers.MySQLOptions{TCP: true}),
	{"postgres", hazards.Single}:    with(servers.StartPostgres, servers.PostgresOptions{TCP: true}),
	{"postgres", hazards.HasPooler}: startPooled,
}

// with returns what starts a server with these options.
func with[S hazards.Server, O any](start func(context.Context, O) (S, error), o O) func(context.Context) (hazards.Server, error) {
	return func(ctx context.Context) (hazards.Server, error) {
		s, err := start(ctx, o)
		if err != nil {
			return nil, err // and not a nil S in an interface
		}
		return s, nil
	}
}

// alone is the only member of an ensemble.
type alone struct {
	hazards.Server
	close func() error
}

// Close stops the ensemble.
func (a alone) Close() error { return a.close() }

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

func (q *quorum) Nodes() []hazards.Server { return q.nodes }

// Close stops all of them.
func (q *quorum) Close() error { return closeAll(q.nodes) }

// pooled is a PostgreSQL server and a PgBouncer before it.
type pooled struct {
	*servers.Postgres
	pooler *servers.PgBouncer
	pools  atomic.Int64
}

func startPooled(ctx context.Context) (hazards.Server, error) {
	if _, err := servers.FindPgBouncer(); err != nil { // before a database cluster is made
		return nil, err
	}
	server, err := servers.StartPostgres(ctx, servers.PostgresOptions{TCP: true})
	if err != nil {
		return nil, err
	}
	pooler, err := servers.StartPgBouncer(ctx, servers.PgBouncerOptions{Postgres: server})
	if err != nil {
		return nil, errors.Join(err, server.Close())
	}
	return &pooled{Postgres: server, pooler: pooler}, nil
}

// Close stops both.
func (p *pooled) Close() error { return errors.Join(p.pooler.Close(), p.Postgres.Close()) }

// pool is a database, for which the pooler has a pool of its own.
type pool struct {
	*pooled
	database string
	url      string
	begin    func(ctx context.Context, database string) (pid int, end func() error, err error)
	borrowed []func() error
}

func (p *pooled) Pool(ctx context.Context, straight bool) (hazards.Pool, error) {
	one := &pool{pooled: p, database: fmt.Sprintf("pool_%d", p.pools.Add(1)), url: p.pooler.URL(), begin: p.pooler.Begin}
	if straight {
		one.url, one.begin = p.URL(), p.Postgres.Begin
	}
	address, err := url.Parse(one.url)
	if err != nil {
		return nil, err
	}
	address.Path, address.RawQuery = "/"+one.database, "default_query_exec_mode=exec" // as users of pgx do behind a pooler
	one.url = address.String()
	return one, p.CreateDatabase(ctx, one.database)
}

func (p *pool) URL() string { return p.url }

func (p *pool) Clients(ctx context.Context) (map[int]string, error) {
	return p.Postgres.Clients(ctx, p.database)
}

func (p *pool) Holders(ctx context.Context) ([]int, error) { return p.AdvisoryHolders(ctx, p.database) }

func (p *pool) Borrow(ctx context.Context) (pid int, err error) {
	pid, end, err := p.begin(ctx, p.database)
	if err == nil {
		p.borrowed = append(p.borrowed, end)
	}
	return pid, err
}

// Close drops the database.
func (p *pool) Close() error {
	var err error
	for _, end := range p.borrowed {
		err = errors.Join(err, end())
	}
	return errors.Join(err, p.DropDatabase(context.Background(), p.database))
}
