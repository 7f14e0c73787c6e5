package servers

// A private PostgreSQL server.

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

const (
	postgresUser   = "postgres"
	postgresSocket = ".s.PGSQL." // and a port
)

// Postgres is a private server. Its methods are safe for concurrent use, and those that ask it something are for one
// that listens on a port.
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
		what := "initdb beside " + o.Binary + ", which makes the server's first files"
		err = &MissingError{"postgres", what, postgresPackages}
	}
	if err != nil {
		return nil, err
	}
	p := &Postgres{}
	p.Server, err = start(ctx, &postgresProgram, o, setUpPostgres)
	return p, err
}

var postgresProgram = program{server: "postgres", unprivileged: true} // see findPostgres

// setUpPostgres prepares a server: address, certificates, database cluster. Its socket is in the data directory, which
// nobody else can enter.
func setUpPostgres(ctx context.Context, s *Server, o Options) error {
	data, port := s.dir.file("db"), "5432"
	address := url.URL{Scheme: "postgres", User: url.User(postgresUser), Path: "/postgres"}
	address.RawQuery = url.Values{ // all but the first for clients whose environment has others
		"host": {data}, "port": {port}, "sslmode": {"disable"}, "channel_binding": {"disable"},
	}.Encode()
	settings := map[string]string{
		"max_connections": strconv.Itoa(cmp.Or(o.Conns, 600) + 10), // some are reserved for superusers, some are not sessions
		"shared_buffers":  "32MB",
		"jit":             "off", // it only slows short statements down
		"wal_level":       "minimal", "max_wal_senders": "0",
		"log_min_messages":        "error", // releasing a lock that is not held causes a warning, and each would be a line
		"unix_socket_directories": data, "unix_socket_permissions": "0700", "listen_addresses": "",
		// Memory shared by System V or POSIX means survives a killed server; see postgresReady.
		"shared_memory_type": "mmap", "dynamic_shared_memory_type": "mmap",
		// A commit that is Relaxed does the same work without the disk, and survives the server's processes.
		"synchronous_commit": "on", "fsync": "off", "full_page_writes": "off",
	}
	if o.Durability == Strict {
		settings["fsync"], settings["full_page_writes"] = "on", "on"
	}
	if o.TCP || o.TLS {
		reserved, err := s.reserve()
		if err != nil {
			return err
		}
		port, settings["listen_addresses"] = strconv.Itoa(reserved.number), "127.0.0.1"
		address.Host, address.RawQuery = reserved.addr(), ""
	}
	settings["port"] = port // also in the socket's name
	if o.TLS {
		address.RawQuery = "sslmode=verify-full"
		if _, err := s.certify(); err != nil {
			return err
		}
		settings["ssl"], settings["ssl_cert_file"], settings["ssl_key_file"] = "on", s.dir.file(certFile), s.dir.file(keyFile)
	}
	maps.Copy(settings, o.Settings)
	s.url, s.argv = address.String(), []string{o.Binary, "-D", data}
	for name, value := range settings {
		s.argv = append(s.argv, "-c", name+"="+value)
	}
	s.quit = syscall.SIGQUIT
	lock := filepath.Join(data, "postmaster.pid")
	s.stale = []string{lock, filepath.Join(data, postgresSocket+port+".lock")}
	s.ready = func(context.Context, int) error { return postgresReady(lock) }
	return s.makeCluster(ctx, data, filepath.Join(filepath.Dir(o.Binary), "initdb"), o.Password)
}

// makeCluster makes and fills the data directory. It belongs to the account that the server runs as.
func (s *Server) makeCluster(ctx context.Context, data, initdb, password string) error {
	if err := os.Mkdir(data, 0o700); err != nil {
		return err
	}
	if err := s.account.own(data); err != nil {
		return err
	}
	// C sorts by bytes on every system. Small files of the write-ahead log are made faster.
	argv := []string{
		initdb, "-D", data, "-U", postgresUser, "--no-sync", "--no-instructions",
		"--locale=C", "-E", "UTF8", "--wal-segsize=1",
	}
	if password == "" {
		return s.prepare(ctx, data, append(argv, "--auth=trust")...)
	}
	file := s.dir.file("password") // not on the command line, which everyone can see
	if err := s.write("password", password+"\n"); err != nil {
		return err
	}
	defer os.Remove(file)
	return s.prepare(ctx, data, append(argv, "--auth=scram-sha-256", "--pwfile="+file)...)
}

// postgresReady checks like pg_ctl: the server writes its state to its lock file, which has the lines process,
// directory, start, port, socket, address, shared memory (key and number), and state. The shared memory is tiny: by
// it a server knows whether processes of its predecessor are alive. Here it need not outlive them.
func postgresReady(lock string) error {
	text, err := os.ReadFile(lock)
	if err != nil {
		return err
	}
	var lines [8]string
	copy(lines[:], strings.Split(string(text), "\n"))
	if !strings.HasPrefix(lines[7], "ready") {
		return fmt.Errorf("it is %q", strings.TrimSpace(lines[7]))
	}
	var key, segment int
	if _, err := fmt.Sscan(lines[6], &key, &segment); err == nil {
		freeUnused(segment)
	}
	return nil
}

// freeUnused frees shared memory when the last process that uses it ends, where the system can do that.
var freeUnused = func(segment int) {}

// postgresPlaces are the directories of packages: Debian and Ubuntu, Fedora, Homebrew, Postgres.app.
var postgresPlaces = []string{
	"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql@*/bin",
	"/usr/local/opt/postgresql@*/bin", "/Applications/Postgres.app/Contents/Versions/*/bin",
}

const postgresPackages = "the package postgresql (Debian, Ubuntu, Arch, Homebrew) or postgresql-server (Fedora)"

// findPostgres returns the path of the server on PATH, or else the newest one where packages put it, which is usually
// not on PATH.
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
		Forms: []string{
			"postgres://user:pass@host:5432/db", "postgres://host/db?sslmode=verify-full (TLS)", "postgres:///db?host=/dir",
		},
		Packages: "postgresql", Limit: "max_connections",
		PasswordVariable: "PGPASSWORD", OtherVariables: "PGUSER, PGPORT, PGSSL…",
		Find: findPostgres, Start: func(ctx context.Context, o Options) (*Running, error) {
			o.Conns = room(o.Conns)
			return running(StartPostgres(ctx, o))
		},
	})
}
