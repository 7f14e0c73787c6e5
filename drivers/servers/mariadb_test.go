package servers

import (
	"context"
	"strings"
	"testing"
)

func startMySQL(t *testing.T, o Options) *Server {
	t.Helper()
	return started(t, mysqlProgram.locate, func(ctx context.Context) (*Server, error) { return StartMySQL(ctx, o) })
}

// A server can be killed and started again at its address, and leaves nothing.
func TestMySQLLifecycle(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Options{
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
			checkLeft(t, s)
		})
	}
}
