package servertest

import (
	"testing"

	"github.com/lockbench/lockbench/drivers/servers"
)

// ZooKeeper is Redis for one ZooKeeper server, or an ensemble of three.
func ZooKeeper(t testing.TB, n int, o servers.ZooKeeperOptions) *servers.ZooKeepers {
	t.Helper()
	return start(t, func() (*servers.ZooKeepers, error) { return servers.StartZooKeeper(t.Context(), n, o) })
}
