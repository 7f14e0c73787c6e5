// Command overhead measures the cost of the harness: it runs bare loops over the client libraries and the same work
// through lockbench, interleaved on one private redis-server, and prints medians, ratios and the memory per client. Two
// more loops split the cost: one only goes through lockbench's driver, the other only measures. Then it compares lockbench's
// batches with other ways to load a server.
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
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/results/stats"
	"github.com/lockbench/lockbench/workloads"
	"github.com/lockbench/lockbench/workloads/host"
	"github.com/lockbench/lockbench/workloads/oracle"
)

const (
	ttl           = 30 * time.Second
	keysPerClient = 20 // enough that two clients seldom meet, and few enough for the cache
	release       = `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`
)

func main() {
	rounds := flag.Int("rounds", 7, "rounds, each of which runs every cell once")
	duration := flag.Duration("duration", 2*time.Second, "length of one cell in one round")
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
	Ratio   float64 `json:"ratio"`                 // median of the rounds' ratios, as for the fields below
	Low     float64 `json:"ratio_min"`
	High    float64 `json:"ratio_max"`
	Adapted float64 `json:"ratio_of_driver"` // of a bare loop through lockbench's driver, without measuring
	Stamped float64 `json:"ratio_of_stamps"` // of a bare loop that only takes stamps, records them and calls the oracle

	// The CPU time of the clients for a pair in microseconds, medians, in the same order.
	BareCPU    float64 `json:"bare_us_per_pair"`
	HarnessCPU float64 `json:"lockbench_us_per_pair"`
	AdaptedCPU float64 `json:"driver_us_per_pair"`
	StampedCPU float64 `json:"stamps_us_per_pair"`
}

// report is the output of the command.
type report struct {
	Go        string  `json:"go"`
	CPUs      int     `json:"cpus"`
	Rounds    int     `json:"rounds"`
	Seconds   float64 `json:"seconds"`
	Rows      []row   `json:"rows"`
	Batches   []way   `json:"batches"`                   // the ways to load a server from one process, 512 clients
	PerClient float64 `json:"bytes_per_client"`          // of 10,000, heap and stacks
	PerBatch  float64 `json:"bytes_per_client_in_batch"` // of 100,000 on 1,000 keys
}

// way is one way to load a server.
type way struct {
	Name  string  `json:"name"`
	Pairs float64 `json:"pairs_per_s"`     // median
	Ratio float64 `json:"lockbench_to_it"` // of lockbench's batches over rueidis to it, the median of the rounds' ratios
	Low   float64 `json:"lockbench_to_it_min"`
	High  float64 `json:"lockbench_to_it_max"`
	P99   float64 `json:"acquire_p99_us"`     // of an acquisition, the median
	Own   float64 `json:"client_us_per_pair"` // of CPU time of the clients, the median
	CPU   float64 `json:"server_us_per_pair"` // of the server's time, the median
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
	for _, c := range cells {
		through := func(connect bare, do loop) side {
			return func() (load, error) { return throughBare(ctx, server.URL(), connect, do, c.clients, duration) }
		}
		made, err := interleave(rounds, []side{
			through(c.bare, plain),
			func() (load, error) {
				return throughLockbench(ctx, server.URL(), c.driver, drivers.PipeliningDefault, c.clients, duration)
			},
			through(driverOf(c.driver, c.clients), plain),
			through(c.bare, measured(c.clients)),
		})
		if err != nil {
			return err
		}
		bare, lockbench, driver, stamps := made[0], made[1], made[2], made[3]
		ratio := lockbench.to(bare)
		rep.Rows = append(rep.Rows, row{c.driver, c.clients, bare.median(rate), lockbench.median(rate), ratio.Median, ratio.Min, ratio.Max,
			driver.to(bare).Median, stamps.to(bare).Median, bare.median(cpu), lockbench.median(cpu), driver.median(cpu), stamps.median(cpu)})
	}
	if rep.Batches, err = compareBatches(ctx, server.URL(), rounds, duration); err != nil {
		return err
	}
	if rep.PerClient, err = perClient(ctx, 10_000, parked); err != nil {
		return err
	}
	if rep.PerBatch, err = perClient(ctx, 100_000, func(clients int) (drivers.Config, spec.Plan) { return carried(server.URL(), clients) }); err != nil {
		return err
	}
	if asJSON {
		return json.NewEncoder(os.Stdout).Encode(rep)
	}
	fmt.Printf("%-9s %7s %13s %10s %6s  (min – max of %d)  %11s %14s\n", "driver", "clients", "bare pairs/s", "lockbench", "ratio", rounds,
		"driver only", "measuring only")
	for _, r := range rep.Rows {
		fmt.Printf("%-9s %7d %13.0f %10.0f %6.3f  (%.3f – %.3f)  %11.3f %14.3f\n", r.Driver, r.Clients, r.Bare, r.Harness, r.Ratio, r.Low, r.High,
			r.Adapted, r.Stamped)
	}
	fmt.Printf("\n%-28s %10s %10s  %11s %14s\n", "CPU time of the clients, µs a pair", "bare", "lockbench", "driver only", "measuring only")
	for _, r := range rep.Rows {
		fmt.Printf("%-9s %7d %27.2f %10.2f  %11.2f %14.2f\n", r.Driver, r.Clients, r.BareCPU, r.HarnessCPU, r.AdaptedCPU, r.StampedCPU)
	}
	fmt.Printf("\n%-33s %10s %18s  (min – max of %d) %12s %15s %15s\n", "512 clients", "pairs/s", "lockbench to it", rounds, "acquire p99",
		"client µs/pair", "server µs/pair")
	for _, w := range rep.Batches {
		fmt.Printf("%-33s %10.0f %18.3f  (%.3f – %.3f) %9.0f µs %15.2f %15.2f\n", w.Name, w.Pairs, w.Ratio, w.Low, w.High, w.P99, w.Own, w.CPU)
	}
	fmt.Printf("\nmemory a client: %.0f bytes at 10,000 clients, and %.0f in batches at 100,000 on 1,000 keys\n", rep.PerClient, rep.PerBatch)
	return nil
}

