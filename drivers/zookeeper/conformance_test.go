// Both designs against the contract, on a real server and on an ensemble.
package zookeeper_test

import (
	"sync"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/drivertest"
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

// sessionTime is the time-out of sessions here: long enough for a machine that stalls, short enough to wait for.
const sessionTime = 4 * time.Second

func zookeeper(t *testing.T) drivers.Driver {
	t.Helper()
	d, err := drivers.Lookup("zookeeper")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestConformance(t *testing.T) {
	type cell struct {
		name    string
		servers *servers.Group[*servers.Server]
		drivers.Config
	}
	alone := single.Get(t)
	cells := []cell{
		{"sequential", alone, drivers.Config{Lock: "sequential"}},
		{"herd", alone, drivers.Config{Lock: "herd"}},
	}
	if !testing.Short() {
		ensemble := servertest.ZooKeeper(t, 3, servers.Options{})
		cells = append(cells, cell{"sequential, ensemble, shared sessions", ensemble, drivers.Config{
			Lock: "sequential", Conns: 3, Topology: drivers.TopologyEnsemble,
		}})
	}
	var all sync.WaitGroup // mostly waiting, so more can run at once than with t.Parallel
	for _, cell := range cells {
		all.Go(func() { t.Run(cell.name, func(t *testing.T) { conform(t, cell.servers, cell.Config) }) })
	}
	all.Wait()
}

// conform runs the suite through proxies that can break the connections.
func conform(t *testing.T, z *servers.Group[*servers.Server], cfg drivers.Config) {
	cfg.TTL, cfg.IOTimeout = sessionTime, 2*time.Second // on machines that stall
	s := drivertest.Setup{Driver: zookeeper(t), Config: cfg, SessionTimeout: cfg.TTL + 400*time.Millisecond}
	s.MemoryPerSession = 4 << 20 // so that it makes few of them: one crowd of sessions shows it
	if len(z.Nodes) == 1 && cfg.Lock == "sequential" {
		s.MemoryPerSession = 256 << 10 // the library's own would take 3 MB; the proxies are in this process, too
	}
	drivertest.Through(t, z.URLs()...).Run(t, s)
}
