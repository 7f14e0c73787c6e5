package servers

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/drivers/testwait"
)

// startable is everything that can be started, with what its installation is called.
var startable = []struct {
	name    string
	install string
	start   func(context.Context) (*Running, error)
}{
	{"redis", "package redis-server", with("redis", Options{})},
	{"redis with a clock", "package libfaketime", with("redis", Options{Binary: "/bin/false", Clock: true})},
	{"etcd", "package etcd-server", with("etcd", Options{})},
	{"relaxed etcd", "package etcd-server", with("etcd", Options{Nodes: 3, Durability: Relaxed})},
	{"zookeeper", "package libzookeeper-java", with("zookeeper", Options{})},
	{"mysql", "package mariadb-server", with("mysql", Options{})},
	{"postgres", "package postgresql", with("postgres", Options{})},
	{"pgbouncer", "package pgbouncer", func(ctx context.Context) (*Running, error) {
		return running(StartPgBouncer(ctx, &Postgres{&Server{ports: []*port{{number: 1}}}}))
	}},
}

func with(service string, o Options) func(context.Context) (*Running, error) {
	return func(ctx context.Context) (*Running, error) { return Start(ctx, service, o) }
}

// swap sets a variable for the time of a test.
func swap[T any](t *testing.T, variable *T, value T) {
	t.Helper()
	before := *variable
	t.Cleanup(func() { *variable = before })
	*variable = value
}

// nothing makes it look as if no server were installed, and returns the only directory where programs are looked for.
func nothing(t *testing.T) (bin string) {
	t.Helper()
	bin = t.TempDir()
	if err := os.Chmod(filepath.Dir(bin), 0o755); err != nil { // for the users of servers that refuse to run as root
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	t.Setenv("ZOOKEEPER_HOME", "")
	swap(t, &zooKeeperJars, []string{"/nonexistent/zookeeper.jar"})
	swap(t, &mysqlProgram.names, []string{"lockbench-no-such-mysqld"})
	swap(t, &postgresPlaces, nil)
	swap(t, &pgbouncerProgram.dirs, nil)
	swap(t, &faketimeLibraries, nil)
	return bin
}

// installed puts programs in place of all servers.
func installed(t *testing.T, script string) {
	t.Helper()
	bin := nothing(t)
	swap(t, &mysqlProgram.names, []string{"mariadbd"})
	swap(t, &faketimeLibraries, []string{filepath.Join(bin, "redis-server")})
	for _, name := range []string{"redis-server", "etcd", "java", "mariadbd", "postgres", "initdb", "pgbouncer"} {
		write(t, filepath.Join(bin, name), script)
	}
	t.Setenv("ZOOKEEPER_HOME", bin)
	write(t, filepath.Join(bin, "lib", "zookeeper-3.9.3.jar"), "")
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o755)); err != nil {
		t.Fatal(err)
	}
}

// failure returns the error of a start.
func failure(t *testing.T, start func(context.Context) (*Running, error)) error {
	t.Helper()
	s, err := start(t.Context())
	if err == nil {
		_ = s.Close()
		t.Fatal("it started")
	}
	return err
}

// What is not installed is an exec.ErrNotFound, which says what to install.
func TestNotInstalled(t *testing.T) {
	for _, s := range startable {
		t.Run(s.name, func(t *testing.T) {
			nothing(t)
			if err := failure(t, s.start); !errors.Is(err, exec.ErrNotFound) || !strings.Contains(err.Error(), s.install) {
				t.Errorf("%v; want that it is not found, and %q", err, s.install)
			}
		})
	}
	for name, start := range map[string]func(bin string) error{
		"default-jre-headless": func(bin string) error {
			t.Setenv("ZOOKEEPER_HOME", bin)
			_, err := StartZooKeeper(t.Context(), 1, Options{})
			return err
		},
		"ZOOKEEPER_HOME": func(bin string) error {
			t.Setenv("ZOOKEEPER_HOME", t.TempDir())
			_, err := findJar()
			return err
		},
		"package mariadb-server": func(string) error {
			_, err := StartMySQL(t.Context(), Options{Binary: "mariadbd"})
			return err
		},
		"package postgresql": func(bin string) error {
			_, err := StartPostgres(t.Context(), Options{Binary: filepath.Join(bin, "postgres")})
			return err
		},
	} {
		bin := nothing(t)
		write(t, filepath.Join(bin, "lib", "zookeeper-3.9.3.jar"), "")
		write(t, filepath.Join(bin, "mariadbd"), "#!/bin/sh\necho MariaDB\n")
		write(t, filepath.Join(bin, "postgres"), "#!/bin/sh\n")
		if err := start(bin); !errors.Is(err, exec.ErrNotFound) || !strings.Contains(err.Error(), name) {
			t.Errorf("%v; want that it is not found, and %q", err, name)
		}
	}
}