// load is what a side has made in one round: pairs of an acquisition and a release.
type load struct {
	perSecond float64
	pairs     float64
	p99       float64 // of the acquisitions, in microseconds; not all sides have it
	cpu       float64 // of the clients for a pair, in microseconds
	server    float64 // of the server for a pair, in microseconds, where it is asked
}

// side is one of the things compared, for one round.
type side func() (load, error)

// loads are those of one side, one a round.
type loads []load

// interleave runs every side once a round. None always comes first, and none always follows the same one.
func interleave(rounds int, sides []side) ([]loads, error) {
	made := make([]loads, len(sides))
	for round := range rounds {
		for n := range sides {
			i := (n + round) % len(sides)
			if round%2 == 1 {
				i = len(sides) - 1 - i
			}
			l, err := sides[i]()
			if err != nil {
				return nil, err
			}
			made[i] = append(made[i], l)
		}
	}
	return made, nil
}

func rate(l load) float64   { return l.perSecond }
func p99(l load) float64    { return l.p99 }
func cpu(l load) float64    { return l.cpu }
func server(l load) float64 { return l.server }

// median returns that of a figure over the rounds.
func (l loads) median(figure func(load) float64) float64 {
	var values []float64
	for _, one := range l {
		values = append(values, figure(one))
	}
	return stats.Of(values).Median
}

// to summarizes the ratios of the rates in the same rounds.
func (l loads) to(other loads) stats.Estimate {
	var ratios []float64
	for i := range l {
		ratios = append(ratios, l[i].perSecond/other[i].perSecond)
	}
	return stats.Of(ratios)
}

// keyNames returns the keys of a cell, the same for both sides.
func keyNames(prefix string, clients int) []string {
	keys := make([]string, clients*keysPerClient)
	for i := range keys {
		keys[i] = prefix + strconv.Itoa(i)
	}
	return keys
}

// bare connects a client library, and returns a function that makes the lock of one client.
type bare func(ctx context.Context, url string) (client func(id int) (lock, error), closeAll func(), err error)

// lock acquires and releases keys for one goroutine. It is the same lock as lockbench's, with the same owner tokens,
// but without the harness.
type lock struct {
	try     func(key string) (bool, error)
	release func(key string) error
}

// loop runs a client until stop is set, and counts its acquire-release pairs.
type loop func(l lock, id int, keys []string, stop *atomic.Bool, pairs *int64) error

