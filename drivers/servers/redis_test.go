package servers

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestStartRedis(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		o      RedisOptions
		scheme string
		refuse []login // logins that must fail; only their names and passwords count
	}{
		{name: "unix", scheme: "unix:///"},
		{name: "tcp", o: RedisOptions{TCP: true}, scheme: "redis://127.0.0.1:"},
		{name: "tls", o: RedisOptions{TLS: true}, scheme: "rediss://127.0.0.1:"},
		{
			name: "password", o: RedisOptions{Password: `p"a s\s#>`}, scheme: "unix:///",
			refuse: []login{{}, {password: "wrong"}},
		},
		{
			name: "user", o: RedisOptions{TLS: true, Username: "alice", Password: "secret"}, scheme: "rediss://",
			refuse: []login{{}, {password: "secret"}, {username: "alice", password: "wrong"}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := startTest(t, tt.o)
			if !strings.HasPrefix(r.URL(), tt.scheme) {
				t.Errorf("URL %s does not begin with %s", r.URL(), tt.scheme)
			}
			if tt.o.Password != "" && strings.Contains(r.URL(), "@") {
				t.Errorf("URL %s has credentials", r.URL())
			}
			if err := ping(t.Context(), loginTo(t, r, tt.o.Username, tt.o.Password), r.PID()); err != nil {
				t.Errorf("ping: %v", err)
			}
			for _, l := range tt.refuse {
				if err := ping(t.Context(), loginTo(t, r, l.username, l.password), r.PID()); err == nil {
					t.Errorf("user %q with password %q was let in", l.username, l.password)
				}
			}
		})
	}
}

// A client that does not trust the private CA must not be able to connect.
func TestTLSVerifies(t *testing.T) {
	t.Parallel()
	r := startTest(t, RedisOptions{TLS: true})
	l := loginTo(t, r, "", "")
	l.tls.RootCAs = nil
	if err := ping(t.Context(), l, r.PID()); err == nil {
		t.Error("the system's own CAs vouch for the private server")
	}
}

func TestConfigReachesServer(t *testing.T) {
	t.Parallel()
	l := loginTo(t, startTest(t, RedisOptions{Config: map[string]string{
		"MaxClients": "123", "save": "900 1 300 10",
	}}), "", "")
	for name, want := range map[string]string{"maxclients": "123", "save": "900 1 300 10"} {
		if got := do(t, l, "CONFIG", "GET", name); !strings.Contains(got, "\r\n"+want+"\r\n") {
			t.Errorf("CONFIG GET %s: %q, want %s", name, got, want)
		}
	}
}

func TestLifecycle(t *testing.T) {
	t.Parallel()
	for _, o := range []RedisOptions{{}, {TCP: true}, {TLS: true}} {
		r := startTest(t, o)
		l := loginTo(t, r, "", "")
		if err := r.Restart(t.Context()); err == nil {
			t.Errorf("%s: a running server restarts", r.URL())
		}
		do(t, l, "SET", "k", "v")

		pid := r.PID()
		if err := r.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		if err := r.Kill(); err != nil { // a stopped process dies as well
			t.Fatal(err)
		}
		if _, err := stampOf(pid); err == nil {
			t.Errorf("%s: process %d lives on after Kill", r.URL(), pid)
		}
		if err := r.Kill(); err != nil {
			t.Errorf("%s: the second Kill: %v", r.URL(), err)
		}
		if got := r.PID(); got != 0 {
			t.Errorf("%s: PID is %d after Kill", r.URL(), got)
		}
		if err := r.Signal(syscall.SIGCONT); !errors.Is(err, os.ErrProcessDone) {
			t.Errorf("%s: Signal after Kill: %v", r.URL(), err)
		}
		if err := ping(t.Context(), l, pid); err == nil {
			t.Errorf("%s answers after Kill", r.URL())
		}

		if err := r.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := do(t, l, "GET", "k"); got != "$-1\r\n" {
			t.Errorf("%s: a server without persistence remembers %q", r.URL(), got)
		}
		for range 2 {
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}
		if err := r.Restart(t.Context()); !errors.Is(err, errClosed) {
			t.Errorf("%s: Restart after Close: %v", r.URL(), err)
		}
		if _, err := os.Stat(r.dir.path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: its directory is left: %v", r.URL(), err)
		}
	}
}

func TestPersistenceSurvivesRestart(t *testing.T) {
	t.Parallel()
	r := startTest(t, RedisOptions{Config: map[string]string{"appendonly": "yes", "appendfsync": "always"}})
	l := loginTo(t, r, "", "")
	do(t, l, "SET", "k", "v")
	if err := r.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := r.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := do(t, l, "GET", "k"); got != "$1\r\nv\r\n" {
		t.Errorf("the append-only file was lost: %q", got)
	}
}

