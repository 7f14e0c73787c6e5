package servers

// What an administrator asks of a private PostgreSQL server, and the pooler before one.

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// dialSQL connects to a server that wants no password.
func dialSQL(ctx context.Context, addr, user, database string) (*pgconn.PgConn, error) {
	config, err := pgconn.ParseConfig(fmt.Sprintf("postgres://%s@%s/%s?sslmode=disable", user, addr, database))
	if err != nil {
		return nil, err
	}
	config.ConnectTimeout, config.RuntimeParams = askTimeout, nil // whatever the environment says
	return pgconn.ConnectConfig(ctx, config)
}

// askSQL runs one statement, and returns its rows as text.
func askSQL(ctx context.Context, c *pgconn.PgConn, statement string) (rows [][]string, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	results, err := c.Exec(ctx, statement).ReadAll()
	for _, result := range results {
		for _, values := range result.Rows {
			row := make([]string, len(values))
			for i, value := range values {
				row[i] = string(value)
			}
			rows = append(rows, row)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", statement, err)
	}
	return rows, nil
}

func (s *Server) dialSQL(ctx context.Context, database string) (*pgconn.PgConn, error) {
	return dialSQL(ctx, s.ports[0].addr(), postgresUser, database)
}

// ask runs one statement on a connection of its own.
func (p *Postgres) ask(ctx context.Context, statement string) ([][]string, error) {
	c, err := p.dialSQL(ctx, postgresUser)
	if err != nil {
		return nil, err
	}
	defer c.Close(ctx)
	return askSQL(ctx, c, statement)
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
		pid, _ := strconv.Atoi(row[0])
		clients[pid] = row[1]
	}
	return clients, err
}

// AdvisoryHolders returns the server processes that hold an exclusive advisory lock of a database.
func (p *Postgres) AdvisoryHolders(ctx context.Context, database string) (pids []int, err error) {
	rows, err := p.ask(ctx, "SELECT DISTINCT pid FROM pg_locks JOIN pg_database d ON d.oid = database WHERE datname = "+
		quoteSQL(database)+" AND locktype = 'advisory' AND mode = 'ExclusiveLock' AND granted")
	for _, row := range rows {
		pid, _ := strconv.Atoi(row[0])
		pids = append(pids, pid)
	}
	return pids, err
}

// Begin begins a transaction on a connection of its own to a database of PostgreSQL, or of a pooler before it, and
// returns the process that serves it. Until the caller ends it, the pooler lends that connection to nobody else.
func Begin(ctx context.Context, s *Server, database string) (pid int, end func() error, err error) {
	c, err := s.dialSQL(ctx, database)
	if err != nil {
		return 0, nil, err
	}
	end = func() error { return c.Close(context.Background()) }
	rows, err := askSQL(ctx, c, "BEGIN; SELECT pg_backend_pid()")
	if err == nil {
		pid, err = strconv.Atoi(rows[0][0])
	}
	if err != nil {
		return 0, nil, errors.Join(err, end())
	}
	return pid, end, nil
}

// StartPgBouncer starts a pooler before a PostgreSQL server that listens on a port and has no password. It is in
// transaction mode: it lends a client one of its connections to the server for each transaction. Its database
// sessions is in session mode, with two connections, and is the server's database postgres. Each other database has a
// pool, from which the connection that came back last is lent first. PgBouncer refuses to run as root: then it runs
// as the user of StartPostgres.
func StartPgBouncer(ctx context.Context, before *Postgres) (*Server, error) {
	return start(ctx, &pgbouncerProgram, Options{}, func(_ context.Context, s *Server, o Options) error {
		port, err := s.reserve()
		if err != nil {
			return err
		}
		address := url.URL{Scheme: "postgres", User: url.User(postgresUser), Host: port.addr(), Path: "/postgres"}
		s.argv, s.url = []string{o.Binary, s.dir.file("pgbouncer.ini")}, address.String()
		// The administrator has a name of this pooler's own, so that no other one can answer for it.
		admin := filepath.Base(s.dir.path)
		s.ready = func(ctx context.Context, _ int) error {
			c, err := dialSQL(ctx, port.addr(), admin, "pgbouncer")
			if err == nil {
				_ = c.Close(ctx)
			}
			return err
		}
		at := "host=127.0.0.1 port=" + strconv.Itoa(before.ports[0].number)
		settings := []string{
			"[databases]", "* = " + at, "sessions = " + at + " dbname=postgres pool_mode=session pool_size=2",
			"[pgbouncer]", "listen_addr = 127.0.0.1", "listen_port = " + strconv.Itoa(port.number), "unix_socket_dir =",
			"auth_type = trust", "auth_file = " + s.dir.file("users"), "admin_users = " + admin,
			"pool_mode = transaction", "server_round_robin = 0", "default_pool_size = 120", "max_client_conn = 1000",
		}
		return errors.Join(s.write("pgbouncer.ini", strings.Join(settings, "\n")+"\n"),
			s.write("users", fmt.Sprintf("%q \"\"\n%q \"\"\n", postgresUser, admin)))
	})
}

// FindPgBouncer returns the path of the pooler that StartPgBouncer runs.
func FindPgBouncer() (path string, err error) { return pgbouncerProgram.locate() }

// pgbouncerProgram is where Debian puts it, which may be on the PATH of root only.
var pgbouncerProgram = program{
	server: "pgbouncer", names: []string{"pgbouncer"}, dirs: []string{"", "/usr/sbin"}, unprivileged: true,
	install: "the package pgbouncer (Debian, Ubuntu, Fedora, Arch, Homebrew)",
}
