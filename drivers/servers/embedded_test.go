package servers

import (
	"bufio"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func startEmbedded(t *testing.T) login {
	t.Helper()
	e, err := StartEmbedded()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for range 2 {
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	u, err := url.Parse(e.URL())
	if err != nil || u.Scheme != "redis" {
		t.Fatalf("URL %s, %v", e.URL(), err)
	}
	return login{network: "tcp", address: u.Host}
}

func TestEmbeddedAnswers(t *testing.T) {
	l := startEmbedded(t)
	if got := do(t, l, "PING"); got != "+PONG\r\n" {
		t.Errorf("PING: %q", got)
	}
}

func TestEmbeddedIsGoneAfterClose(t *testing.T) {
	e, err := StartEmbedded()
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = dial(t.Context(), login{network: "tcp", address: strings.TrimPrefix(e.URL(), "redis://")})
	if !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("dial: %v", err)
	}
}

// Leases end by themselves, and never too early, however busy the server is.
func TestEmbeddedTTLsRunInRealTime(t *testing.T) {
	const ttl = 50 * time.Millisecond
	l := startEmbedded(t)
	var clients sync.WaitGroup
	for id := range 16 {
		clients.Go(func() {
			conn, err := dial(t.Context(), l)
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			replies := bufio.NewReader(conn)
			key := fmt.Sprint("key", id)
			ask := func(command ...string) string {
				if _, err := conn.Write(appendCommand(nil, command...)); err != nil {
					return err.Error()
				}
				line, err := replies.ReadString('\n')
				if err != nil {
					return err.Error()
				}
				return line
			}
			for range 3 {
				start := time.Now()
				if got := ask("SET", key, "owner", "NX", "PX", fmt.Sprint(ttl.Milliseconds())); got != "+OK\r\n" {
					t.Errorf("SET: %q", got)
					return
				}
				for ask("EXISTS", key) == ":1\r\n" {
					if t.Context().Err() != nil || time.Since(start) > time.Minute {
						t.Errorf("the lease of %v still runs after %v", ttl, time.Since(start))
						return
					}
				}
				if lasted := time.Since(start); lasted < ttl {
					t.Errorf("the lease of %v ended after %v", ttl, lasted)
				}
			}
		})
	}
	clients.Wait()
}
