package postgres

import (
	"context"
	"net/url"
	"os"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/drivertest"
	"github.com/lockbench/lockbench/drivers/fault"
	"github.com/lockbench/lockbench/drivers/servers"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if s, err := shared(); err == nil {
		if err := s.Close(); err != nil {
			panic(err)
		}
	}
	if code == 0 {
		if err := goleak.Find(); err != nil {
			println(err.Error())
			code = 1
		}
	}
	os.Exit(code)
}

// shared is one server for all tests that do it no harm, since each start makes a database cluster.
var shared = sync.OnceValues(func() (*servers.Postgres, error) {
	return servers.StartPostgres(context.Background(), servers.PostgresOptions{TCP: true, Conns: 150})
})

// server is the shared one's URL.
func server(t *testing.T) string {
	t.Helper()
	if _, err := servers.FindPostgres(); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	s, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return s.URL()
}

// behind is the address of a server behind a proxy, and the proxy.
func behind(t *testing.T, address string) (string, *fault.Proxy) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	p, err := fault.NewProxy(u.Host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	u.Host = p.Addr()
	return u.String(), p
}

func TestConformance(t *testing.T) {
	for _, d := range designs {
		t.Run(d.Name, func(t *testing.T) { // one after the other: each client is a process of the server's
			addr, proxy := behind(t, server(t))
			drivertest.Run(t, drivertest.Setup{
				Driver: driver{},
				Config: drivers.Config{Lock: d.Name, Addrs: []string{addr}, IOTimeout: 2 * time.Second},
				Cut:    proxy.Outage,
				Mute:   proxy.Mute,
			})
		})
	}
}
