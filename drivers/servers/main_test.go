package servers

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// roleVar makes the test binary play another process: the parent of a server that is killed, for example.
const roleVar = "LOCKBENCH_SERVERS_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleVar) {
	case "":
		goleak.VerifyTestMain(m)
	case "parent": // starts a server and waits for its death
		r, err := StartRedis(context.Background(), RedisOptions{})
		if err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		fmt.Println(r.PID(), r.dir.path, r.URL())
		select {}
	case "parent of postgres":
		p, err := StartPostgres(context.Background(), PostgresOptions{})
		if err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		fmt.Println(p.PID(), p.dir.path)
		select {}
	case "parent of mysql":
		fmt.Println("starting")
		_, err := StartMySQL(context.Background(), MySQLOptions{})
		fmt.Println("error:", err)
		os.Exit(1)
	case "idler": // waits for its death
		fmt.Println("ready")
		select {}
	}
}

// startRole runs the test binary in another role, with the given working directory, and returns its first line.
func startRole(t *testing.T, role, dir string) (*exec.Cmd, string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Dir = dir
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
func startTest(t *testing.T, o RedisOptions) *Redis {
	t.Helper()
	return started(t, FindRedis, func(ctx context.Context) (*Redis, error) { return StartRedis(ctx, o) })
}

func needRedis(t *testing.T) { t.Helper(); need(t, FindRedis) }

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

// startTaken starts a server like startServer, with ports from reserve.
func startTaken[S any](ctx context.Context, at place, reserve func() (*port, error), setUp func(p *process) (S, error)) (S, error) {
	return startServer(ctx, at, func(p *process) (S, error) {
		p.newPort = reserve
		return setUp(p)
	})
}

// reserveTaken returns a reservePort of which the first n ports have a number that another process has, and how often it was called.
func reserveTaken(number, n int) (reserve func() (*port, error), calls *int) {
	calls = new(int)
	return func() (*port, error) {
		*calls++
		p, err := reservePort()
		if err == nil && *calls <= n {
			p.number = number
		}
		return p, err
	}, calls
}

// loginTo returns a client's view of a server's URL and CA file.
func loginTo(t *testing.T, r *Redis, username, password string) login {
	t.Helper()
	u, err := url.Parse(r.URL())
	if err != nil {
		t.Fatal(err)
	}
	l := login{network: "tcp", address: u.Host, username: username, password: password}
	switch u.Scheme {
	case "unix":
		l.network, l.address = "unix", u.Path
	case "rediss":
		text, err := os.ReadFile(r.CAFile())
		if err != nil {
			t.Fatal(err)
		}
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(text) {
			t.Fatal("the CA file has no certificate")
		}
		l.tls = &tls.Config{RootCAs: roots, ServerName: u.Hostname()}
	}
	return l
}

// do sends one command on its own connection and returns the raw reply, of up to 4 KB.
func do(t *testing.T, l login, command ...string) string {
	t.Helper()
	conn, err := dial(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write(appendCommand(nil, command...)); err != nil {
		t.Fatal(err)
	}
	reply := make([]byte, 4096)
	n, err := conn.Read(reply)
	if err != nil {
		t.Fatal(err)
	}
	return string(reply[:n])
}
