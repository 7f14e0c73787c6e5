// Both designs against the contract, on a real server and on an ensemble.
package zookeeper_test

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
	zookeeperdriver "github.com/lockbench/lockbench/drivers/zookeeper"
)

func TestMain(m *testing.M) { servertest.Main(m) }

// single is the server of all tests that neither harm it nor count its nodes; counted is that of those that count, one
// at a time.
var (
	single  = zookeeperdriver.SingleServer
	counted = servertest.ShareZooKeeper()
)

// The time-outs of sessions here, with one server and with an ensemble: long enough for a machine that stalls, short enough
// to wait for.
const sessionTime, ensembleTime = 8 * time.Second, 4 * time.Second

func zookeeper(t *testing.T) drivers.Driver {
	t.Helper()
	d, err := drivers.Lookup("zookeeper")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// proxied returns a path to a server on which the connections can be broken.
func proxied(t *testing.T, z *servers.ZooKeeper) *fault.Proxy {
	t.Helper()
	proxy, err := fault.NewProxy(strings.TrimPrefix(z.URL(), "zookeeper://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { proxy.Close() })
	return proxy
}

// together returns one fault on several paths at once.
func together(faults ...func() func()) func() func() {
	return func() func() {
		var restores []func()
		for _, f := range faults {
			restores = append(restores, f())
		}
		return func() {
			for _, restore := range restores {
				restore()
			}
		}
	}
}

func TestConformance(t *testing.T) {
	type cell struct {
		name    string
		servers *servers.ZooKeepers
		drivers.Config
	}
	alone := single.Get(t)
	cells := []cell{
		{"sequential", alone, drivers.Config{Lock: "sequential"}},
		{"herd", alone, drivers.Config{Lock: "herd"}},
	}
	if !testing.Short() {
		ensemble := servertest.ZooKeeper(t, 3, servers.ZooKeeperOptions{})
		cells = append(cells,
			cell{"sequential, shared sessions", alone, drivers.Config{Lock: "sequential", Conns: 3}},
			cell{"sequential, ensemble", ensemble, drivers.Config{Lock: "sequential", Topology: drivers.TopologyEnsemble}})
	}
	var all sync.WaitGroup // mostly waiting, so more can run at once than with t.Parallel
	for _, cell := range cells {
		all.Go(func() { t.Run(cell.name, func(t *testing.T) { conform(t, cell.servers, cell.Config) }) })
	}
	all.Wait()
}

// conform runs the suite through proxies that can break the connections.
func conform(t *testing.T, z *servers.ZooKeepers, cfg drivers.Config) {
	cfg.TTL, cfg.IOTimeout = sessionTime, 2*time.Second // on machines that stall
	if len(z.Nodes) > 1 {
		cfg.TTL = ensembleTime
	}
	var cuts, mutes, stalls []func() func()
	for _, node := range z.Nodes {
		proxy := proxied(t, node)
		cfg.Addrs = append(cfg.Addrs, proxy.Addr())
		cuts, mutes, stalls = append(cuts, proxy.Outage), append(mutes, proxy.Mute), append(stalls, proxy.Stall)
	}
	s := drivertest.Setup{Driver: zookeeper(t), Config: cfg, SessionTimeout: cfg.TTL + 400*time.Millisecond}
	s.Cut, s.Mute, s.Stall = together(cuts...), together(mutes...), together(stalls...)
	switch {
	case len(z.Nodes) > 1 || cfg.Lock == "herd":
		s.MemoryPerSession = 4 << 20 // so that it makes few of them: one crowd of sessions shows it
	case cfg.Conns == 0:
		s.MemoryPerSession = 256 << 10 // the proxies are in this process too, and take most of it; see TestMemory
	}
	drivertest.Run(t, s)
}
