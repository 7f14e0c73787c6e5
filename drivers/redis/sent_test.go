package redis_test

import (
	"testing"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
)

// TestSent: each request of one client waits for the one before, so that none shares a write.
func TestSent(t *testing.T) {
	forBoth(t, func(t *testing.T, driver string) {
		server := startRedis(t, servers.Options{})
		for _, pipelining := range pipelinings {
			s := open(t, driver, drivers.Config{Addrs: []string{server.URL()}, Pipelining: pipelining, Wakes: true})
			a := session(t, s, 0)
			handOver(t, a, "k") // loads scripts, makes connections
			before := s.(drivers.Sender).Sent()
			for range 100 {
				handOver(t, a, "k")
			}
			now := s.(drivers.Sender).Sent()
			requests, writes := now.Requests-before.Requests, now.Writes-before.Writes
			if requests < 200 || writes < requests-20 || writes > requests {
				t.Errorf("pipelining %q: %d requests in %d writes", pipelining, requests, writes)
			}
		}
	})
}
