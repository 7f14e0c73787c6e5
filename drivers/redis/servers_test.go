// The servers that the tests of this package start, and the two client libraries that they are driven through.
package redis_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/lockbench/lockbench/drivers"
	_ "github.com/lockbench/lockbench/drivers/redis/goredis"
	_ "github.com/lockbench/lockbench/drivers/redis/rueidis"
)

// realServer is a redis-server child on a unix socket.
type realServer struct {
	t    testing.TB
	dir  string
	args []string
	cmd  *exec.Cmd
}

// startRedis starts a redis-server with additional arguments; it ends with the test.
func startRedis(t testing.TB, args ...string) *realServer {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("redis-server is not on PATH")
		}
		t.Skip("redis-server is not on PATH")
	}
	dir, err := os.MkdirTemp("", "lockbench") // t.TempDir may be too long for a socket's path
	if err != nil {
		t.Fatal(err)
	}
	s := &realServer{t: t, dir: dir, args: append([]string{path, "--port", "0", "--unixsocket", filepath.Join(dir, "s"),
		"--dir", dir, "--save", "", "--daemonize", "no", "--loglevel", "warning"}, args...)}
	t.Cleanup(func() {
		s.kill()
		os.RemoveAll(dir)
	})
	s.start()
	return s
}

func (s *realServer) start() {
	s.t.Helper()
	s.cmd = exec.Command(s.args[0], s.args[1:]...)
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	eventually(s.t, "redis-server accepts connections", func() bool {
		conn, err := net.Dial("unix", s.socket())
		if err != nil {
			return false
		}
		defer conn.Close()
		conn.SetDeadline(time.Now().Add(time.Second))
		conn.Write([]byte("PING\r\n"))
		n, _ := conn.Read(make([]byte, 16))
		return n > 0
	})
}

func (s *realServer) kill() {
	if s.cmd != nil {
		s.cmd.Process.Kill()
		s.cmd.Wait()
		s.cmd = nil
		os.Remove(s.socket())
	}
}

func (s *realServer) signal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

func (s *realServer) socket() string { return filepath.Join(s.dir, "s") }
func (s *realServer) url() string    { return "unix://" + s.socket() }

// startEmbedded starts a miniredis whose clock runs.
func startEmbedded(t *testing.T) string {
	t.Helper()
	m := miniredis.RunT(t)
	stop := make(chan struct{})
	var ticking sync.WaitGroup
	ticking.Go(func() {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		last := time.Now()
		for {
			select {
			case now := <-tick.C:
				m.FastForward(now.Sub(last))
				last = now
			case <-stop:
				return
			}
		}
	})
	t.Cleanup(func() {
		close(stop)
		ticking.Wait()
	})
	return "redis://" + m.Addr()
}

// forEach runs a test against every pair of a library and a server.
func forEach(t *testing.T, test func(t *testing.T, driver string, cfg drivers.Config)) {
	servers := map[string]func(t *testing.T) drivers.Config{
		"redis-server": func(t *testing.T) drivers.Config { return drivers.Config{Addrs: []string{startRedis(t).url()}} },
		"miniredis": func(t *testing.T) drivers.Config {
			return drivers.Config{Addrs: []string{startEmbedded(t)}, Embedded: true}
		},
	}
	for name, start := range servers {
		t.Run(name, func(t *testing.T) {
			cfg := start(t)
			for _, driver := range []string{"go-redis", "rueidis"} {
				t.Run(driver, func(t *testing.T) {
					cfg := cfg
					cfg.Prefix = "test:" + t.Name() + ":"
					test(t, driver, cfg)
				})
			}
		})
	}
}

// forBoth runs a test for both libraries, which starts its own server.
func forBoth(t *testing.T, test func(t *testing.T, driver string)) {
	for _, driver := range []string{"go-redis", "rueidis"} {
		t.Run(driver, func(t *testing.T) { test(t, driver) })
	}
}

// open opens a service that is closed with the test.
func open(t testing.TB, driver string, cfg drivers.Config) drivers.Service {
	t.Helper()
	d, err := drivers.Lookup(driver)
	if err != nil {
		t.Fatal(err)
	}
	s, err := d.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func session(t testing.TB, s drivers.Service, id int) drivers.Session {
	t.Helper()
	session, err := s.Session(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return session
}

// eventually waits for a condition that comes true by itself; the deadline is only for when it does not.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it never happened: %s", what)
		}
	}
}

func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}
