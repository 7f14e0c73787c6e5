package redislock

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

func TestConformance(t *testing.T) {
	t.Run("redis-server", func(t *testing.T) {
		conform(t, drivers.Config{}, servertest.Redis(t, servers.RedisOptions{}).URL())
	})
	t.Run("embedded", func(t *testing.T) {
		conform(t, drivers.Config{Embedded: true}, servertest.Embedded(t).URL())
	})
}

func conform(t *testing.T, cfg drivers.Config, url string) {
	proxy, err := fault.NewProxy(strings.TrimPrefix(url, "redis://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { proxy.Close() })
	cfg.Lock, cfg.Addrs, cfg.IOTimeout = "library", []string{proxy.Addr()}, time.Second
	drivertest.Run(t, drivertest.Setup{Driver: driver{}, Config: cfg, Cut: proxy.Outage, Mute: proxy.Mute})
}
