package goredis

import (
	"context"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/redis"
)

// TestHungServer: with a server that hangs, and accepts connections without answering, a command behind others fails
// within one and a quarter I/O time-outs, and Close does not wait for any.
func TestHungServer(t *testing.T) {
	const timeout = 4 * time.Second
	synctest.Test(t, func(t *testing.T) {
		var dialled atomic.Int32
		o := redis.Options{Config: drivers.Config{Conns: 1, IOTimeout: timeout, Pipelining: drivers.PipeliningAuto}}
		options := poolOptions(o)
		options.Dialer = func(context.Context, string, string) (net.Conn, error) {
			dialled.Add(1)
			here, there := net.Pipe()
			go io.Copy(io.Discard, there) // it reads and never answers
			return here, nil
		}
		c, err := dialAuto(o, options)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		failed := make(chan error)
		for i := range 3 {
			go func() {
				time.Sleep(time.Duration(i) * timeout / 8)
				since := time.Now()
				_, err := c.Do(context.Background(), []string{"GET", "k"}, 1)
				if took := time.Since(since); took > timeout+timeout/4 {
					t.Errorf("command %d took %v, want at most 1.25 × %v", i, took, timeout)
				}
				failed <- err
			}()
		}
		for range 3 {
			if err := <-failed; drivers.ClassOf(err) != drivers.ClassTimeout {
				t.Errorf("class %s, want timeout: %v", drivers.ClassOf(err), err)
			}
		}
		if took := time.Since(began); took > 2*timeout {
			t.Errorf("three commands took %v", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		c.Do(ctx, []string{"GET", "k"}, 1) // is under way now
		closing := time.Now()
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if took := time.Since(closing); took > timeout/8 {
			t.Errorf("Close took %v", took)
		}
		if dialled.Load() == 0 {
			t.Error("nothing has connected")
		}
		time.Sleep(timeout + timeout/4) // for the limit's timer
	})
}
