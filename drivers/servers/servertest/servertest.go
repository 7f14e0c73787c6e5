// Package servertest gives tests the private servers of package servers, which end with the test.
package servertest

import (
	"errors"
	"os"
	"os/exec"
	"testing"

	"github.com/lockbench/lockbench/drivers/servers"
)

// Redis starts a private Redis server for the test. Where none is installed the test is skipped; with CI=true it
// fails instead, lest a suite that never ran pass for a green one.
func Redis(t testing.TB, o servers.RedisOptions) *servers.Redis {
	t.Helper()
	r, err := servers.StartRedis(t.Context(), o)
	if errors.Is(err, exec.ErrNotFound) {
		missing(t, err)
	}
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, r.Close)
	return r
}

// Embedded starts the embedded server for the test.
func Embedded(t testing.TB) *servers.Embedded {
	t.Helper()
	e, err := servers.StartEmbedded()
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, e.Close)
	return e
}

// missing ends a test whose server is not installed.
func missing(t testing.TB, err error) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(err)
	}
	t.Skip(err)
}

func closeAfter(t testing.TB, close func() error) {
	t.Cleanup(func() {
		if err := close(); err != nil {
			t.Error(err)
		}
	})
}
