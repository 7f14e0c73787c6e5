package servers

// A private PostgreSQL server.

import (
	"context"
	"net/url"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

var postgresProgram = program{server: "postgres", unprivileged: true} // see findPostgres

// Postgres is a private server. Its methods are safe for concurrent use, and those that ask it something are for one that
// listens on a port.
type Postgres struct{ *Server }

// StartPostgres makes a database cluster and starts a PostgreSQL server on it, 10 or later. Without a Password, that of
// the user postgres by SCRAM, it accepts every user who can enter its directory or knows its port. The program needs
// initdb beside it. It refuses to run as root: then it runs as the user postgres, or nobody if there is no such user.
// Conns are sessions besides those reserved for superusers, 600 if it is 0: each is a process, but an unused one costs
// nothing.
func StartPostgres(ctx context.Context, o Options) (_ *Postgres, err error) {
	if o.Binary == "" {
		o.Binary, err = findPostgres()
	} else if !hasInitdb(o.Binary) {
		err = &MissingError{"postgres", "initdb beside " + o.Binary + ", which makes the server's first files", postgresPackages}
	}
	if err != nil {
		return nil, err
	}
	p := &Postgres{}
	p.Server, err = start(ctx, &postgresProgram, o, setUpPostgres)
	return p, err
}

// setUpPostgres prepares a server: address, certificates, database cluster.
func setUpPostgres(ctx context.Context, s *Server, o Options) error {
	data := s.dir.file(postgresData)
	s.quit, s.tidy = syscall.SIGQUIT, func() error { return tidyPostgres(data) }
	// Relaxed leaves synchronous_commit on: a commit does the same work without the disk, and survives the server's processes.
	s.persistence = o.Durability.or("fsync off")
	number := 0
	address := url.URL{Scheme: "postgres", User: url.User(postgresUser), Path: "/postgres"}
	// All but the first are for clients whose environment has others.
	address.RawQuery = url.Values{"host": {data}, "port": {"5432"}, "sslmode": {"disable"}, "channel_binding": {"disable"}}.Encode()
	if o.TCP || o.TLS {
		port, err := s.reserve()
		if err != nil {
			return err
		}
		number = port.number
		address.Host, address.RawQuery = port.addr(), ""
	}
	s.url = address.String()
	if err := s.makeCluster(ctx, filepath.Join(filepath.Dir(o.Binary), "initdb"), o.Password); err != nil {
		return err
	}
	if o.TLS {
		s.url += "?sslmode=verify-full"
		if _, err := s.certify(); err != nil {
			return err
		}
	}
	s.argv = append([]string{o.Binary, "-D", data}, postgresSettings(o, data, number)...)
	s.ready = func(_ context.Context, pid int) error { return postgresReady(data, pid) }
	return nil
}

// postgresPlaces are the directories of packages: Debian and Ubuntu, Fedora, Homebrew, Postgres.app.
var postgresPlaces = []string{
	"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql@*/bin",
	"/usr/local/opt/postgresql@*/bin", "/Applications/Postgres.app/Contents/Versions/*/bin",
}

const postgresPackages = "the package postgresql (Debian, Ubuntu, Arch, Homebrew) or postgresql-server (Fedora)"

// findPostgres returns the path of the server on PATH, or else the newest one where packages put it, which is usually not
// on PATH.
func findPostgres() (string, error) {
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
		Find: findPostgres, Start: func(ctx context.Context, o Options) (*Running, error) {
			o.Conns = room(o.Conns)
			return running(StartPostgres(ctx, o))
		},
	})
}
