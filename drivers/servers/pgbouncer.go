package servers

// A private PgBouncer before a private PostgreSQL server.

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
)

// PgBouncerOptions describe one PgBouncer.
type PgBouncerOptions struct {
	Binary string // path of pgbouncer; "" is what FindPgBouncer finds

	// Postgres is the server behind it. It listens on a port and has no password. PgBouncer does not own it.
	Postgres *Postgres
}

// PgBouncer is a private pooler in transaction mode: it lends a client one of its connections to the server for each
// transaction. Each database has a pool, from which the connection that came back last is lent first. Its methods are
// safe for concurrent use.
type PgBouncer struct{ *process }

// StartPgBouncer starts a private PgBouncer, and returns when it answers. ctx bounds the start, not the life of the
// pooler. The caller closes it. PgBouncer refuses to run as root: then it runs as the user of StartPostgres.
func StartPgBouncer(ctx context.Context, o PgBouncerOptions) (*PgBouncer, error) {
	binary, err := pgbouncerProgram.find(o.Binary)
	if err != nil {
		return nil, err
	}
	at, err := unprivileged("pgbouncer")
	if err != nil {
		return nil, err
	}
	return startServer(ctx, at, func(p *process) (*PgBouncer, error) { return setUpPgBouncer(p, binary, o) })
}

// setUpPgBouncer prepares a pooler: port, files.
func setUpPgBouncer(p *process, binary string, o PgBouncerOptions) (*PgBouncer, error) {
	port, err := p.reserve()
	if err != nil {
		return nil, err
	}
	address := url.URL{Scheme: "postgres", User: url.User(postgresUser), Host: port.addr(), Path: "/postgres"}
	p.argv, p.url = []string{binary, p.dir.file("pgbouncer.ini")}, address.String()
	// The administrator has a name of this pooler's own, so that no other one can answer for it.
	admin := filepath.Base(p.dir.path)
	p.ready = func(ctx context.Context, _ int) error {
		_, err := askSQL(ctx, port.addr(), admin, "pgbouncer", "SHOW VERSION")
		return err
	}
	settings := []string{
		"[databases]", "* = host=127.0.0.1 port=" + strconv.Itoa(o.Postgres.ports[0].number),
		"[pgbouncer]", "listen_addr = 127.0.0.1", "listen_port = " + strconv.Itoa(port.number), "unix_socket_dir =",
		"auth_type = trust", "auth_file = " + p.dir.file("users"), "admin_users = " + admin,
		"pool_mode = transaction", "server_round_robin = 0", "default_pool_size = 120", "max_client_conn = 1000",
	}
	return &PgBouncer{p}, errors.Join(p.write("pgbouncer.ini", strings.Join(settings, "\n")+"\n"),
		p.write("users", fmt.Sprintf("%q \"\"\n%q \"\"\n", postgresUser, admin)))
}

// FindPgBouncer returns the path of the pooler that StartPgBouncer runs by default. The error wraps exec.ErrNotFound and
// says what to install.
func FindPgBouncer() (path string, err error) { return pgbouncerProgram.find("") }

// pgbouncerProgram is where Debian puts it, which may be on the PATH of root only.
var pgbouncerProgram = program{
	"pgbouncer", []string{"pgbouncer"}, []string{"", "/usr/sbin"}, "the package pgbouncer (Debian, Ubuntu, Fedora, Arch, Homebrew)",
}
