package servers

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"
	"go.uber.org/goleak"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// roleVar makes the test binary the parent of a server.
const roleVar = "LOCKBENCH_SERVERS_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleVar) {
	case "":
		goleak.VerifyTestMain(m)
	case "redis":
		r, err := StartRedis(context.Background(), Options{})
		hold(r.Server, err)
	case "postgres":
		p, err := StartPostgres(context.Background(), Options{})
		hold(p.Server, err)
	}
}

// hold prints the number and the directory of a server, and waits for the death of this process.
func hold(s *Server, err error) {
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	fmt.Println(s.PID(), s.dir.path)
	select {}
}

// startRole runs the test binary in another role, and returns its first line.
func startRole(t *testing.T, role string) (*exec.Cmd, string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVar+"="+role)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || strings.HasPrefix(line, "error:") {
		t.Fatalf("role %s: %q, %v", role, line, err)
	}
	return cmd, strings.TrimSpace(line)
}

// startTest starts a server that ends with the test. It replaces servertest.Redis, which this package cannot import.
func startTest(t *testing.T, o Options) *Redis {
	t.Helper()
	return started(t, redisProgram.locate, func(ctx context.Context) (*Redis, error) { return StartRedis(ctx, o) })
}

// need skips a test whose server is not installed, and fails it with CI=true.
func need(t *testing.T, find func() (string, error)) {
	t.Helper()
	if _, err := find(); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

// started returns a server that ends with the test.
func started[S interface{ Close() error }](t *testing.T, find func() (string, error), start func(context.Context) (S, error)) S {
	t.Helper()
	need(t, find)
	s, err := start(t.Context())
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

// loginTo returns a client's view of a server's URL and CA file.
func loginTo(t *testing.T, r *Redis, username, password string) goredis.Options {
	t.Helper()
	u, err := url.Parse(r.URL())
	if err != nil {
		t.Fatal(err)
	}
	l := r.login
	l.Username, l.Password, l.Network, l.Addr, l.TLSConfig = username, password, "tcp", u.Host, nil
	switch u.Scheme {
	case "unix":
		l.Network, l.Addr = "unix", u.Path
	case "rediss":
		text, err := os.ReadFile(r.CAFile())
		if err != nil {
			t.Fatal(err)
		}
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(text) {
			t.Fatal("the CA file has no certificate")
		}
		l.TLSConfig = &tls.Config{RootCAs: roots, ServerName: u.Hostname()}
	}
	return l
}

// say sends one command with the right credentials.
func say(t *testing.T, r *Redis, command ...any) string {
	t.Helper()
	reply, err := r.command(t.Context(), command...)
	if err != nil {
		t.Fatal(err)
	}
	return reply
}

// findJar finds the server of ZooKeeper.
func findJar() (string, error) { return Named("zookeeper").Locate() }

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// checkLeft checks that nothing is left of a server that is closed.
func checkLeft(t *testing.T, of interface{ base() *Server }) {
	t.Helper()
	p := of.base()
	for range 2 {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
	if p.PID() != 0 || exists(p.dir.path) {
		t.Errorf("%s is left", p.URL())
	}
	if err := p.Restart(t.Context()); !errors.Is(err, errClosed) {
		t.Errorf("%s: Restart after Close: %v", p.URL(), err)
	}
}
