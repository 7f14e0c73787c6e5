package rueidis

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/drivertest"
	"github.com/lockbench/lockbench/drivers/fault"
	"github.com/lockbench/lockbench/drivers/redis"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
	"github.com/lockbench/lockbench/drivers/testwait"
)

func dial(t *testing.T, url string) redis.Conn {
	t.Helper()
	target, err := redis.ParseTarget(url)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Dial(t.Context(), redis.Options{Target: target, Config: drivers.Config{Embedded: true, Conns: 1, IOTimeout: time.Minute}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// TestDeadlineIsOnesOwn: when the first command on an idle connection exceeds its deadline, those sent behind it on the
// same connection are answered. How soon they are sent is unknown, so a slow machine may hide an error, but no error is
// reported that did not happen.
func TestDeadlineIsOnesOwn(t *testing.T) {
	for _, first := range []string{"Do", "DoWait"} {
		for _, second := range []string{"Do", "DoWait"} {
			t.Run(first+" before "+second, func(t *testing.T) {
				proxy := drivertest.Through(t, servertest.Embedded(t))[0]
				c := dial(t, "redis://"+proxy.Addr())
				set := func(way, key string, limit time.Duration) error {
					ctx, cancel := context.WithTimeout(t.Context(), limit)
					defer cancel()
					args := []string{"SET", key, "v"}
					if way == "DoWait" {
						_, err, _, _ := c.(redis.Waiter).DoWait(ctx, args, 1, []string{"WAIT", "0", "0"})
						return err
					}
					_, err := c.Do(ctx, args, 1)
					return err
				}
				held := proxy.Hold(fault.Replies)
				failed, answered := make(chan error, 1), make(chan error, 1)
				go func() { failed <- set(first, "first", 500*time.Millisecond) }()
				testwait.Until(t, "the first command is answered", held)
				go func() { answered <- set(second, "second", time.Minute) }()
				if err := <-failed; !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("the first command answers %v", err)
				}
				proxy.Resume()
				if err := <-answered; err != nil {
					t.Errorf("the second command, which had a minute, answers %v", err)
				}
			})
		}
	}
}
