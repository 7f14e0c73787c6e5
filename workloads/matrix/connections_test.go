package matrix

import (
	"runtime"
	"testing"

	"github.com/lockbench/lockbench/drivers"
	_ "github.com/lockbench/lockbench/drivers/all"
	"github.com/lockbench/lockbench/results/spec"
)

// plain is a driver that has addresses and says nothing of its library.
type plain struct {
	drivers.Driver
	drivers.Addressed
}

func init() { drivers.Register("test-plain", plain{}) }

func TestConnections(t *testing.T) {
	for _, test := range []struct {
		plan spec.Plan
		want int
	}{
		{spec.Plan{Load: spec.Load{Clients: 9}, Driver: "memory", Wait: "pubsub"}, 0},
		{spec.Plan{Load: spec.Load{Clients: 9}, Driver: "rueidis", Conns: 3, Wait: "none"}, 3},
		{spec.Plan{Load: spec.Load{Clients: 900}, Driver: "rueidis", Wait: "none"}, 4},
		{spec.Plan{Load: spec.Load{Clients: 900}, Driver: "rueidis", Wait: "pubsub"}, 5},
		{spec.Plan{Load: spec.Load{Clients: 900}, Driver: "rueidis", Wait: "queue", Lockers: 8}, 12},
		{spec.Plan{Load: spec.Load{Clients: 900}, Driver: "rueidis", Wait: "block"}, 904},
		{spec.Plan{Load: spec.Load{Clients: 900}, Driver: "rueidis", Pipelining: "off", Wait: "none"}, 900},
		{spec.Plan{Load: spec.Load{Clients: 2}, Driver: "go-redis", Wait: "none"}, 2},
		{spec.Plan{Load: spec.Load{Clients: 900}, Driver: "test-plain", Wait: "none"}, 900},
		{spec.Plan{Load: spec.Load{Clients: 900}, Driver: "test-plain", Conns: 7, Wait: "none"}, 7},
	} {
		if got, _ := Connections(&test.plan); got != test.want {
			t.Errorf("%+v: %d, want %d", test.plan, got, test.want)
		}
	}
}

// TestPool tells the connections of which a request takes one from those that it shares.
func TestPool(t *testing.T) {
	for _, test := range []struct {
		plan spec.Plan
		want int
	}{
		{spec.Plan{Driver: "go-redis", Load: spec.Load{Clients: 4096}, Conns: 16}, 16},
		{spec.Plan{Driver: "go-redis", Load: spec.Load{Clients: 4096}}, 10 * runtime.GOMAXPROCS(0)},
		{spec.Plan{Driver: "go-redis", Load: spec.Load{Clients: 2}}, 0}, // one each
		{spec.Plan{Driver: "go-redis", Load: spec.Load{Clients: 64}, Conns: 64}, 0},
		{spec.Plan{Driver: "go-redis", Load: spec.Load{Clients: 64}, Conns: 16, Pipelining: "auto"}, 0},
		{spec.Plan{Driver: "go-redis", Load: spec.Load{Clients: 64}, Conns: 16, Topology: "cluster", Nodes: 3}, 48},
		{spec.Plan{Driver: "rueidis", Load: spec.Load{Clients: 512}}, 0},
		{spec.Plan{Driver: "rueidis", Load: spec.Load{Clients: 512}, Conns: 8, Pipelining: "off"}, 8},
		{spec.Plan{Driver: "redsync", Load: spec.Load{Clients: 512}}, 10 * runtime.GOMAXPROCS(0)},
		{spec.Plan{Driver: "rueidislock", Load: spec.Load{Clients: 512}}, 0},
		{spec.Plan{Driver: "etcd", Load: spec.Load{Clients: 512}}, 0},
		{spec.Plan{Driver: "zookeeper", Load: spec.Load{Clients: 512}, Conns: 4}, 0},
		{spec.Plan{Driver: "mysql", Lock: "unique-row", Load: spec.Load{Clients: 512}}, 32},
		{spec.Plan{Driver: "mysql", Lock: "get-lock", Load: spec.Load{Clients: 512}}, 0},
		{spec.Plan{Driver: "postgres", Load: spec.Load{Clients: 512}}, 0},
		{spec.Plan{Driver: "memory", Load: spec.Load{Clients: 512}, Conns: 4}, 0},
	} {
		if _, got := Connections(&test.plan); got != test.want {
			t.Errorf("%s %s, -conns %d: a pool of %d, want %d", test.plan.Driver, test.plan.Lock, test.plan.Conns, got, test.want)
		}
	}
}