// A server that cannot start says why in its log, and the log may quote a secret.
func TestStartFails(t *testing.T) {
	t.Parallel()
	needRedis(t)
	const secret = "hunter2"
	for _, tt := range []struct {
		name string
		o    RedisOptions
		want string
	}{
		{"unknown directive", RedisOptions{Config: map[string]string{"no-such-directive": "1"}}, "no-such-directive"},
		{"secret in a bad line", RedisOptions{Config: map[string]string{"masterauth": `"` + secret}}, `"***'`},
		{"two lines", RedisOptions{Config: map[string]string{"masterauth": secret + "\nport 1"}}, "masterauth: its value has more than one line"},
		{"no directive", RedisOptions{Config: map[string]string{"save 1 1\nport": ""}}, "no directive has such a name"},
		{"ours", RedisOptions{Config: map[string]string{"Port": "1"}}, "port: use RedisOptions.TCP"},
		{"ours without a choice", RedisOptions{Config: map[string]string{"dir": "/"}}, "dir is not for the caller"},
		{"user without password", RedisOptions{Username: "alice"}, "needs a Password"},
		{"user injects", RedisOptions{Username: "a on nopass", Password: secret}, "the user name has other characters"},
		{"no binary", RedisOptions{Binary: "/nonexistent/redis-server"}, "/nonexistent/redis-server"},
		{"not a server", RedisOptions{Binary: "false"}, "exited: exit status 1"},
	} {
		r, err := StartRedis(t.Context(), tt.o)
		if err == nil {
			t.Errorf("%s: it started", tt.name)
			_ = r.Close()
			continue
		}
		if !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %q does not say %q", tt.name, err, tt.want)
		}
		if strings.Contains(err.Error(), secret) {
			t.Errorf("%s: error %q gives the secret away", tt.name, err)
		}
	}
}

// Neither a cancelled start nor a failed one leaves a process or a directory.
func TestCancelledStartLeavesNothing(t *testing.T) {
	needRedis(t)
	root := canonical(t.TempDir())
	t.Setenv("TMPDIR", root)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := StartRedis(ctx, RedisOptions{Binary: "sleep"}); err == nil {
		t.Error("a program that takes no configuration started")
	}
	if r, err := StartRedis(ctx, RedisOptions{}); err == nil {
		t.Error("a cancelled start succeeded")
		_ = r.Close()
	} else if !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	left, err := os.ReadDir(root)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// startRedisTaken starts a server with ports from reserve.
func startRedisTaken(t *testing.T, o RedisOptions, reserve func() (*port, error)) (*Redis, error) {
	t.Helper()
	binary, err := redisProgram.find(o.Binary)
	if err != nil {
		t.Fatal(err)
	}
	return startTaken(t.Context(), place{name: "redis"}, reserve, func(p *process) (*Redis, error) { return setUpRedis(p, binary, o) })
}

// If another process takes the port between the choice and the start, another port is chosen.
func TestTakenPortIsRetried(t *testing.T) {
	t.Parallel()
	needRedis(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	reserve, calls := reserveTaken(taken.Addr().(*net.TCPAddr).Port, 2)
	r, err := startRedisTaken(t, RedisOptions{TCP: true}, reserve)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if *calls != 3 {
		t.Errorf("%d ports were tried, want 3", *calls)
	}

	reserve, calls = reserveTaken(taken.Addr().(*net.TCPAddr).Port, math.MaxInt)
	if r, err := startRedisTaken(t, RedisOptions{TCP: true}, reserve); !errors.Is(err, errPortTaken) {
		t.Errorf("without a free port: %v", err)
		if err == nil {
			_ = r.Close()
		}
	}
	if *calls != portAttempts {
		t.Errorf("%d ports were tried, want %d", *calls, portAttempts)
	}
}

// A server that has taken our port is rejected, however well it answers.
func TestStrangerIsNotOurs(t *testing.T) {
	t.Parallel()
	other := startTest(t, RedisOptions{TCP: true})
	reserve, _ := reserveTaken(other.port.number, math.MaxInt)
	r, err := startRedisTaken(t, RedisOptions{TCP: true, Binary: "false"}, reserve)
	if err == nil {
		_ = r.Close()
		t.Errorf("%s, which another server has, passes for our own", r.URL())
	}
	if err := ping(t.Context(), loginTo(t, other, "", ""), other.PID()+1); err == nil || !strings.Contains(err.Error(), "another server") {
		t.Errorf("ping of another process: %v", err)
	}
}

func TestFindRedis(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	_, err := FindRedis()
	if !errors.Is(err, exec.ErrNotFound) || !strings.Contains(err.Error(), "install the package redis-server") {
		t.Errorf("without any server: %v", err)
	}
	for _, name := range []string{"valkey-server", "redis-server"} { // the second is preferred
		want := filepath.Join(dir, name)
		if err := os.WriteFile(want, []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		if got, err := FindRedis(); got != want || err != nil {
			t.Errorf("FindRedis: %s, %v, want %s", got, err, want)
		}
	}
	t.Chdir(dir) // the server has another working directory
	want, err := filepath.EvalSymlinks(filepath.Join(dir, "valkey-server"))
	if got, failed := redisProgram.find("./valkey-server"); got != want || errors.Join(err, failed) != nil {
		t.Errorf("a relative path: %s, %v, %v, want %s", got, err, failed, want)
	}
}
