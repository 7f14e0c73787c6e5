package workloads_test

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	redsyncpool "github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads"
)

const (
	giveUpClients = 8
	giveUpHold    = 40 * time.Millisecond
	giveUpTTL     = 100 * time.Millisecond // the patience of redislock
	giveUpCalls   = 160
)

// bare is a call of a library that nothing of lockbench is in: it returns what releases the lock, or nil.
var bare = map[string]func(rdb *redis.Client) func() (release func()){
	"redsync": func(rdb *redis.Client) func() func() {
		rs := redsync.New(redsyncpool.NewPool(rdb))
		return func() func() {
			m := rs.NewMutex("bare", redsync.WithExpiry(time.Minute), redsync.WithTries(4), redsync.WithRetryDelay(20*time.Millisecond))
			if m.Lock() != nil {
				return nil
			}
			return func() { _, _ = m.Unlock() }
		}
	},
	"redislock": func(rdb *redis.Client) func() func() {
		client := redislock.New(rdb)
		return func() func() {
			l, err := client.Obtain(context.Background(), "bare", giveUpTTL,
				&redislock.Options{RetryStrategy: redislock.LinearBackoff(10 * time.Millisecond)})
			if err != nil {
				return nil
			}
			return func() { _ = l.Release(context.Background()) }
		}
	},
}

// TestGaveUp: the share of the calls that a library gives up is that of the library alone under the same load, at the
// same time and on the same server. None is where it is called again, and none where locks are held for less than its
// patience; there its attempts are as many as the SET commands that the server counts.
func TestGaveUp(t *testing.T) {
	for driver, params := range map[string]string{"redsync": "tries=4+retry-delay=20ms", "redislock": "retry=linear+retry-min=10ms"} {
		ttl := map[string]time.Duration{"redsync": time.Minute, "redislock": giveUpTTL}[driver]
		t.Run(driver, func(t *testing.T) {
			server := servertest.Redis(t, servers.Options{})
			rdb := redis.NewClient(&redis.Options{Network: "unix", Addr: strings.TrimPrefix(server.URL(), "unix://")})
			defer rdb.Close()
			var failed, calls atomic.Int64
			var alone sync.WaitGroup
			call := bare[driver](rdb)
			for range giveUpClients {
				alone.Go(func() {
					for calls.Add(1) <= giveUpCalls {
						if release := call(); release == nil {
							failed.Add(1)
						} else {
							time.Sleep(giveUpHold)
							release()
						}
					}
				})
			}
			n := giveUp(t, server.URL(), driver, params, ttl, giveUpClients).Counts
			alone.Wait()
			got, want := float64(n.GaveUp)/giveUpCalls, float64(failed.Load())/giveUpCalls
			t.Logf("lockbench %.2f, the library alone %.2f", got, want)
			both := (got + want) / 2
			if chance := 4 * math.Sqrt(2*both*(1-both)/giveUpCalls); math.Abs(got-want) > chance || n.GaveUp == 0 {
				t.Errorf("%.2f of the calls gave up, and %.2f of those of the library alone: more than %.2f apart", got, want, chance)
			}
			if n.Acquired+n.GaveUp != giveUpCalls || n.Failed() > 0 {
				t.Errorf("%+v", n)
			}
			for again, clients := range map[string]int{"true": giveUpClients, "false": 1} {
				rdb.ConfigResetStat(t.Context())
				n := giveUp(t, server.URL(), driver, params+"+again="+again, ttl, clients).Counts
				sets := 0
				stats := rdb.Info(t.Context(), "commandstats").Val()
				if m := regexp.MustCompile(`cmdstat_set:calls=(\d+)`).FindStringSubmatch(stats); m != nil {
					sets, _ = strconv.Atoi(m[1])
				}
				if n.Tries != int64(sets) || clients > 1 && n.Tries <= n.Acquired {
					t.Errorf("%d tries of %d locks, and the server has executed %d SETs", n.Tries, n.Acquired, sets)
				}
				if n.Acquired != giveUpCalls/4 && clients > 1 || n.GaveUp+n.TimedOut > 0 {
					t.Errorf("%d clients, again=%s: %+v", clients, again, n)
				}
			}
		})
	}
}

// giveUp runs the load.
func giveUp(t *testing.T, url, driver, params string, ttl time.Duration, clients int) *results.Record {
	t.Helper()
	p := spec.Plan{
		Driver: driver, Server: "external", Lock: "library", Wait: "native", Params: params, Keys: 1, Seed: 1, Oracle: true,
		Ops: giveUpCalls, IOTimeout: 10 * time.Second, Load: spec.Load{Clients: clients, TTL: ttl, Hold: giveUpHold},
	}
	if strings.Contains(params, "again") {
		p.Ops = giveUpCalls / 4
	}
	d, err := drivers.Lookup(driver)
	if err != nil {
		t.Fatal(err)
	}
	prefix := fmt.Sprintf("gaveup:%s:%d:", params, clients)
	svc, err := d.Open(t.Context(), drivers.Config{
		Lock: p.Lock, Addrs: []string{url}, Prefix: prefix, Clients: clients, IOTimeout: p.IOTimeout, Params: p.ParamMap(), TTL: ttl,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer svc.Close()
	r, err := (&workloads.Run{Plan: p, Service: svc, Prefix: prefix}).Do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}
