package exec

// Workers that are killed and stopped in the middle of an acquisition.

import (
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/drivertest"
	"github.com/lockbench/lockbench/drivers/fault"
	"github.com/lockbench/lockbench/drivers/testwait"
)

// proxied is a worker behind a proxy that holds the replies back, in the middle of a try that the server has granted.
type proxied struct {
	*Worker
	proxy *fault.Proxy
	other drivers.Session
	lease *drivers.Lease
	tried chan error // takes the end of the try, with held
	held  bool
}

func midTry(t *testing.T, lock string) *proxied {
	t.Helper()
	cfg := on(t, "rueidis", lock)
	p := &proxied{other: rival(t, "rueidis", cfg), lease: &drivers.Lease{Key: cfg.Prefix + "k", TTL: lease}, tried: make(chan error, 1)}
	p.proxy = drivertest.Through(t, cfg.Addrs...)[0]
	// With one connection, it is not the first answer to another one that is held back.
	cfg.Addrs, cfg.Conns, cfg.IOTimeout = []string{"redis://" + p.proxy.Addr()}, 1, time.Minute
	p.Worker = start(t, Options{Driver: "rueidis", Config: cfg})
	drivertest.Warm(t, p.Session(), p.lease.Key)
	answered := p.proxy.Hold(fault.Replies)
	go func() {
		var err error
		p.held, err = p.Session().Try(t.Context(), p.lease)
		p.tried <- err
	}()
	r, _ := drivers.As[drivers.Remainer](p.other)
	key := &drivers.Lease{Key: p.lease.Key}
	testwait.Until(t, "the server has granted the lock", func() bool {
		left, err := r.Remaining(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		return left != 0
	})
	testwait.Until(t, "the answer is held back", answered)
	return p
}

// A client that dies between SETNX and EXPIRE leaves a lock that never comes free, and nobody knows whether it held it.
func TestKillInATry(t *testing.T) {
	t.Parallel()
	p := midTry(t, "setnx-expire")
	if _, err := p.Kill(); err != nil {
		t.Error(err)
	}
	if err := <-p.tried; p.held || drivers.ClassOf(err) != drivers.ClassClosed || drivers.NoEffect(err) {
		t.Errorf("the try: %v, %v", p.held, err)
	}
	r, _ := drivers.As[drivers.Remainer](p.other)
	if left, err := r.Remaining(t.Context(), p.lease); left >= 0 || err != nil {
		t.Errorf("the lock still lasts %v, %v", left, err)
	}
}

// A client that is stopped while it waits for the answer is told that it holds, when another client does.
func TestStopInATry(t *testing.T) {
	t.Parallel()
	p := midTry(t, "set-nx")
	if _, err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	p.proxy.Resume()
	next := &drivers.Lease{Key: p.lease.Key, TTL: time.Hour}
	granted(t, p.other, next)
	if _, err := p.Continue(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-p.tried; !p.held || err != nil {
		t.Errorf("the try: %v, %v", p.held, err)
	}
	if owned, err := p.Session().Release(t.Context(), p.lease); owned || err != nil {
		t.Errorf("Release of a lock that another client holds: %v, %v", owned, err)
	}
	if owned, err := p.other.Release(t.Context(), next); !owned || err != nil {
		t.Errorf("Release by the other client: %v, %v", owned, err)
	}
}
