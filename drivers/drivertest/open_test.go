package drivertest

import (
	"context"
	"os"
	"testing"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/memory"
)

// late is memory to which the first connection attempts time out.
type late struct {
	memory.Driver
	failures *int
}

func (d late) Open(ctx context.Context, cfg drivers.Config) (drivers.Service, error) {
	if *d.failures > 0 {
		*d.failures--
		return nil, &drivers.Error{Class: drivers.ClassConnect, Op: "connect", Err: os.ErrDeadlineExceeded}
	}
	return d.Driver.Open(ctx, cfg)
}

// TestOpenAgain opens a service although a machine that stalls lets some attempts to connect time out.
func TestOpenAgain(t *testing.T) {
	failures := 2
	Open(t, late{failures: &failures}, drivers.Config{Lock: "mutex"})
	if failures > 0 {
		t.Errorf("%d attempts have not been made", failures)
	}
}
