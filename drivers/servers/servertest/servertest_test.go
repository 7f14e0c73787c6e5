package servertest

import (
	"os"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/drivers/servers"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// verdict is a test that records how it was ended instead of ending.
type verdict struct {
	testing.TB
	how string
}

func (v *verdict) Helper()        {}
func (v *verdict) Skip(...any)    { v.end("skip") }
func (v *verdict) Fatal(...any)   { v.end("fatal") }
func (v *verdict) end(how string) { v.how = how; panic(v) }

func TestMissingServer(t *testing.T) {
	for _, tt := range []struct {
		name, ci, binary, want string
	}{
		{"here", "", "", "skip"},
		{"CI off", "false", "", "skip"},
		{"CI", "true", "", "fatal"},
		{"a named one", "", "valkey-server", "skip"},
		{"a path that was given", "", "/nonexistent/redis-server", "fatal"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("PATH", t.TempDir())
			t.Setenv("CI", tt.ci)
			v := &verdict{TB: t}
			defer func() {
				if recover() != any(v) || v.how != tt.want {
					t.Errorf("the test ends with %q, want %q", v.how, tt.want)
				}
			}()
			Redis(v, servers.Options{Binary: tt.binary})
		})
	}
}

func TestRedisEndsWithTheTest(t *testing.T) {
	_, err := servers.Named("redis").Locate()
	check(t, err)
	var r *servers.Redis
	t.Run("test", func(t *testing.T) {
		r = Redis(t, servers.Options{})
		if r.PID() == 0 {
			t.Error("it does not run")
		}
	})
	if r.PID() != 0 {
		t.Error("it outlives its test")
	}
	if _, err := os.Stat(strings.TrimPrefix(r.URL(), "unix://")); err == nil {
		t.Error("its socket is left")
	}
}
