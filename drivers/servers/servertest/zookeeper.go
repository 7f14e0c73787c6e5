package servertest

import (
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/lockbench/lockbench/drivers/servers"
)

// ZooKeeper returns Redis for one ZooKeeper server, or an ensemble of three.
func ZooKeeper(t testing.TB, n int, o servers.ZooKeeperOptions) *servers.ZooKeepers {
	t.Helper()
	QuickJava()
	return start(t, func() (*servers.ZooKeepers, error) { return servers.StartZooKeeper(t.Context(), n, o) })
}

// QuickJava has the Java processes that are started from now on compile their code in a hurry, as is best for those that
// live for seconds: all of them together take a third less of the processors.
var QuickJava = sync.OnceFunc(func() {
	os.Setenv("JDK_JAVA_OPTIONS", strings.TrimSpace(os.Getenv("JDK_JAVA_OPTIONS")+" -XX:TieredStopAtLevel=1"))
})
