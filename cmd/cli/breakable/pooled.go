package breakable

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync/atomic"

	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/workloads/hazards"
)

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

// Pool implements hazards.Pooler.
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

// URL implements hazards.Server.
func (p *pool) URL() string { return p.url }

// Clients implements hazards.Pool.
func (p *pool) Clients(ctx context.Context) (map[int]string, error) {
	return p.Postgres.Clients(ctx, p.database)
}

// Holders implements hazards.Pool.
func (p *pool) Holders(ctx context.Context) ([]int, error) {
	return p.AdvisoryHolders(ctx, p.database)
}

// Borrow implements hazards.Pool.
func (p *pool) Borrow(ctx context.Context) (pid int, err error) {
	pid, end, err := p.begin(ctx, p.database)
	if err == nil {
		p.borrowed = append(p.borrowed, end)
	}
	return pid, err
}

// Close drops the database.
func (p *pool) Close() error {
	var errs []error
	for _, end := range p.borrowed {
		errs = append(errs, end())
	}
	return errors.Join(append(errs, p.DropDatabase(context.Background(), p.database))...)
}
