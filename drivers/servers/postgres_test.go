package servers

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// startPostgresTest starts a server that ends with the test. It replaces servertest.Postgres, which this package cannot
// import.
func startPostgresTest(t *testing.T, o Options) *Postgres {
	t.Helper()
	return started(t, findPostgres, func(ctx context.Context) (*Postgres, error) { return StartPostgres(ctx, o) })
}

// psql runs one statement in its own session, with the client that every package of the server contains.
func psql(t *testing.T, p *Postgres, password, statement string) (string, error) {
	t.Helper()
	binary, err := findPostgres()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(filepath.Dir(canonical(binary)), "psql"), "-XAtq", "-d", p.URL(), "-c", statement)
	cmd.Env = append(os.Environ(), "PGPASSWORD="+password, "PGSSLROOTCERT="+p.CAFile())
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func TestStartPostgres(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("every kind of login: make test-all")
	}
	for _, tt := range []struct {
		name string
		o    Options
		url  string
		want string // user, TLS, connections, fsync
	}{
		{"unix", Options{}, "postgres://postgres@/postgres?", "postgres f 610 off"},
		{"tcp", Options{TCP: true, Durability: Strict, Conns: 20}, "postgres://postgres@127.0.0.1:", "postgres f 30 on"},
		{"tls", Options{TLS: true, Password: `p"a s\s#>'`}, "postgres://postgres@127.0.0.1:", "postgres t 610 off"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := startPostgresTest(t, tt.o)
			if !strings.HasPrefix(p.URL(), tt.url) || tt.o.Password != "" && strings.Contains(p.URL(), tt.o.Password) {
				t.Errorf("URL %s does not begin with %s, or has the password", p.URL(), tt.url)
			}
			got, err := psql(t, p, tt.o.Password, "SELECT concat_ws(' ', current_user, (SELECT ssl FROM pg_stat_ssl "+
				"WHERE pid = pg_backend_pid()), current_setting('max_connections'), current_setting('fsync'))")
			if got != tt.want || err != nil {
				t.Errorf("the server says %q, %v; want %q", got, err, tt.want)
			}
			if tt.o.Password != "" {
				if got, err := psql(t, p, "wrong", "SELECT 1"); err == nil {
					t.Errorf("a wrong password was let in: %s", got)
				}
			}
		})
	}
}

// A killed server comes back with what was committed, and neither its processes nor its memory stay.
func TestPostgresLifecycle(t *testing.T) {
	t.Parallel()
	p := startPostgresTest(t, Options{TCP: true})
	if got, err := psql(t, p, "", "CREATE TABLE t AS SELECT 42 AS n"); err != nil {
		t.Fatal(got, err)
	}
	if err := p.Restart(t.Context()); err == nil {
		t.Error("a running server restarts")
	}
	memory := memoryOf(t, p.dir.path)
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := p.Kill(); err != nil { // a stopped process dies as well
		t.Fatal(err)
	}
	if inUse(t, memory) {
		t.Error("Kill leaves shared memory")
	}
	if got, err := psql(t, p, "", "SELECT 1"); err == nil {
		t.Errorf("it answers %q after Kill", got)
	}
	if err := p.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, err := psql(t, p, "", "SELECT n FROM t"); got != "42" || err != nil {
		t.Errorf("after the restart it says %q, %v", got, err)
	}
	if p.CPU() == 0 {
		t.Error("it has used no time")
	}
	memory = memoryOf(t, p.dir.path)
	checkLeft(t, p)
	if inUse(t, memory) {
		t.Error("Close leaves shared memory")
	}
}

// memoryOf returns the number of the shared memory by which a server knows its processes.
func memoryOf(t *testing.T, dir string) (segment string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "db", "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	_, segment, _ = strings.Cut(strings.TrimSpace(lines[6]), " ")
	segment = strings.TrimSpace(segment)
	if runtime.GOOS == "linux" && !inUse(t, segment) {
		t.Fatalf("%q names no shared memory", lines[6])
	}
	return segment
}

// inUse reports whether shared memory is there.
func inUse(t *testing.T, segment string) bool {
	t.Helper()
	text, _ := os.ReadFile("/proc/sysvipc/shm")
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); fields[1] == segment {
			return true
		}
	}
	return false
}

func TestFindPostgres(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", filepath.Join(dir, "bin"))
	places := postgresPlaces
	t.Cleanup(func() { postgresPlaces = places })
	postgresPlaces = []string{filepath.Join(dir, "lib/*/bin"), filepath.Join(dir, "pgsql-*/bin"), filepath.Join(dir, "postgresql@*/bin")}
	if _, err := findPostgres(); !errors.Is(err, exec.ErrNotFound) || !strings.Contains(err.Error(), "install the package postgresql") {
		t.Errorf("without any server: %v", err)
	}
	install := func(place string, programs ...string) string {
		for _, name := range programs {
			file := filepath.Join(dir, place, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte("#!/bin/sh\n"), 0o700)); err != nil {
				t.Fatal(err)
			}
		}
		return filepath.Join(dir, place, "postgres")
	}
	install("bin", "postgres")        // nothing to make a data directory with
	install("lib/99/bin", "postgres") // the same
	want := []string{install("lib/9.6/bin", "postgres", "initdb")}
	for _, place := range []string{"lib/15/bin", "pgsql-16/bin", "postgresql@17/bin"} {
		want = append(want, install(place, "postgres", "initdb"))
	}
	for i, path := range want {
		for _, newer := range want[i+1:] {
			os.Rename(newer, newer+".off")
		}
		if got, err := findPostgres(); got != path || err != nil {
			t.Errorf("findPostgres: %s, %v; want %s", got, err, path)
		}
		for _, newer := range want[i+1:] {
			os.Rename(newer+".off", newer)
		}
	}
	onPath := install("bin", "initdb")
	onPath = filepath.Join(filepath.Dir(onPath), "postgres")
	if got, err := findPostgres(); got != onPath || err != nil {
		t.Errorf("findPostgres: %s, %v; want %s", got, err, onPath)
	}
}
