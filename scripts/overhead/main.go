// Command overhead tells what the harness costs: it runs bare loops over the client libraries and the same work
// through lockbench, interleaved on one private redis-server, and prints medians, ratios and the memory a client.
//
//	go run ./scripts/overhead -rounds 7 -duration 2s
package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/redis/rueidis"

	"github.com/lockbench/lockbench/drivers"
	_ "github.com/lockbench/lockbench/drivers/all"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/workloads"
)

const (
	ttl           = 30 * time.Second
	keysPerClient = 20 // so many that two clients seldom meet, and few enough for the cache
	release       = `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`
)

func main() {
	rounds := flag.Int("rounds", 7, "rounds, each of which runs every cell once")
	duration := flag.Duration("duration", 2*time.Second, "of one cell in one round")
	asJSON := flag.Bool("json", false, "print JSON")
	flag.Parse()
	if err := run(*rounds, *duration, *asJSON); err != nil {
		fmt.Fprintln(os.Stderr, "overhead:", err)
		os.Exit(1)
	}
}

// row is one comparison.
type row struct {
	Driver  string  `json:"driver"`
	Clients int     `json:"clients"`
	Bare    float64 `json:"bare_pairs_per_s"`      // median
	Harness float64 `json:"lockbench_pairs_per_s"` // median
	Ratio   float64 `json:"ratio"`                 // median of the rounds' ratios
	Low     float64 `json:"ratio_min"`
	High    float64 `json:"ratio_max"`
}

// report is all that the command measures.
type report struct {
	Go        string  `json:"go"`
	CPUs      int     `json:"cpus"`
	Rounds    int     `json:"rounds"`
	Seconds   float64 `json:"seconds"`
	Rows      []row   `json:"rows"`
	PerClient float64 `json:"bytes_per_client"` // of 10,000, heap and stacks
}

func run(rounds int, duration time.Duration, asJSON bool) error {
	ctx := context.Background()
	server, err := servers.StartRedis(ctx, servers.RedisOptions{})
	if err != nil {
		return err
	}
	defer server.Close()
	rep := report{Go: runtime.Version(), CPUs: runtime.NumCPU(), Rounds: rounds, Seconds: duration.Seconds()}
	type cell struct {
		driver  string
		clients int
		bare    bare
	}
	cells := []cell{{"rueidis", 64, bareRueidis}, {"rueidis", 512, bareRueidis}, {"go-redis", 64, bareGoRedis}, {"go-redis", 512, bareGoRedis}}
	measured := make([][2][]float64, len(cells))
	for round := range rounds {
		for i, c := range cells {
			for side := range 2 {
				if (round+side)%2 == 0 { // ABBA: neither side always comes first
					n, err := throughBare(ctx, server.URL(), c.bare, c.clients, duration)
					if err != nil {
						return err
					}
					measured[i][0] = append(measured[i][0], n)
					continue
				}
				n, err := throughLockbench(ctx, server.URL(), c.driver, c.clients, duration)
				if err != nil {
					return err
				}
				measured[i][1] = append(measured[i][1], n)
			}
		}
	}
	for i, c := range cells {
		ratios := make([]float64, rounds)
		for r := range ratios {
			ratios[r] = measured[i][1][r] / measured[i][0][r]
		}
		rep.Rows = append(rep.Rows, row{c.driver, c.clients, median(measured[i][0]), median(measured[i][1]),
			median(ratios), slices.Min(ratios), slices.Max(ratios)})
	}
	if rep.PerClient, err = perClient(ctx); err != nil {
		return err
	}
	if asJSON {
		return json.NewEncoder(os.Stdout).Encode(rep)
	}
	fmt.Printf("%-9s %7s %14s %14s %7s  (min – max of %d rounds)\n", "driver", "clients", "bare pairs/s", "lockbench", "ratio", rounds)
	for _, r := range rep.Rows {
		fmt.Printf("%-9s %7d %14.0f %14.0f %7.3f  (%.3f – %.3f)\n", r.Driver, r.Clients, r.Bare, r.Harness, r.Ratio, r.Low, r.High)
	}
	fmt.Printf("memory a client at 10,000 clients: %.0f bytes\n", rep.PerClient)
	return nil
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// keyNames are the keys of a cell, the same for both sides.
func keyNames(prefix string, clients int) []string {
	keys := make([]string, clients*keysPerClient)
	for i := range keys {
		keys[i] = prefix + strconv.Itoa(i)
	}
	return keys
}

// bare connects a client library and returns one acquire-and-release of a key, which answers whether it was got. It is
// the same lock, so its owners are the same tokens; it is only the harness that is missing.
type bare func(ctx context.Context, url string) (pair func(key, owner string) (bool, error), closeAll func(), err error)

// throughBare runs goroutines that do nothing but pairs, and counts them.
func throughBare(ctx context.Context, url string, connect bare, clients int, duration time.Duration) (float64, error) {
	pair, closeAll, err := connect(ctx, url)
	if err != nil {
		return 0, err
	}
	defer closeAll()
	keys := keyNames("nothing:", clients)
	var stop atomic.Bool
	var failure atomic.Pointer[error]
	counts := make([]int64, clients*8) // a cache line each
	var wg sync.WaitGroup
	began := time.Now()
	for c := range clients {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(1, uint64(c)))
			var owners drivers.Owners
			for !stop.Load() {
				got, err := pair(keys[rng.IntN(len(keys))], owners.Next())
				if err != nil {
					failure.Store(&err)
					return
				}
				if got {
					counts[c*8]++
				}
			}
		})
	}
	time.Sleep(duration)
	stop.Store(true)
	wg.Wait()
	if err := failure.Load(); err != nil {
		return 0, *err
	}
	total := int64(0)
	for _, n := range counts {
		total += n
	}
	return float64(total) / time.Since(began).Seconds(), nil
}

