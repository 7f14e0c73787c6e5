package servertest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/lockbench/lockbench/drivers/servers"
	"go.uber.org/goleak"
)

// Shared is a server for all tests of a package that do it no harm. The first of them starts it; Main stops it.
type Shared[S interface{ Close() error }] struct {
	start func() (S, error)
}

// Share returns a Shared that is not started yet.
func Share[S interface{ Close() error }](start func(context.Context) (S, error)) *Shared[S] {
	return &Shared[S]{sync.OnceValues(func() (S, error) {
		s, err := start(context.Background())
		if err == nil {
			sharing.Lock()
			defer sharing.Unlock()
			shared = append(shared, s.Close)
		}
		return s, err
	})}
}

// Get returns the server. If none is installed, the test is skipped, as in Redis.
func (s *Shared[S]) Get(t testing.TB) S {
	t.Helper()
	server, err := s.start()
	check(t, err)
	return server
}

var (
	sharing sync.Mutex
	shared  []func() error // functions that stop the running servers
)

// Goroutines of client libraries that end up to a second after their client was closed, for goleak, which looks for
// half of one: a pool of go-redis whose server is gone sleeps before it sees that it was closed, and rueidis looks
// again at a cluster that has failed.
var (
	GoRedisEnds = goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial")
	RueidisEnds = goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*call).DelayDo.func1")
)

// Main is for the TestMain of a package with a Shared: it runs the tests, stops the shared servers, and checks for
// leaked goroutines.
func Main(m *testing.M) {
	code := m.Run()
	err := error(nil)
	for _, end := range shared {
		err = errors.Join(err, end())
	}
	if err == nil && code == 0 {
		err = goleak.Find()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// ShareZooKeeper shares one ZooKeeper server.
func ShareZooKeeper() *Shared[Members] {
	return Share(func(ctx context.Context) (Members, error) {
		QuickJava()
		return servers.StartZooKeeper(ctx, 1, servers.Options{})
	})
}
