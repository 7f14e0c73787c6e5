package target

import (
	"strings"
	"testing"

	"github.com/lockbench/lockbench/drivers"
	_ "github.com/lockbench/lockbench/drivers/all"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads/host"
	"github.com/lockbench/lockbench/workloads/matrix"
)

func TestFits(t *testing.T) {
	for _, test := range []struct {
		server        drivers.Server
		nodes         int
		warning, fail string
	}{
		{drivers.Server{}, 0, "", ""},
		{drivers.Server{MaxClients: 100, Connected: 1}, 0, "", ""},
		{drivers.Server{MaxClients: 15, Connected: 1}, 0, "", "16 connections are needed and the server accepts 15 (maxclients)"},
		{drivers.Server{MaxClients: 16, Connected: 1}, 0, "", ""}, // the one is ours
		{drivers.Server{MaxClients: 20, Connected: 10}, 0, "the server has 9 of its 20 connections", ""},
		{drivers.Server{MaxClients: 16, Connected: 1}, 5, "", ""}, // both are a node's
		{drivers.Server{MaxClients: 15, Connected: 1}, 5, "", "16 connections are needed and the server accepts 15 (maxclients)"},
		{drivers.Server{MaxClients: 20, Connected: 10}, 5, "the server has 9 of its 20 connections", ""},
	} {
		p := spec.Plan{Load: spec.Load{Clients: 100}, Driver: "rueidis", Lock: "set-nx", Wait: "none", Conns: 16, Nodes: test.nodes}
		warning, err := fits(p, test.server, max(0, test.server.Connected-1), "-conns")
		if !strings.HasPrefix(warning, test.warning) || (warning == "") != (test.warning == "") ||
			(err == nil) != (test.fail == "") || err != nil && !strings.HasPrefix(err.Error(), test.fail) {
			t.Errorf("%+v: %q, %v", test, warning, err)
		}
	}
}

func TestCauseIsNamed(t *testing.T) {
	p := spec.Plan{Load: spec.Load{Clients: 100}, Driver: "postgres", Lock: "advisory", Wait: "none"}
	for want, has := range map[string]drivers.Server{
		"or raise the CONNECTION LIMIT of the role": {MaxClients: 15, ClientLimit: "the CONNECTION LIMIT of the role"},
		"or take -lock row-lock":                    {Mode: drivers.Lent},
	} {
		if _, err := fits(p, has, 0, "-clients"); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestCloseWhileCellsRun closes the servers as a second signal does, while the run still reads which there are. The race
// detector has to find nothing in it.
func TestCloseWhileCellsRun(t *testing.T) {
	c := spec.Plan{Driver: "rueidis", Server: matrix.Private}
	closed := 0
	f := &Deployments{running: map[deployment]*Server{
		deploymentOf(c): {Running: &servers.Running{Network: "unix", Close: func() error { closed++; return nil }}},
	}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = f.Close()
	}()
	for range 100 {
		if s, err := f.Server(t.Context(), c); err != nil || s.Network != "unix" {
			t.Errorf("the run reached its server by %v, %v", s, err)
		}
	}
	<-done
	_ = f.Close()
	if closed != 1 {
		t.Errorf("the server was closed %d times", closed)
	}
}

func TestLimits(t *testing.T) {
	for _, test := range []struct {
		limits  host.Limits
		driver  string
		conns   int
		nodes   int
		network string
		want    string // a part of the error; empty for none
	}{
		{host.Limits{}, "rueidis", 100_000, 0, "tcp", ""},
		{host.Limits{Files: 1024}, "rueidis", 900, 0, "tcp", ""},
		{host.Limits{Files: 1024}, "rueidis", 961, 0, "tcp", "ulimit -n 1025"},
		{host.Limits{Files: 1024}, "rueidis", 900, 0, "embedded", "ulimit -n 1864"},
		{host.Limits{Files: 10}, "memory", 0, 0, "in-process", ""},
		{host.Limits{Ports: 100}, "rueidis", 100, 0, "tcp", ""},
		{host.Limits{Ports: 100}, "rueidis", 101, 0, "tls", "there are 100 (net.ipv4.ip_local_port_range)"},
		{host.Limits{Ports: 100}, "rueidis", 101, 0, "unix", ""},
		{host.Limits{Files: 1024}, "rueidis", 192, 5, "tcp", ""},
		{host.Limits{Files: 1024}, "rueidis", 193, 5, "tcp", "965 connections need 1029 open files"},
		{host.Limits{Files: 1024}, "rueidis", 193, 5, "embedded", "965 connections need 1994 open files"},
		{host.Limits{Ports: 100}, "rueidis", 100, 5, "tcp", ""},
		{host.Limits{Ports: 100}, "rueidis", 101, 5, "tcp", "101 connections to one address"},
	} {
		s := &Server{Running: &servers.Running{Network: test.network}}
		if test.network == matrix.Embedded {
			s.target.Kind = test.network
		}
		err := s.checkLimits(spec.Plan{
			Load: spec.Load{Clients: 5000}, Driver: test.driver, Wait: "none", Conns: test.conns, Nodes: test.nodes,
		}, test.limits)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v", test, err)
		}
	}
}