// plain only acquires and releases.
func plain(l lock, id int, keys []string, stop *atomic.Bool, pairs *int64) error {
	rng := rand.New(rand.NewPCG(1, uint64(id)))
	for !stop.Load() {
		key := keys[rng.IntN(len(keys))]
		got, err := l.try(key)
		if err == nil && got {
			err = l.release(key)
			*pairs++
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// measured also does what every lock benchmark needs, but keeps none of lockbench's other counters: two stamps, two
// records and the oracle.
func measured(clients int) loop {
	clock, recorder, witness := drivers.NewClock(), results.NewRecorder(0), oracle.New(clients*keysPerClient)
	return func(l lock, id int, keys []string, stop *atomic.Bool, pairs *int64) error {
		rng := rand.New(rand.NewPCG(1, uint64(id)))
		for start := clock.Now(); !stop.Load(); {
			n := rng.IntN(len(keys))
			got, err := l.try(keys[n])
			if err != nil {
				return err
			}
			if !got {
				start = clock.Now()
				continue
			}
			granted := clock.Now()
			grant := witness.Enter(n, id, 0, 0, granted)
			witness.Exit(n, id, grant, granted)
			if err := l.release(keys[n]); err != nil {
				return err
			}
			*pairs++
			end := clock.Now()
			shard := recorder.Borrow()
			shard.Record(results.AcquireIndex, granted-start)
			shard.Record(results.ReleaseIndex, end-granted)
			recorder.Return(shard)
			start = end
		}
		return nil
	}
}

// throughBare runs do in one goroutine per client.
func throughBare(ctx context.Context, url string, connect bare, do loop, clients int, duration time.Duration) (load, error) {
	client, closeAll, err := connect(ctx, url)
	if err != nil {
		return load{}, err
	}
	defer closeAll()
	keys := keyNames("nothing:", clients)
	var stop atomic.Bool
	var failure atomic.Pointer[error]
	counts := make([]int64, clients*8) // one cache line each
	var wg sync.WaitGroup
	began, before := time.Now(), host.ProcessCPU()
	for id := range clients {
		l, err := client(id)
		if err != nil {
			return load{}, err
		}
		wg.Go(func() {
			if err := do(l, id, keys, &stop, &counts[id*8]); err != nil {
				failure.Store(&err)
			}
		})
	}
	time.Sleep(duration)
	stop.Store(true)
	wg.Wait()
	if err := failure.Load(); err != nil {
		return load{}, *err
	}
	total := int64(0)
	for _, n := range counts {
		total += n
	}
	return load{perSecond: float64(total) / time.Since(began).Seconds(), pairs: float64(total), cpu: spent(before) / float64(total)}, nil
}

// spent returns the CPU time of this process since then, in microseconds.
func spent(before time.Duration) float64 { return float64(host.ProcessCPU()-before) / 1e3 }

// driverOf returns a loop through lockbench's driver.
func driverOf(name string, clients int) bare {
	return func(ctx context.Context, url string) (func(id int) (lock, error), func(), error) {
		svc, err := open(ctx, url, name, drivers.PipeliningDefault, clients)
		if err != nil {
			return nil, nil, err
		}
		return func(id int) (lock, error) {
			s, err := svc.Session(ctx, id)
			l := &drivers.Lease{TTL: ttl}
			return lock{
				func(key string) (bool, error) { l.Key = key; return s.Try(ctx, l) },
				func(string) error { _, err := s.Release(ctx, l); return err },
			}, err
		}, func() { svc.Close() }, nil
	}
}

func open(ctx context.Context, url, driver string, pipelining drivers.Pipelining, clients int) (drivers.Service, error) {
	d, err := drivers.Lookup(driver)
	if err != nil {
		return nil, err
	}
	return d.Open(ctx, config(url, pipelining, clients))
}

func config(url string, pipelining drivers.Pipelining, clients int) drivers.Config {
	return drivers.Config{Lock: "set-nx", Addrs: []string{url}, Pipelining: pipelining, Clients: clients, Prefix: "overhead:"}
}

// dialRueidis opens the library without lockbench, and loads the script of the release.
func dialRueidis(ctx context.Context, url string) (client rueidis.Client, sha string, err error) {
	path := strings.TrimPrefix(url, "unix://")
	client, err = rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{path}, DisableRetry: true, DisableCache: true, ForceSingleClient: true,
		DialCtxFn: func(ctx context.Context, _ string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
			return d.DialContext(ctx, "unix", path)
		},
	})
	if err != nil {
		return nil, "", err
	}
	sha, err = client.Do(ctx, client.B().ScriptLoad().Script(release).Build()).ToString()
	return client, sha, err
}

func bareRueidis(ctx context.Context, url string) (func(id int) (lock, error), func(), error) {
	client, sha, err := dialRueidis(ctx, url)
	if err != nil {
		return nil, nil, err
	}
	return func(int) (lock, error) {
		var owners drivers.Owners
		var owner string
		return lock{
			func(key string) (bool, error) {
				owner = owners.Next()
				err := client.Do(ctx, client.B().Set().Key(key).Value(owner).Nx().PxMilliseconds(ttl.Milliseconds()).Build()).Error()
				if rueidis.IsRedisNil(err) {
					return false, nil
				}
				return err == nil, err
			},
			func(key string) error {
				return client.Do(ctx, client.B().Evalsha().Sha1(sha).Numkeys(1).Key(key).Arg(owner).Build()).Error()
			},
		}, nil
	}, client.Close, nil
}

func bareGoRedis(ctx context.Context, url string) (func(id int) (lock, error), func(), error) {
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
	return func(int) (lock, error) {
		var owners drivers.Owners
		var owner string
		return lock{
			func(key string) (bool, error) {
				owner = owners.Next()
				return client.SetNX(ctx, key, owner, ttl).Result()
			},
			func(key string) error { return client.EvalSha(ctx, sha, []string{key}, owner).Err() },
		}, nil
	}, func() { client.Close() }, nil
}

func plan(driver, lock string, clients, keys int, duration time.Duration) spec.Plan {
	return spec.Plan{Load: spec.Load{Clients: clients, TTL: ttl, Timeout: 10 * time.Second},
		Driver: driver, Lock: lock, Wait: "none", Keys: keys,
		Duration: duration, Seed: 1, IOTimeout: 3 * time.Second, Oracle: true, Server: "private",
	}
}

// throughLockbench does the same work through lockbench, including the oracle.
func throughLockbench(ctx context.Context, url, driver string, pipelining drivers.Pipelining, clients int, duration time.Duration) (load, error) {
	svc, err := open(ctx, url, driver, pipelining, clients)
	if err != nil {
		return load{}, err
	}
	defer svc.Close()
	p := plan(driver, "set-nx", clients, clients*keysPerClient, duration)
	p.Pipelining = string(pipelining)
	r := workloads.Run{Plan: p, Service: svc, Prefix: "overhead:"}
	rec, err := r.Do(ctx)
	if err != nil {
		return load{}, err
	}
	if n := rec.Counts; n.Unknown+n.Refused+n.ReleaseError > 0 {
		return load{}, fmt.Errorf("%s: %v", driver, n.ErrorSample)
	}
	return load{perSecond: rec.Throughput(), pairs: float64(rec.Counts.Acquired), p99: rec.Latency[results.Acquire].Quantile(0.99) / 1e3,
		cpu: rec.Cost.ClientCPUUs}, nil
}

// perClient returns the live heap and the stacks that each of many clients adds.
func perClient(ctx context.Context, many int, prepare func(clients int) (drivers.Config, spec.Plan)) (float64, error) {
	var used [2]float64
	for i, clients := range []int{1, many} {
		cfg, p := prepare(clients)
		d, err := drivers.Lookup(p.Driver)
		if err != nil {
			return 0, err
		}
		svc, err := d.Open(ctx, cfg)
		if err != nil {
			return 0, err
		}
		r := workloads.Run{Plan: p, Service: svc, Prefix: "overhead:", Progress: func(s workloads.Snapshot) {
			if s.Phase == workloads.PhaseMeasure {
				runtime.GC()
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				used[i] = max(used[i], float64(m.HeapAlloc+m.StackInuse))
			}
		}}
		if _, err := r.Do(ctx); err != nil {
			return 0, err
		}
		svc.Close()
	}
	return (used[1] - used[0]) / float64(many-1), nil
}

// parked are clients of which nearly all back off from ten keys of the in-process lock.
func parked(clients int) (drivers.Config, spec.Plan) {
	p := plan("memory", "mutex", clients, 10, 2*time.Second)
	p.Hold, p.Wait, p.BackoffMin, p.BackoffMax = time.Millisecond, "backoff", time.Millisecond, 100*time.Millisecond
	return drivers.Config{Lock: "mutex", Clients: clients}, p
}

// carried are clients in batches, on a thousand keys.
func carried(url string, clients int) (drivers.Config, spec.Plan) {
	p := plan("rueidis", "set-nx", clients, 1000, 5*time.Second)
	p.Pipelining = string(drivers.PipeliningBatch)
	return config(url, drivers.PipeliningBatch, clients), p
}
