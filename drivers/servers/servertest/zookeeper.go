package servertest

import (
	"sync"
	"testing"

	"github.com/lockbench/lockbench/drivers/servers"
)

// ZooKeeper is like Redis for one ZooKeeper server, or an ensemble of three.
func ZooKeeper(t testing.TB, n int, o servers.ZooKeeperOptions) *servers.ZooKeepers {
	t.Helper()
	if n > 1 {
		several(t)
	}
	QuickJava()
	return start(t, func() (*servers.ZooKeepers, error) { return servers.StartZooKeeper(t.Context(), n, o) })
}

// QuickJava makes Java processes that are started from now on compile quickly, which is best for processes that run for
// seconds: together they use a third less CPU.
var QuickJava = sync.OnceFunc(func() { servers.JavaOptions = []string{"-XX:TieredStopAtLevel=1"} })
