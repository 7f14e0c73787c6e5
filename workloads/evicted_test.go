package workloads_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
	"github.com/lockbench/lockbench/results/spec"
)

// TestEvicted: a server that is short of memory evicts keys during the load, and the record says how many.
func TestEvicted(t *testing.T) {
	server := servertest.Redis(t, servers.Options{})
	options, err := goredis.ParseURL(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	rdb := goredis.NewClient(options)
	defer rdb.Close()
	evicted := func() int64 {
		text, err := rdb.Info(t.Context(), "stats").Result()
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(text, "evicted_keys:")
		n, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for name, value := range map[string]string{"maxmemory": "8mb", "maxmemory-policy": "allkeys-random"} {
		if err := rdb.ConfigSet(t.Context(), name, value).Err(); err != nil {
			t.Fatal(err)
		}
	}
	fill := func(ctx context.Context, enough func(n int) bool) {
		for n := 0; !enough(n) && ctx.Err() == nil; n++ {
			rdb.Set(ctx, "filler:"+strconv.Itoa(n), strings.Repeat("x", 16<<10), 0)
		}
	}
	fill(t.Context(), func(int) bool { return evicted() > 0 })
	before := evicted()
	ctx, stop := context.WithCancel(t.Context())
	filled := make(chan struct{})
	go func() {
		defer close(filled)
		fill(ctx, func(int) bool { return false })
	}()
	r, _ := load(t, strings.TrimPrefix(server.URL(), "redis://"), spec.Plan{
		Driver: "rueidis", Server: "external", Lock: "set-nx", Wait: "poll", Keys: 50, Ops: 200, Duration: time.Minute,
		Oracle: true, IOTimeout: 10 * time.Second, Load: spec.Load{Clients: 8, TTL: 10 * time.Second, Hold: ms},
	}, 0)
	stop()
	<-filled
	if n, most := r.Server.Evicted, evicted()-before; n == 0 || n > most || r.Server.Replaced {
		t.Errorf("server %+v, and the server itself counts %d evictions", r.Server, most)
	}
}
