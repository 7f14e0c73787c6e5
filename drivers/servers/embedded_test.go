package servers

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// Leases of the embedded server end by themselves, and never too early, however busy the server is. It is gone after Close.
func TestEmbedded(t *testing.T) {
	e, err := StartEmbedded(1)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	address, ok := strings.CutPrefix(e.URLs[0], "redis://")
	if !ok {
		t.Errorf("URL %s", e.URLs[0])
	}
	const ttl = 50 * time.Millisecond
	c := goredis.NewClient(&goredis.Options{Addr: address, MaxRetries: -1, DialerRetries: 1})
	defer c.Close()
	var clients sync.WaitGroup
	for id := range 16 {
		clients.Go(func() {
			key := fmt.Sprint("key", id)
			for range 3 {
				start := time.Now()
				if err := c.SetNX(t.Context(), key, "owner", ttl).Err(); err != nil {
					t.Error(err)
					return
				}
				for {
					left, err := c.Exists(t.Context(), key).Result()
					if err != nil || time.Since(start) > time.Minute {
						t.Errorf("the lease of %v still runs after %v, %v", ttl, time.Since(start), err)
						return
					}
					if left == 0 {
						break
					}
				}
				if lasted := time.Since(start); lasted < ttl {
					t.Errorf("the lease of %v ended after %v", ttl, lasted)
				}
			}
		})
	}
	clients.Wait()
	for range 2 {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := c.Ping(t.Context()).Err(); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("after Close: %v", err)
	}
}
