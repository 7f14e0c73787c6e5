package servers

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Leases of the embedded server end by themselves, and never too early, however busy the server is. It is gone after Close.
func TestEmbedded(t *testing.T) {
	e, err := StartEmbedded()
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	address, ok := strings.CutPrefix(e.URL(), "redis://")
	if !ok {
		t.Errorf("URL %s", e.URL())
	}
	const ttl = 50 * time.Millisecond
	l := login{network: "tcp", address: address}
	var clients sync.WaitGroup
	for id := range 16 {
		clients.Go(func() {
			key := fmt.Sprint("key", id)
			for range 3 {
				start := time.Now()
				if _, err := l.ask(t.Context(), command{"SET", key, "owner", "NX", "PX", fmt.Sprint(ttl.Milliseconds())}); err != nil {
					t.Error(err)
					return
				}
				for {
					left, err := l.ask(t.Context(), command{"EXISTS", key})
					if err != nil || time.Since(start) > time.Minute {
						t.Errorf("the lease of %v still runs after %v, %v", ttl, time.Since(start), err)
						return
					}
					if left[0] == "0" {
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
	if _, err := l.ask(t.Context(), command{"PING"}); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("after Close: %v", err)
	}
}
