package servers

// What an administrator asks of a PostgreSQL server, and what it says of its processes. A server with TLS or a password
// is not asked.

import (
	"context"
	"errors"
	"strconv"
)

// CreateDatabase makes an empty database, whose name is of small letters, digits and underscores.
func (p *Postgres) CreateDatabase(ctx context.Context, name string) error {
	_, err := p.ask(ctx, "CREATE DATABASE "+name)
	return err
}

// DropDatabase ends the processes that serve clients of a database, and removes it.
func (p *Postgres) DropDatabase(ctx context.Context, name string) error {
	_, err := p.ask(ctx, "DROP DATABASE "+name+" WITH (FORCE)")
	return err
}

// Clients returns the server processes of a database by their numbers, each with the name of the client that it serves,
// or has served last (application_name).
func (p *Postgres) Clients(ctx context.Context, database string) (map[int]string, error) {
	rows, err := p.ask(ctx, "SELECT pid, application_name FROM pg_stat_activity WHERE datname = "+quoteSQL(database))
	clients := map[int]string{}
	for _, row := range rows {
		pid, malformed := strconv.Atoi(row[0])
		err = errors.Join(err, malformed)
		clients[pid] = row[1]
	}
	return clients, err
}

// AdvisoryHolders returns the server processes that hold an exclusive advisory lock of a database.
func (p *Postgres) AdvisoryHolders(ctx context.Context, database string) (pids []int, err error) {
	rows, err := p.ask(ctx, "SELECT DISTINCT pid FROM pg_locks JOIN pg_database d ON d.oid = database WHERE datname = "+
		quoteSQL(database)+" AND locktype = 'advisory' AND mode = 'ExclusiveLock' AND granted")
	for _, row := range rows {
		pid, malformed := strconv.Atoi(row[0])
		err = errors.Join(err, malformed)
		pids = append(pids, pid)
	}
	return pids, err
}

// Begin begins a transaction on a connection of its own to a database, and returns the server process that serves it.
// The caller ends it.
func (p *Postgres) Begin(ctx context.Context, database string) (pid int, end func() error, err error) {
	return begin(ctx, p.url, database)
}

func (p *Postgres) ask(ctx context.Context, statement string) ([][]string, error) {
	return askSQL(ctx, p.url, postgresUser, statement)
}

// begin begins a transaction, which ends with its connection.
func begin(ctx context.Context, address, database string) (pid int, end func() error, err error) {
	c, err := dialSQL(ctx, address, database)
	if err != nil {
		return 0, nil, err
	}
	rows, err := c.ask("BEGIN; SELECT pg_backend_pid()")
	if err == nil {
		pid, err = strconv.Atoi(rows[0][0])
	}
	if err != nil {
		return 0, nil, errors.Join(err, c.Close())
	}
	return pid, c.Close, nil
}
