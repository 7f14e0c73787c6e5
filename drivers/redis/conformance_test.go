// Every design over every library, on every kind of server, against the contract.
package redis_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/drivertest"
	"github.com/lockbench/lockbench/drivers/fault"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
)

func TestConformance(t *testing.T) {
	for _, server := range []struct {
		name  string
		start func(t *testing.T) (url string)
		drivers.Config
	}{
		{"redis-server", func(t *testing.T) string { return servertest.Redis(t, servers.RedisOptions{}).URL() }, drivers.Config{}},
		{"embedded", func(t *testing.T) string { return servertest.Embedded(t).URL() }, drivers.Config{Embedded: true}},
	} {
		t.Run(server.name, func(t *testing.T) {
			url := server.start(t)
			// Most of the time goes into waiting, so more run at once than there are processors. t.Parallel would
			// not do that.
			var all sync.WaitGroup
			slots := make(chan struct{}, 6)
			for _, name := range []string{"go-redis", "rueidis"} {
				d, err := drivers.Lookup(name)
				if err != nil {
					t.Fatal(err)
				}
				for i, design := range d.Designs() {
					for _, pipelining := range []drivers.Pipelining{drivers.PipeliningAuto, drivers.PipeliningOff} {
						if i > 0 && pipelining == drivers.PipeliningOff {
							continue // a way to send commands, which is all the same to a design
						}
						cfg := server.Config
						cfg.Lock, cfg.Pipelining = design.Name, pipelining
						all.Go(func() {
							slots <- struct{}{}
							defer func() { <-slots }()
							t.Run(name+"/"+design.Name+"/pipelining-"+string(pipelining), func(t *testing.T) {
								conform(t, d, cfg, url)
							})
						})
					}
				}
			}
			all.Wait()
		})
	}
}

// conform runs the suite through a proxy that can break the connections.
func conform(t *testing.T, d drivers.Driver, cfg drivers.Config, url string) {
	proxy, err := fault.NewProxy(strings.TrimPrefix(url, "redis://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { proxy.Close() })
	cfg.Addrs, cfg.IOTimeout = []string{proxy.Addr()}, time.Second
	drivertest.Run(t, drivertest.Setup{Driver: d, Config: cfg, Cut: proxy.Outage, Mute: proxy.Mute})
}
