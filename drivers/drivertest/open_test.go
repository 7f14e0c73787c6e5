package drivertest

import (
	"context"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/memory"
)

// late is memory whose first connection attempts time out.
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

// TestOpenAgain opens a service although some connection attempts time out on a stalling machine.
func TestOpenAgain(t *testing.T) {
	failures := 2
	Open(t, late{failures: &failures}, drivers.Config{Lock: "mutex"})
	if failures > 0 {
		t.Errorf("%d attempts have not been made", failures)
	}
}

// unheard is a session whose first answers to Try and Release come too late: the one had its effect, the other did not.
type unheard struct {
	drivers.Session
	tried, released bool
}

func (s *unheard) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	held, err := s.Session.Try(ctx, l)
	if !s.tried {
		s.tried = true
		return false, os.ErrDeadlineExceeded
	}
	return held, err
}

func (s *unheard) Release(ctx context.Context, l *drivers.Lease) (bool, error) {
	if !s.released {
		s.released = true
		return false, os.ErrDeadlineExceeded
	}
	return s.Session.Release(ctx, l)
}

// TestWarmUnheard: a key that Warm acquired without an answer must not stay taken until its lease ends.
func TestWarmUnheard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := struct{ testing.TB }{t} // without a deadline, which would be in real time
		svc := Open(tb, memory.Driver{}, drivers.Config{Lock: "mutex"})
		start := time.Now()
		Warm(tb, &unheard{Session: SessionOf[drivers.Session](tb, svc, 0)}, "k")
		if took := time.Since(start); took >= long {
			t.Errorf("it took %v, a lease is %v", took, long)
		}
	})
}
