package servers

// A private PostgreSQL server.

import (
	"context"
	"net"
	"net/url"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// PostgresOptions describe one PostgreSQL server, 10 or later. The zero value is a server on a unix socket that accepts
// every user who can enter its directory.
type PostgresOptions struct {
	Binary string // path of postgres, with initdb beside it; "" is what FindPostgres finds

	TCP bool // a free loopback port besides the unix socket
	TLS bool // TLS on such a port, with a certificate of a private CA

	Password string // of the user postgres, by SCRAM; "" accepts everyone on this machine who knows the address

	Durability Durability // of a commit; "" is Relaxed

	// Conns is the number of sessions that the server must accept, besides those reserved for superusers; 0 means 600.
	// Each is a process, but an unused one costs nothing.
	Conns int
}

// Postgres is a private server. Its methods are safe for concurrent use.
type Postgres struct{ *process }

// StartPostgres makes a database cluster, starts a private PostgreSQL server on it, and returns when it answers. ctx
// bounds the start, which fails after two minutes at the latest, not the life of the server. The caller closes the
// server. PostgreSQL refuses to run as root: then it runs as the user postgres, or nobody if there is no such user.
func StartPostgres(ctx context.Context, o PostgresOptions) (*Postgres, error) {
	binary, err := findPostgres(o.Binary)
	if err == nil && !hasInitdb(binary) {
		err = &MissingError{"postgres", "initdb beside " + binary + ", which makes the server's first files", postgresPackages}
	}
	if err != nil {
		return nil, err
	}
	at, err := unprivileged("postgres")
	if err != nil {
		return nil, err
	}
	return startServer(ctx, at, func(p *process) (*Postgres, error) { return setUpPostgres(ctx, p, binary, o) })
}

// setUpPostgres prepares a server: address, certificates, database cluster.
func setUpPostgres(ctx context.Context, p *process, binary string, o PostgresOptions) (*Postgres, error) {
	data := p.dir.file(postgresData)
	p.quit, p.tidy = syscall.SIGQUIT, func() error { return tidyPostgres(data) }
	// Relaxed leaves synchronous_commit on: a commit does the same work without the disk, and survives the server's processes.
	p.persistence = o.Durability.or("fsync off")
	number := 0
	address := url.URL{Scheme: "postgres", User: url.User(postgresUser), Path: "/postgres"}
	// All but the first are for clients whose environment has others.
	address.RawQuery = url.Values{"host": {data}, "port": {"5432"}, "sslmode": {"disable"}, "channel_binding": {"disable"}}.Encode()
	if o.TCP || o.TLS {
		port, err := p.reserve()
		if err != nil {
			return nil, err
		}
		number = port.number
		address.Host, address.RawQuery = net.JoinHostPort("127.0.0.1", strconv.Itoa(number)), ""
	}
	p.url = address.String()
	if err := p.makeCluster(ctx, filepath.Join(filepath.Dir(binary), "initdb"), o.Password); err != nil {
		return nil, err
	}
	if o.TLS {
		p.url += "?sslmode=verify-full"
		if _, err := p.certify(new(authority), postgresData); err != nil { // where the server looks for them
			return nil, err
		}
	}
	p.argv = append([]string{binary, "-D", data}, postgresSettings(o, data, number)...)
	p.ready = func(_ context.Context, pid int) error { return postgresReady(data, pid) }
	return &Postgres{p}, nil
}

// FindPostgres returns the path of the server that StartPostgres runs by default: on PATH, or else the newest one where
// packages put it, which is usually not on PATH. The error wraps exec.ErrNotFound and says what to install.
func FindPostgres() (path string, err error) { return findPostgres("") }

// postgresPlaces are the directories of packages: Debian and Ubuntu, Fedora, Homebrew, Postgres.app.
var postgresPlaces = []string{
	"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql@*/bin",
	"/usr/local/opt/postgresql@*/bin", "/Applications/Postgres.app/Contents/Versions/*/bin",
}

const postgresPackages = "the package postgresql (Debian, Ubuntu, Arch, Homebrew) or postgresql-server (Fedora)"

func findPostgres(name string) (string, error) {
	if name != "" {
		return (&program{server: "postgres"}).find(name)
	}
	if path, err := exec.LookPath("postgres"); err == nil && hasInitdb(path) {
		return path, nil
	}
	newest, best := "", 0
	for _, place := range postgresPlaces {
		paths, _ := filepath.Glob(filepath.Join(place, "postgres"))
		for _, path := range paths {
			if version := postgresVersion(path); version >= best && hasInitdb(path) {
				newest, best = path, version
			}
		}
	}
	if newest != "" {
		return newest, nil
	}
	return "", &MissingError{"postgres", "postgres with initdb beside it", postgresPackages}
}

// postgresVersion reads the number in a path such as /usr/lib/postgresql/15/bin/postgres.
func postgresVersion(path string) int {
	version := filepath.Base(filepath.Dir(filepath.Dir(path)))
	version, _, _ = strings.Cut(version[strings.LastIndexAny(version, "-@")+1:], ".")
	n, _ := strconv.Atoi(version)
	return n
}

func hasInitdb(postgres string) bool {
	_, err := exec.LookPath(filepath.Join(filepath.Dir(postgres), "initdb"))
	return err == nil
}

func init() {
	Register(&Service{
		Name: "postgres", Schemes: []string{"postgres", "postgresql"},
		Forms:    []string{"postgres://user:pass@host:5432/db", "postgres://host/db?sslmode=verify-full (TLS)", "postgres:///db?host=/dir"},
		Packages: "postgresql", Limit: "max_connections",
		PasswordVariable: "PGPASSWORD", OtherVariables: "PGUSER, PGPORT, PGSSL…",
		Find: FindPostgres, Start: func(ctx context.Context, o StartOptions) (*Running, error) {
			return running(StartPostgres(ctx, PostgresOptions{Binary: o.Binary, Durability: o.Durability, Conns: room(o.Conns)}))
		},
	})
}
