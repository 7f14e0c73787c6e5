// Redlock over every kind of node, against the contract.
package quorum_test

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/drivertest"
	"github.com/lockbench/lockbench/drivers/fault"
	"github.com/lockbench/lockbench/drivers/memory"
	"github.com/lockbench/lockbench/drivers/quorum"
	_ "github.com/lockbench/lockbench/drivers/redis/goredis"
	_ "github.com/lockbench/lockbench/drivers/redis/rueidis"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, servertest.GoRedisEnds) }

const five = 5

// names returns addresses for nodes in this process.
func names(n int) (list []string) {
	for i := range n {
		list = append(list, string(rune('a'+i)))
	}
	return list
}

func TestConformanceMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node := fault.NewDriver(memory.Driver{})
		for _, f := range drivertest.Check(drivertest.Setup{
			Driver: quorum.Driver{Node: local{node}}, Config: drivers.Config{Lock: "mutex", Addrs: names(five)},
			Cut: node.Outage, Mute: node.Mute,
		}) {
			t.Error(f)
		}
	})
}

func TestConformanceRedis(t *testing.T) {
	cells := []string{"rueidis set-nx", "go-redis set-nx", "rueidis fenced", "go-redis set-nx-get-del"}
	if testing.Short() {
		cells = cells[:1]
	}
	conformAll(t, five, func(t *testing.T) string { return servertest.Redis(t, servers.Options{}).URL() }, cells, drivers.Config{})
}

// TestEmbeddedConformance has three nodes, because the suite counts their memory as that of the sessions.
func TestEmbeddedConformance(t *testing.T) {
	if testing.Short() {
		t.Skip("TestConformanceRedis has the same driver: make test-all")
	}
	cells := []string{"go-redis set-nx", "rueidis set-nx"}
	conformAll(t, 3, func(t *testing.T) string { return servertest.Embedded(t) }, cells, drivers.Config{Embedded: true})
}

// conformAll runs the suite on that many nodes for each cell, a library and a lock.
func conformAll(t *testing.T, nodes int, start func(t *testing.T) (url string), cells []string, cfg drivers.Config) {
	var all sync.WaitGroup // mostly waiting, so more can run at once than with t.Parallel
	for _, cell := range cells {
		all.Go(func() { t.Run(cell, func(t *testing.T) { conform(t, nodes, start, cell, cfg) }) })
	}
	all.Wait()
}

func conform(t *testing.T, nodes int, start func(t *testing.T) (url string), cell string, cfg drivers.Config) {
	name, lock, _ := strings.Cut(cell, " ")
	node, err := drivers.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	var urls []string
	for range nodes {
		urls = append(urls, start(t))
	}
	// Stalls of the machine must not cause time-outs here.
	cfg.Lock, cfg.IOTimeout, cfg.NodeTimeout = lock, 2*time.Second, 2*time.Second
	drivertest.Through(t, urls...).Run(t, drivertest.Setup{Driver: quorum.Driver{Node: node.(quorum.Node)}, Config: cfg, Straggles: true})
}
