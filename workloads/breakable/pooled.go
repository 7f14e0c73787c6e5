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
	pooler *servers.Server
	pools  atomic.Int64
}

func startPooled(ctx context.Context, o servers.Options) (*pooled, error) {
	server, err := servers.StartPostgres(ctx, o)
	if err != nil {
		return nil, err
	}
	pooler, err := servers.StartPgBouncer(ctx, server)
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
	to       *servers.Server // the pooler, or the server itself
	database string
	borrowed []func() error
}

func (p *pooled) Pool(ctx context.Context, straight bool) (hazards.Pool, error) {
	one := &pool{pooled: p, to: p.pooler, database: fmt.Sprintf("pool_%d", p.pools.Add(1))}
	if straight {
		one.to = p.Server
	}
	return one, p.CreateDatabase(ctx, one.database)
}

// URL has the mode of queries that users of pgx choose behind a pooler.
func (p *pool) URL() string {
	address, _ := url.Parse(p.to.URL()) // of our own making
	address.Path, address.RawQuery = "/"+p.database, "default_query_exec_mode=exec"
	return address.String()
}

func (p *pool) Clients(ctx context.Context) (map[int]string, error) {
	return p.Postgres.Clients(ctx, p.database)
}

func (p *pool) Holders(ctx context.Context) ([]int, error) { return p.AdvisoryHolders(ctx, p.database) }

func (p *pool) Borrow(ctx context.Context) (pid int, err error) {
	pid, end, err := servers.Begin(ctx, p.to, p.database)
	if err == nil {
		p.borrowed = append(p.borrowed, end)
	}
	return pid, err
}

// Close drops the database.
func (p *pool) Close() (err error) {
	for _, end := range p.borrowed {
		err = errors.Join(err, end())
	}
	return errors.Join(err, p.DropDatabase(context.Background(), p.database))
}
