package servers

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
)

func startMySQL(t *testing.T, o MySQLOptions) *MySQL {
	t.Helper()
	return started(t, FindMySQL, func(ctx context.Context) (*MySQL, error) { return StartMySQL(ctx, o) })
}

// A server can be killed and started again at its address, and leaves nothing.
func TestMySQLLifecycle(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]MySQLOptions{
		"socket": {},
		"tcp":    {TCP: true, Durability: Strict, Password: `p'a\s"s`, Conns: 50},
		"tls":    {TLS: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startMySQL(t, o)
			first := s.PID()
			if first == 0 {
				t.Fatal("it does not run")
			}
			const tcp = "mysql://lockbench@127.0.0.1:"
			if strings.HasPrefix(s.URL(), tcp) != (o.TCP || o.TLS) || !strings.Contains(s.URL(), "/lockbench") {
				t.Errorf("URL %s", s.URL())
			}
			words := map[Durability]string{"": "fsync each second", Strict: "fsync each commit"}
			if want := words[o.Durability]; s.Persistence() != want {
				t.Errorf("Persistence %q, want %q", s.Persistence(), want)
			}
			if err := greeted(t.Context(), s.Socket(), s.dir.file("mysql.pid"), first+1); err == nil {
				t.Error("another process's server passes for this one")
			}
			if err := s.Kill(); err != nil {
				t.Fatal(err)
			}
			if err := s.Restart(t.Context()); err != nil {
				t.Fatal(err)
			}
			if s.PID() == first || s.PID() == 0 {
				t.Errorf("process %d after %d", s.PID(), first)
			}
			if (s.CAFile() != "") != o.TLS {
				t.Errorf("CAFile %q", s.CAFile())
			}
			if s.CPU() <= 0 {
				t.Errorf("CPU %v", s.CPU())
			}
			dir := s.dir.path
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("its directory is left: %v", err)
			}
		})
	}
}

func TestMySQLStartFails(t *testing.T) {
	t.Parallel()
	if _, err := StartMySQL(t.Context(), MySQLOptions{Binary: "no-such-server"}); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("a missing binary: %v", err)
	}
	if _, err := FindMySQL(); err == nil {
		_, err := StartMySQL(t.Context(), MySQLOptions{Durability: "perhaps"})
		if err == nil || !strings.Contains(err.Error(), "perhaps") {
			t.Errorf("a made-up durability: %v", err)
		}
	}
	// The output of a program that is not a server is in the error.
	_, err := StartMySQL(t.Context(), MySQLOptions{Binary: "false"})
	if err == nil || !strings.Contains(err.Error(), "version") {
		t.Errorf("a program that is no server: %v", err)
	}
}
