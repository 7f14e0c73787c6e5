package mysql

import (
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/drivertest"
	"github.com/lockbench/lockbench/drivers/fault"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// config returns a configuration that leads to the server through a proxy, or directly if proxy is nil.
func config(s *servers.Server, proxy *fault.Proxy) drivers.Config {
	cfg := drivers.Config{Addrs: []string{s.URL()}}
	if proxy != nil {
		cfg.Addrs = []string{proxy.Addr()}
		cfg.Username, cfg.Database = servers.MySQLUser, servers.MySQLDatabase
	}
	return cfg
}

func TestConformance(t *testing.T) {
	t.Parallel()
	// One case takes all remaining connections, which cost a thread each: so a server for each design.
	start := func(t *testing.T) *servers.Server {
		return servertest.MySQL(t, servers.Options{TCP: true, Conns: 400})
	}
	if testing.Short() { // without that case
		one := start(t)
		start = func(*testing.T) *servers.Server { return one }
	}
	for _, design := range Driver.Designs() {
		t.Run(design.Name, func(t *testing.T) {
			t.Parallel()
			server := start(t)
			proxies := drivertest.Through(t, server.URL())
			cfg := config(server, proxies[0])
			cfg.IOTimeout = 2 * time.Second // some cases wait until it is over
			cfg.Lock, cfg.Prefix = design.Name, "DriverTest:"+strings.ToUpper(design.Name)+":"
			proxies.Run(t, drivertest.Setup{Driver: Driver, Config: cfg})
		})
	}
}
