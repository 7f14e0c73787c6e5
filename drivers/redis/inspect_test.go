package redis_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
)

// calls returns the calls of each command so far.
func calls(t *testing.T, rdb *goredis.Client) map[string]int64 {
	t.Helper()
	stats := rdb.InfoMap(t.Context(), "commandstats")
	if stats.Err() != nil {
		t.Fatal(stats.Err())
	}
	counts := map[string]int64{}
	for field, value := range stats.Val()["Commandstats"] {
		var n int64
		for _, c := range strings.TrimPrefix(strings.SplitN(value, ",", 2)[0], "calls=") {
			n = n*10 + int64(c-'0')
		}
		counts[strings.TrimPrefix(field, "cmdstat_")] = n
	}
	return counts
}

func TestInspect(t *testing.T) {
	forBoth(t, func(t *testing.T, driver string) {
		tests := []struct {
			config      map[string]string
			persistence string
		}{
			{nil, "none"},
			{map[string]string{"save": "3600 1"}, "rdb"},
			{map[string]string{"appendonly": "yes"}, "aof everysec"},
			{map[string]string{"appendonly": "yes", "appendfsync": "always", "save": "60 1"}, "rdb + aof always"},
		}
		for _, test := range tests {
			cfg := drivers.Config{Addrs: []string{startRedis(t, servers.Options{Settings: test.config}).URL()}}
			server, usage, err := open(t, driver, cfg).(drivers.Inspector).Inspect(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if server.Persistence != test.persistence {
				t.Errorf("%v: persistence %q, want %q", test.config, server.Persistence, test.persistence)
			}
			if server.Name != "redis" || server.Version == "" || server.Mode != "standalone" || len(server.RunID) != 40 ||
				server.Connected < 1 || server.MaxClients < 1 || server.Replicas != 0 {
				t.Errorf("%+v", server)
			}
			if usage.CPU <= 0 || usage.Commands <= 0 || usage.BytesIn <= 0 || usage.BytesOut <= 0 {
				t.Errorf("%+v", usage)
			}
		}
	})
}

// TestInspectFailoverAndBack: a primary that was a replica for a while is not the run of the server that it was. A replica
// that goes and comes changes nothing.
func TestInspectFailoverAndBack(t *testing.T) {
	r := startReplicated(t, 1)
	primary, other := r.Nodes[0], r.Nodes[1]
	svc := open(t, "rueidis", drivers.Config{Addrs: r.URLs()[:1]})
	runID := func() string {
		server, _, err := svc.(drivers.Inspector).Inspect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return server.RunID
	}
	first := runID()
	must := func(errs ...error) {
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
	}
	must(other.Promote(t.Context()), other.Follow(t.Context(), primary))
	if now := runID(); now != first {
		t.Errorf("a replica went and came, and the run is %s instead of %s", now, first)
	}
	must(other.Promote(t.Context()), primary.Follow(t.Context(), other), primary.Promote(t.Context()))
	if now := runID(); now == first {
		t.Errorf("after a fail-over there and back the run is still %s", now)
	}
}

// TestInspectRefused: a server that refuses all questions is not an error.
func TestInspectRefused(t *testing.T) {
	forBoth(t, func(t *testing.T, driver string) {
		server := startRedis(t, servers.Options{})
		restrict(t, server, "-info", "-config")
		got, usage, err := open(t, driver, drivers.Config{Addrs: []string{server.URL()}}).(drivers.Inspector).Inspect(t.Context())
		if err != nil || !reflect.DeepEqual(got, drivers.Server{}) {
			t.Errorf("%+v, %v", got, err)
		}
		if want := (drivers.Usage{CPU: -1, Commands: -1, BytesIn: -1, BytesOut: -1}); usage != want {
			t.Errorf("%+v", usage)
		}
	})
}

func TestInspectEmbedded(t *testing.T) {
	forBoth(t, func(t *testing.T, driver string) {
		cfg := embedded(t)
		server, usage, err := open(t, driver, cfg).(drivers.Inspector).Inspect(t.Context())
		if err != nil || server.Name != "miniredis" || server.Persistence != "" {
			t.Errorf("%+v, %v", server, err)
		}
		if usage.CPU != -1 || usage.BytesIn != -1 {
			t.Errorf("%+v", usage)
		}
	})
}