// What is installed and does not start is no exec.ErrNotFound, and the error has the reason.
func TestInstalledButDoesNotStart(t *testing.T) {
	const fails = "#!/bin/sh\necho no space left on the device >&2\nexit 3\n"
	for _, why := range []struct {
		name, script, tmpdir string
		says                 []string
	}{
		{"no temporary directory", fails, "/nonexistent", []string{"TMPDIR", "/nonexistent"}},
		{"it exits", fails, "", []string{"exit", "no space left on the device"}},
		{"no interpreter", "#!/nonexistent/interpreter\n", "", []string{"no such file"}},
	} {
		for _, s := range startable {
			t.Run(why.name+"/"+s.name, func(t *testing.T) {
				installed(t, why.script)
				if why.tmpdir != "" {
					t.Setenv("TMPDIR", why.tmpdir)
				}
				switch {
				case s.name == "redis with a clock" && why.tmpdir == "", s.name == "relaxed etcd" && why.tmpdir != "":
					return // its program says nothing, or is asked for its version first
				case strings.Contains("postgres pgbouncer", s.name) && why.tmpdir != "" && os.Geteuid() == 0:
					return // its directory is elsewhere
				}
				err := failure(t, s.start)
				if errors.Is(err, exec.ErrNotFound) {
					t.Errorf("%v: passes for a server that is not installed", err)
				}
				for _, says := range why.says {
					if !strings.Contains(err.Error(), says) {
						t.Errorf("%v; want %q", err, says)
					}
				}
			})
		}
	}
}

// A program that hangs when it is asked for its version does not keep a start that is given up, and nor does what it has started.
func TestVersionHangs(t *testing.T) {
	for name, start := range map[string]func(context.Context) (*Running, error){
		"mysql": with("mysql", Options{}),
		"etcd":  with("etcd", Options{Durability: Relaxed}),
		"version": func(ctx context.Context) (*Running, error) {
			path, err := etcdProgram.locate()
			return nil, errors.Join(err, errors.New(ProgramVersion(ctx, path)), ctx.Err())
		},
	} {
		t.Run(name, func(t *testing.T) {
			asked := filepath.Join(t.TempDir(), "asked")
			installed(t, "#!/bin/sh\n/bin/sleep 600 &\necho > "+asked+"\nwait\n")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			failed := make(chan error, 1)
			go func() {
				_, err := start(ctx)
				failed <- err
			}()
			testwait.Until(t, "the program is asked", func() bool { return exists(asked) })
			cancel()
			testwait.Ends(t, "the start", func() {
				if err := <-failed; !errors.Is(err, context.Canceled) {
					t.Errorf("the start that was given up fails with %v", err)
				}
			})
		})
	}
}

// Without a user that a server can run as, it is installed all the same.
func TestNoUser(t *testing.T) {
	if os.Geteuid() != 0 {
		return // it runs as this one
	}
	swap(t, &postgresAccounts, []string{"lockbench-no-such-user"})
	if _, err := unprivileged(); err == nil || errors.Is(err, exec.ErrNotFound) || !strings.Contains(err.Error(), "lockbench-no-such-user") {
		t.Error(err)
	}
}

// Redis is preferred to Valkey. A relative path is that of this process, not of the server.
func TestFind(t *testing.T) {
	bin := nothing(t)
	for _, name := range []string{"valkey-server", "redis-server"} {
		write(t, filepath.Join(bin, name), "#!/bin/sh\n")
		if got, err := redisProgram.locate(); got != filepath.Join(bin, name) || err != nil {
			t.Errorf("redisProgram.locate: %s, %v, want %s", got, err, name)
		}
	}
	t.Chdir(bin)
	want, err := filepath.EvalSymlinks(filepath.Join(bin, "valkey-server"))
	if got, failed := redisProgram.find("./valkey-server"); got != want || errors.Join(err, failed) != nil {
		t.Errorf("a relative path: %s, %v, %v, want %s", got, err, failed, want)
	}
	t.Setenv("ZOOKEEPER_HOME", bin)
	write(t, filepath.Join(bin, "lib", "zookeeper-3.9.3.jar"), "")
	write(t, filepath.Join(bin, "java"), "#!/bin/sh\n")
	if path, err := findJar(); err != nil || path != filepath.Join(bin, "lib", "zookeeper-3.9.3.jar") {
		t.Errorf("Apache's archive: %q, %v", path, err)
	}
}
