package postgres

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/drivertest"
)

// open opens a service that ends with the test.
func open(t *testing.T, cfg drivers.Config) *service {
	t.Helper()
	if cfg.Prefix == "" {
		var unique drivers.Owners
		cfg.Prefix = "test:" + unique.Next() + ":"
	}
	return drivertest.Open(t, driver{}, cfg).(*service)
}

func newSession(t *testing.T, s *service) *session {
	t.Helper()
	one, err := s.Session(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { one.(*session).Close() })
	return one.(*session)
}

// relay accepts connections for a target and calls between for each, until the test ends.
func relay(t *testing.T, target string, between func(client, server net.Conn)) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var open []net.Conn
	var all sync.WaitGroup
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for _, c := range open {
			c.Close()
		}
		mu.Unlock()
		all.Wait()
	})
	all.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", target)
			if err != nil {
				client.Close()
				continue
			}
			mu.Lock()
			open = append(open, client, server)
			mu.Unlock()
			all.Go(func() {
				defer client.Close()
				between(client, server)
			})
		}
	})
	return l.Addr().String()
}

// ask runs a statement on a separate connection and returns the first value of each row.
func ask(t *testing.T, address, statement string) []string {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	c, err := pgconn.Connect(ctx, address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(ctx)
	results, err := c.Exec(ctx, statement).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	for _, r := range results {
		for _, row := range r.Rows {
			values = append(values, string(row[0]))
		}
	}
	return values
}

func mustTry(t *testing.T, s drivers.Session, l *drivers.Lease, want bool) {
	t.Helper()
	if held, err := s.Try(t.Context(), l); held != want || err != nil {
		t.Fatalf("Try answered %v, %v; want %v", held, err, want)
	}
}

func mustRelease(t *testing.T, s drivers.Session, l *drivers.Lease, want bool) {
	t.Helper()
	if owned, err := s.Release(t.Context(), l); owned != want || err != nil {
		t.Fatalf("Release answered %v, %v; want %v", owned, err, want)
	}
}

// forDesigns runs a test for each design.
func forDesigns(t *testing.T, f func(t *testing.T, lock string)) {
	for _, d := range designs {
		t.Run(d.Name, func(t *testing.T) { f(t, d.Name) })
	}
}

// waits reports whether a client waits for a lock on the server.
func waits(t *testing.T, address string) bool {
	t.Helper()
	return len(ask(t, address, "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name LIKE 'lockbench %'")) > 0
}

// terminate ends the connection with which a session holds the key k.
func terminate(t *testing.T, address string, s *session) {
	t.Helper()
	ask(t, address, fmt.Sprintf("SELECT pg_terminate_backend(%d)", s.holds["k"].conn.PID()))
}
