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
		slots int // how many cells run at once
		drivers.Config
	}{
		// Most of the time goes into waiting, so more can run at once than there are processors; t.Parallel would not do
		// that. The embedded server works in this process.
		{"redis-server", func(t *testing.T) string { return servertest.Redis(t, servers.RedisOptions{}).URL() }, 4, drivers.Config{}},
		{"embedded", func(t *testing.T) string { return servertest.Embedded(t).URL() }, 3, drivers.Config{Embedded: true}},
	} {
		t.Run(server.name, func(t *testing.T) {
			var all sync.WaitGroup
			slots := make(chan struct{}, server.slots)
			for _, name := range []string{"go-redis", "rueidis"} {
				d, err := drivers.Lookup(name)
				if err != nil {
					t.Fatal(err)
				}
				for _, cell := range cells(d, server.Embedded) {
					cfg := server.Config
					cfg.Lock, cfg.Pipelining, cfg.Release, cfg.Polls = cell.Lock, cell.Pipelining, cell.Release, cell.Polls
					all.Go(func() {
						slots <- struct{}{}
						defer func() { <-slots }()
						t.Run(name+"/"+cell.name, func(t *testing.T) { conform(t, d, cfg, server.start(t)) })
					})
				}
			}
			all.Wait()
		})
	}
}

// cell is one way to open a service.
type cell struct {
	name string
	drivers.Config
}

// awake is a driver without the claim that clients can sleep on the server, which they can only on a single one, and with
// the release that is a script.
type awake struct{ drivers.Driver }

func (d awake) Designs() []drivers.Design {
	list := d.Driver.Designs()
	for i := range list {
		list[i].Traits.Blocks = false
	}
	return list
}

// cells are every design with pipelining, and of the rest what the suite might see: how the default design fares without
// it, the releases that are no script, and the line of clients that poll.
func cells(d drivers.Driver, embedded bool) []cell {
	var list []cell
	for _, design := range d.Designs() {
		list = append(list, cell{design.Name, drivers.Config{Lock: design.Name, Pipelining: drivers.PipeliningAuto}})
	}
	release := drivers.ReleaseWatch
	if embedded {
		release = drivers.ReleaseDelEx
	}
	list = append(list,
		cell{"set-nx without pipelining", drivers.Config{Pipelining: drivers.PipeliningOff}},
		cell{"set-nx by " + string(release), drivers.Config{Lock: "set-nx", Release: release}},
	)
	if !embedded { // which makes an interpreter for each of its many scripts
		list = append(list, cell{"fair for clients that poll", drivers.Config{Lock: "fair", Polls: true}})
	}
	return list
}

// conform runs the suite through a proxy that can break the connections.
func conform(t *testing.T, d drivers.Driver, cfg drivers.Config, url string) {
	proxy, err := fault.NewProxy(strings.TrimPrefix(url, "redis://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { proxy.Close() })
	cfg.Addrs, cfg.IOTimeout = []string{proxy.Addr()}, time.Second
	if cfg.Release != drivers.ReleaseDefault {
		d = awake{d}
	}
	if cfg.Embedded {
		cfg.IOTimeout = 2 * time.Second // under the race detector and on a busy machine its scripts take their time
	}
	drivertest.Run(t, drivertest.Setup{Driver: d, Config: cfg, Cut: proxy.Outage, Mute: proxy.Mute})
}
