package redsync

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

// patient gives attempts more time than the library's own 5 % of a lease: the suite's leases are so short that those would
// be 10 ms, and machines stall.
var patient = map[string]string{"timeout-factor": "0.5"}

func TestConformance(t *testing.T) {
	t.Run("redis-server", func(t *testing.T) { conform(t, drivers.Config{}, redisServers(t, 1)...) })
	t.Run("embedded", func(t *testing.T) {
		conform(t, drivers.Config{Embedded: true}, servertest.Embedded(t).URL())
	})
	t.Run("five nodes", func(t *testing.T) {
		conform(t, drivers.Config{Topology: drivers.TopologyRedlock}, redisServers(t, 5)...)
	})
}

func redisServers(t *testing.T, n int) (urls []string) {
	for range n {
		urls = append(urls, servertest.Redis(t, servers.RedisOptions{}).URL())
	}
	return urls
}

func conform(t *testing.T, cfg drivers.Config, urls ...string) {
	var proxies []*fault.Proxy
	for _, url := range urls {
		proxy, err := fault.NewProxy(strings.TrimPrefix(url, "redis://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { proxy.Close() })
		proxies = append(proxies, proxy)
		cfg.Addrs = append(cfg.Addrs, proxy.Addr())
	}
	every := func(fault func(*fault.Proxy) func()) func() func() {
		return func() func() {
			var restores []func()
			for _, p := range proxies {
				restores = append(restores, fault(p))
			}
			return func() {
				for _, restore := range restores {
					restore()
				}
			}
		}
	}
	cfg.Lock, cfg.IOTimeout, cfg.Params = "library", time.Second, patient
	drivertest.Run(t, drivertest.Setup{
		Driver: driver{}, Config: cfg, Cut: every((*fault.Proxy).Outage), Mute: every((*fault.Proxy).Mute),
	})
}
