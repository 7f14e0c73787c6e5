package servertest

// Private etcd servers.

import (
	"testing"

	"github.com/lockbench/lockbench/drivers/servers"
)

// Etcd is like Redis for an etcd of n members.
func Etcd(t testing.TB, n int, o servers.EtcdOptions) *servers.Etcds {
	t.Helper()
	if n > 1 {
		several(t)
	}
	return start(t, func() (*servers.Etcds, error) { return servers.StartEtcd(t.Context(), n, o) })
}
