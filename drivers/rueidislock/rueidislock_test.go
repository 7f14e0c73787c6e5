package rueidislock

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

// patient gives a request more time than the library's own 20 ms: machines stall.
func patient(majority string) map[string]string {
	return map[string]string{"try-next-after": "500ms", "key-majority": majority}
}

func TestConformance(t *testing.T) {
	t.Run("redis-server", func(t *testing.T) {
		conform(t, drivers.Config{Params: patient("1")}, servertest.Redis(t, servers.RedisOptions{}).URL())
	})
	t.Run("embedded", func(t *testing.T) {
		conform(t, drivers.Config{Embedded: true, Params: patient("1")}, servertest.Embedded(t).URL())
	})
	t.Run("three keys", func(t *testing.T) {
		conform(t, drivers.Config{Lockers: 2, Params: patient("2")},
			servertest.Redis(t, servers.RedisOptions{}).URL())
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
