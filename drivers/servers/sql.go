package servers

// The little of PostgreSQL's protocol that is needed to ask a private server, or the pooler before it, something, and
// what an administrator asks. The environment, which pgx reads, has no say in it. A server with TLS or a password is not
// asked.

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
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

// dialSQL connects to a database at an address with a host and a port. All that the connection is asked has to be
// answered within askTimeout.
func dialSQL(ctx context.Context, address, database string) (_ *sqlConn, err error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	network, at := "tcp", u.Host
	if dir := u.Query().Get("host"); dir != "" {
		network, at = "unix", dir+"/.s.PGSQL.5432"
	}
	deadline := time.Now().Add(askTimeout)
	d := net.Dialer{Deadline: deadline}
	conn, err := d.DialContext(ctx, network, at)
	if err != nil {
		return nil, err
	}
	c := &sqlConn{Conn: conn, front: pgproto3.NewFrontend(conn, conn)}
	defer func() {
		if err != nil {
			conn.Close()
		}
	}()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if err := conn.SetDeadline(deadline); err != nil {
		return nil, err
	}
	c.front.Send(&pgproto3.StartupMessage{
		ProtocolVersion: pgproto3.ProtocolVersionNumber, Parameters: map[string]string{"user": u.User.Username(), "database": database},
	})
	_, err = c.talk()
	return c, err
}

// ask runs one statement, and returns its rows as text.
func (c *sqlConn) ask(statement string) (rows [][]string, err error) {
	c.front.Send(&pgproto3.Query{String: statement})
	rows, err = c.talk()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", statement, err)
	}
	return rows, nil
}

// talk sends what is collected, and reads until the server is ready for more.
func (c *sqlConn) talk() (rows [][]string, err error) {
	if err := c.front.Flush(); err != nil {
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
		case *pgproto3.AuthenticationCleartextPassword, *pgproto3.AuthenticationMD5Password, *pgproto3.AuthenticationSASL:
			return nil, errors.New("the server wants a password")
		case *pgproto3.ReadyForQuery:
			return rows, err
		}
	}
}

// askSQL runs one statement on a connection of its own.
func askSQL(ctx context.Context, address, database, statement string) (rows [][]string, err error) {
	c, err := dialSQL(ctx, address, database)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	return c.ask(statement)
}

func quoteSQL(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

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