func bareRueidis(ctx context.Context, url string) (func(key, owner string) (bool, error), func(), error) {
	path := strings.TrimPrefix(url, "unix://")
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{path}, DisableRetry: true, DisableCache: true, ForceSingleClient: true,
		DialCtxFn: func(ctx context.Context, _ string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
			return d.DialContext(ctx, "unix", path)
		},
	})
	if err != nil {
		return nil, nil, err
	}
	sha, err := client.Do(ctx, client.B().ScriptLoad().Script(release).Build()).ToString()
	if err != nil {
		return nil, nil, err
	}
	return func(key, owner string) (bool, error) {
		err := client.Do(ctx, client.B().Set().Key(key).Value(owner).Nx().PxMilliseconds(ttl.Milliseconds()).Build()).Error()
		if rueidis.IsRedisNil(err) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		return true, client.Do(ctx, client.B().Evalsha().Sha1(sha).Numkeys(1).Key(key).Arg(owner).Build()).Error()
	}, client.Close, nil
}

func bareGoRedis(ctx context.Context, url string) (func(key, owner string) (bool, error), func(), error) {
	o, err := goredis.ParseURL(url)
	if err != nil {
		return nil, nil, err
	}
	o.MaxRetries, o.ContextTimeoutEnabled, o.DisableIdentity = -1, true, true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	client := goredis.NewClient(o)
	sha, err := client.ScriptLoad(ctx, release).Result()
	if err != nil {
		return nil, nil, err
	}
	return func(key, owner string) (bool, error) {
		got, err := client.SetNX(ctx, key, owner, ttl).Result()
		if !got || err != nil {
			return false, err
		}
		return true, client.EvalSha(ctx, sha, []string{key}, owner).Err()
	}, func() { client.Close() }, nil
}

func plan(driver, lock string, clients, keys int, duration time.Duration) results.Plan {
	return results.Plan{Load: results.Load{Clients: clients, TTL: ttl, Timeout: 10 * time.Second},
		Driver: driver, Lock: lock, Wait: "none", Keys: keys,
		Duration: duration, Seed: 1, IOTimeout: 3 * time.Second, Oracle: true, Server: "private",
	}
}

// throughLockbench does the same work with everything that lockbench does around it, the oracle included.
func throughLockbench(ctx context.Context, url, driver string, clients int, duration time.Duration) (float64, error) {
	d, err := drivers.Lookup(driver)
	if err != nil {
		return 0, err
	}
	svc, err := d.Open(ctx, drivers.Config{Lock: "set-nx", Addrs: []string{url}, Clients: clients, Prefix: "overhead:"})
	if err != nil {
		return 0, err
	}
	defer svc.Close()
	r := workloads.Run{Plan: plan(driver, "set-nx", clients, clients*keysPerClient, duration), Service: svc, Prefix: "overhead:"}
	rec, err := r.Do(ctx)
	if err != nil {
		return 0, err
	}
	if n := rec.Counts; n.Unknown+n.Refused+n.ReleaseError > 0 {
		return 0, fmt.Errorf("%s: %v", driver, n.ErrorSample)
	}
	return rec.Throughput(), nil
}

// perClient is what each of 10,000 clients adds to the heap and the stacks while nearly all of them are parked: they back
// off from ten keys of the in-process lock.
func perClient(ctx context.Context) (float64, error) {
	const many = 10_000
	var used [2]float64
	for i, clients := range []int{1, many} {
		d, err := drivers.Lookup("memory")
		if err != nil {
			return 0, err
		}
		svc, err := d.Open(ctx, drivers.Config{Lock: "mutex", Clients: clients})
		if err != nil {
			return 0, err
		}
		p := plan("memory", "mutex", clients, 10, time.Second)
		p.Hold, p.Wait, p.BackoffMin, p.BackoffMax = time.Millisecond, "backoff", time.Millisecond, 100*time.Millisecond
		runtime.GC()
		r := workloads.Run{Plan: p, Service: svc, Progress: func(s workloads.Snapshot) {
			if s.Phase == workloads.PhaseMeasure {
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				used[i] = max(used[i], float64(m.HeapInuse+m.StackInuse))
			}
		}}
		if _, err := r.Do(ctx); err != nil {
			return 0, err
		}
		svc.Close()
	}
	return (used[1] - used[0]) / (many - 1), nil
}
