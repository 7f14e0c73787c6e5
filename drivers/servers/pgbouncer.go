package servers

// A private PgBouncer before a private PostgreSQL server.

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// PgBouncerOptions describe one PgBouncer.
type PgBouncerOptions struct {
	Binary string // path of pgbouncer; "" is what FindPgBouncer finds

	// Postgres is the server behind it. It listens on a port and has no password. PgBouncer does not own it.
	Postgres *Postgres

	// PoolSize is the most connections to the server that a database has; 0 means PgBouncer's own default, which is 20.
	PoolSize int
}

const poolSize = 20

// PgBouncer is a private pooler in transaction mode: it lends a client one of its connections to the server for each
// transaction. Each database has a pool, from which the connection that came back last is lent first. Its methods are
// safe for concurrent use.
type PgBouncer struct{ process }

// StartPgBouncer starts a private PgBouncer, and returns when it answers. ctx bounds the start, not the life of the
// pooler. The caller closes it. PgBouncer refuses to run as root: then it runs as the user of StartPostgres.
func StartPgBouncer(ctx context.Context, o PgBouncerOptions) (*PgBouncer, error) {
	return startPgBouncer(ctx, o, reservePort)
}

func startPgBouncer(ctx context.Context, o PgBouncerOptions, reserve func() (*port, error)) (*PgBouncer, error) {
	binary, err := findPgBouncer(o.Binary)
	if err != nil {
		return nil, err
	}
	return startServer(ctx, "pgbouncer", func() (*PgBouncer, error) { return newPgBouncer(binary, o, reserve) })
}

// newPgBouncer prepares a pooler: directory, port, files.
func newPgBouncer(binary string, o PgBouncerOptions, reserve func() (*port, error)) (_ *PgBouncer, err error) {
	size := o.PoolSize
	switch {
	case size < 0:
		return nil, fmt.Errorf("a pool of %d connections is not possible", size)
	case size == 0:
		size = poolSize
	}
	server, err := url.Parse(o.Postgres.URL())
	if err != nil || server.Host == "" || o.Postgres.CAFile() != "" {
		return nil, errors.New("the server behind it has no port, or one with TLS: use PostgresOptions.TCP")
	}
	who, err := postgresAccount()
	if err != nil {
		return nil, err
	}
	root, err := rootFor(who)
	if err != nil {
		return nil, err
	}
	dir, err := newTempDir(root)
	if err != nil {
		return nil, err
	}
	file := dir.file("pgbouncer.ini")
	b := &PgBouncer{process: process{child: &child{name: "pgbouncer", dir: dir, account: who, argv: []string{binary, file}}}}
	defer closeAfter(&err, b)
	port, err := b.reserve(reserve)
	if err != nil {
		return nil, err
	}
	address := url.URL{Scheme: "postgres", User: url.User(postgresUser), Host: port.addr(), Path: "/postgres"}
	b.url = address.String()
	// The administrator has a name of this pooler's own, so that no other one can answer for it.
	admin := filepath.Base(dir.path)
	address.User = url.User(admin)
	b.child.ready = func(ctx context.Context, _ int) error {
		_, err := askSQL(ctx, address.String(), "pgbouncer", "SHOW VERSION")
		return err
	}
	users := dir.file("users")
	settings := []string{
		"[databases]", "* = host=" + server.Hostname() + " port=" + server.Port(),
		"[pgbouncer]", "listen_addr = 127.0.0.1", "listen_port = " + strconv.Itoa(port.number), "unix_socket_dir =",
		"auth_type = trust", "auth_file = " + users, "admin_users = " + admin,
		"pool_mode = transaction", "server_round_robin = 0", "default_pool_size = " + strconv.Itoa(size), "max_client_conn = 1000",
	}
	for name, text := range map[string]string{
		file:  strings.Join(settings, "\n") + "\n",
		users: fmt.Sprintf("%q \"\"\n%q \"\"\n", postgresUser, admin),
	} {
		if err := errors.Join(os.WriteFile(name, []byte(text), 0o600), who.own(name)); err != nil {
			return nil, err
		}
	}
	if who != nil { // who passes through the directory, and does nothing else there
		if err := os.Chmod(dir.path, 0o711); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// Begin begins a transaction as a client of the pool of a database, and returns the server process that serves it. Until
// the caller ends it, nobody else is lent that connection.
func (b *PgBouncer) Begin(ctx context.Context, database string) (pid int, end func() error, err error) {
	return begin(ctx, b.url, database)
}

// FindPgBouncer returns the path of the pooler that StartPgBouncer runs by default. The error wraps exec.ErrNotFound and
// says what to install.
func FindPgBouncer() (path string, err error) { return findPgBouncer("") }

// pgbouncerDirs are PATH, and where Debian puts it, which may be on the PATH of root only.
var pgbouncerDirs = []string{"", "/usr/sbin"}

func findPgBouncer(name string) (string, error) {
	return find("pgbouncer", name, []string{"pgbouncer"}, pgbouncerDirs, "the package pgbouncer (Debian, Ubuntu, Fedora, Arch, Homebrew)")
}
