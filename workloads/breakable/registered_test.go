package breakable_test

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/workloads/breakable"
	"github.com/lockbench/lockbench/workloads/hazards"
)

func init() {
	servers.Register(&servers.Service{
		Name: "test-own", Schemes: []string{"test-own"}, Find: func() (string, error) { return "/bin/true", nil },
		Start: func(_ context.Context, o servers.Options) (*servers.Running, error) {
			return &servers.Running{
				URLs: []string{"test-own://127.0.0.1:1"}, PIDs: func() []int { return []int{1} }, Close: func() error { return errors.New("closed " + o.Binary) },
			}, nil
		},
	})
	servers.Register(&servers.Service{
		Name: "test-absent", Schemes: []string{"test-absent"}, Find: func() (string, error) { return "", exec.ErrNotFound },
		Start: func(context.Context, servers.Options) (*servers.Running, error) {
			return nil, errors.New("started")
		},
	})
}

// A service of the user's own is started as it is described, and is not broken in ways that nobody has described.
func TestRegisteredService(t *testing.T) {
	var b breakable.Servers
	s, err := b.Own(t.Context(), "test-own", hazards.Single)
	if err != nil || s.URL() != "test-own://127.0.0.1:1" || s.PID() != 1 {
		t.Fatalf("%v, %v", s, err)
	}
	if err := s.Close(); err == nil || err.Error() != "closed /bin/true" {
		t.Errorf("Close: %v", err)
	}
	for _, err := range []error{s.Kill(), s.Restart(t.Context())} {
		if err == nil || !strings.Contains(err.Error(), "restart a server of test-own") {
			t.Error(err)
		}
	}
	if _, err := b.Own(t.Context(), "test-absent", hazards.Single); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("what is not installed: %v", err)
	}
	if _, err := b.Own(t.Context(), "test-own", hazards.IsQuorum); err == nil || !strings.Contains(err.Error(), "by itself only") {
		t.Errorf("a quorum: %v", err)
	}
	_, err = b.Own(t.Context(), "nobody", hazards.Single)
	if err == nil || errors.Is(err, exec.ErrNotFound) || !strings.Contains(err.Error(), "start nobody: it starts etcd, mysql, postgres, redis") ||
		!strings.Contains(err.Error(), "servers.Register") {
		t.Errorf("a service that nobody has described: %v", err)
	}
}
