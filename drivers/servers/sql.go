package servers

// What an administrator asks of a private PostgreSQL server on a port, or of the pooler before it. It takes little of the
// protocol. The environment, which pgx reads, has no say in it.

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

// sqlConn is a connection to a server that wants no password.
type sqlConn struct {
	net.Conn
	front *pgproto3.Frontend
}

func dialSQL(ctx context.Context, addr, user, database string) (*sqlConn, error) {
	d := net.Dialer{Timeout: askTimeout}
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	c := &sqlConn{Conn: conn, front: pgproto3.NewFrontend(conn, conn)}
	_, err = c.send(ctx, &pgproto3.StartupMessage{
		ProtocolVersion: pgproto3.ProtocolVersionNumber, Parameters: map[string]string{"user": user, "database": database},
	})
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// ask runs one statement, and returns its rows as text.
func (c *sqlConn) ask(ctx context.Context, statement string) (rows [][]string, err error) {
	rows, err = c.send(ctx, &pgproto3.Query{String: statement})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", statement, err)
	}
	return rows, nil
}

// send sends a message, and reads until the server is ready for more.
func (c *sqlConn) send(ctx context.Context, message pgproto3.FrontendMessage) (rows [][]string, err error) {
	defer context.AfterFunc(ctx, func() { c.Close() })()
	c.front.Send(message)
	if err := errors.Join(c.SetDeadline(time.Now().Add(askTimeout)), c.front.Flush()); err != nil {
		return nil, err
	}
	for {
		message, receiveErr := c.front.Receive()
		if receiveErr != nil {
			return nil, errors.Join(err, receiveErr)
		}
		switch m := message.(type) {
		case *pgproto3.DataRow:
			var row []string
			for _, value := range m.Values {
				row = append(row, string(value))
			}
			rows = append(rows, row)
		case *pgproto3.ErrorResponse:
			err = errors.New(m.Message)
		case *pgproto3.ReadyForQuery:
			return rows, err
		}
	}
}

// askSQL runs one statement on a connection of its own.
func askSQL(ctx context.Context, addr, user, database, statement string) (rows [][]string, err error) {
	c, err := dialSQL(ctx, addr, user, database)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.ask(ctx, statement)
}

func quoteSQL(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

func (p *Postgres) ask(ctx context.Context, statement string) ([][]string, error) {
	return askSQL(ctx, p.ports[0].addr(), postgresUser, postgresUser, statement)
}

// CreateDatabase makes an empty database, whose name is of small letters, digits and underscores. It and what follows are
// for a server that listens on a port.
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
	return p.begin(ctx, database)
}

// Begin begins a transaction as a client of the pool of a database, and returns the server process that serves it. Until
// the caller ends it, nobody else is lent that connection.
func (b *PgBouncer) Begin(ctx context.Context, database string) (pid int, end func() error, err error) {
	return b.begin(ctx, database)
}

// begin begins a transaction, which ends with its connection.
func (p *process) begin(ctx context.Context, database string) (pid int, end func() error, err error) {
	c, err := dialSQL(ctx, p.ports[0].addr(), postgresUser, database)
	if err != nil {
		return 0, nil, err
	}
	rows, err := c.ask(ctx, "BEGIN; SELECT pg_backend_pid()")
	if err == nil {
		pid, err = strconv.Atoi(rows[0][0])
	}
	if err != nil {
		return 0, nil, errors.Join(err, c.Close())
	}
	return pid, c.Close, nil
}
