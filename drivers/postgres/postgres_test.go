package postgres

import (
	"context"
	"net/url"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/drivertest"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
)

func TestMain(m *testing.M) { servertest.Main(m) }

// shared is one server for all tests that do it no harm, because each start makes a database cluster.
var shared = servertest.Share(func(ctx context.Context) (*servers.Postgres, error) {
	return servers.StartPostgres(ctx, servers.Options{TCP: true, Conns: 150})
})

// server returns the URL of the shared one.
func server(t *testing.T) string {
	t.Helper()
	return shared.Get(t).URL()
}

// behind returns the address of a server behind a proxy.
func behind(t *testing.T, address string) (string, drivertest.Proxies) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	proxies := drivertest.Through(t, address)
	u.Host = proxies[0].Addr()
	return u.String(), proxies
}

func TestConformance(t *testing.T) {
	for _, d := range designs {
		t.Run(d.Name, func(t *testing.T) { // one after the other: each client is a process of the server
			addr, proxies := behind(t, server(t))
			proxies.Run(t, drivertest.Setup{
				Driver: driver{},
				Config: drivers.Config{Lock: d.Name, Addrs: []string{addr}, IOTimeout: 2 * time.Second},
			})
		})
	}
}
