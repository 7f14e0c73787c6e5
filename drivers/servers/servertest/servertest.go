// Package servertest starts the private servers of package servers for tests, and stops them when the test ends.
package servertest

import (
	"errors"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/lockbench/lockbench/drivers/servers"
)

// Redis starts a private Redis server for the test. If none is installed, the test is skipped; with CI=true it fails
// instead, because a suite that never ran must not pass.
func Redis(t testing.TB, o servers.Options) *servers.Redis {
	t.Helper()
	return start(t, 1, func() (*servers.Redis, error) { return servers.StartRedis(t.Context(), o) })
}

// Replicated is like Redis for a primary and its replicas.
func Replicated(t testing.TB, replicas int, o servers.Options) *servers.Replicated {
	t.Helper()
	return start(t, 1+replicas, func() (*servers.Replicated, error) {
		return servers.StartReplicated(t.Context(), replicas, o)
	})
}

// Sentinel is like Redis for a primary, its replicas and their sentinels.
func Sentinel(t testing.TB, replicas, sentinels int, o servers.Options) *servers.Sentinel {
	t.Helper()
	return start(t, 1+replicas+sentinels, func() (*servers.Sentinel, error) {
		return servers.StartSentinel(t.Context(), replicas, sentinels, o)
	})
}

// Cluster is like Redis for a cluster.
func Cluster(t testing.TB, primaries int, o servers.Options) *servers.Cluster {
	t.Helper()
	return start(t, primaries, func() (*servers.Cluster, error) { return servers.StartCluster(t.Context(), primaries, o) })
}

// Members is several servers that are one, or one of their kind by itself.
type Members = *servers.Group[*servers.Server]

// Etcd is like Redis for an etcd of n members.
func Etcd(t testing.TB, n int, o servers.Options) Members {
	t.Helper()
	return start(t, n, func() (Members, error) { return servers.StartEtcd(t.Context(), n, o) })
}

// MySQL is like Redis for MariaDB or MySQL.
func MySQL(t testing.TB, o servers.Options) *servers.Server {
	t.Helper()
	return start(t, 1, func() (*servers.Server, error) { return servers.StartMySQL(t.Context(), o) })
}

// Postgres is like Redis for PostgreSQL.
func Postgres(t testing.TB, o servers.Options) *servers.Postgres {
	t.Helper()
	return start(t, 1, func() (*servers.Postgres, error) { return servers.StartPostgres(t.Context(), o) })
}

// ZooKeeper is like Redis for one ZooKeeper server, or an ensemble of three.
func ZooKeeper(t testing.TB, n int, o servers.Options) Members {
	t.Helper()
	QuickJava()
	return start(t, n, func() (Members, error) { return servers.StartZooKeeper(t.Context(), n, o) })
}

// QuickJava makes Java processes that are started from now on compile quickly and collect simply, which is best for
// processes that run for seconds: together they use a third less CPU.
var QuickJava = sync.OnceFunc(func() { servers.JavaOptions = []string{"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"} })

// start starts n servers. It leaves a test that needs more than one server of a service to make test-all.
func start[S interface{ Close() error }](t testing.TB, n int, start func() (S, error)) S {
	t.Helper()
	if n > 1 && testing.Short() {
		t.Skip("several servers: make test-all")
	}
	s, err := start()
	check(t, err)
	closeAfter(t, s.Close)
	t.Cleanup(func() {
		if server, ok := any(s).(interface{ LogTail() string }); ok && t.Failed() {
			t.Log("the server's log ends with\n" + server.LogTail())
		}
	})
	return s
}

// Embedded starts the embedded server for the test, and returns its URL.
func Embedded(t testing.TB) string {
	t.Helper()
	e, err := servers.StartEmbedded(1)
	check(t, err)
	closeAfter(t, e.Close)
	return e.URLs[0]
}

// check ends a test whose server has not started.
func check(t testing.TB, err error) {
	t.Helper()
	if errors.Is(err, exec.ErrNotFound) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func closeAfter(t testing.TB, close func() error) {
	t.Cleanup(func() {
		if err := close(); err != nil {
			t.Error(err)
		}
	})
}
