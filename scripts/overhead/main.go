// Command overhead measures the cost of the harness: it runs bare loops over the client libraries and the same work
// through lockbench, interleaved on one private redis-server, and prints medians and ratios. A
// third loop only goes through lockbench's driver. Then it compares lockbench's
// batches with the same batches by hand, and with goroutines.
//
//	go run ./scripts/overhead -rounds 7 -duration 2s
package main

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"net"
	"os"
	"os/signal"
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
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/results/stats"
	"github.com/lockbench/lockbench/workloads"
	"github.com/lockbench/lockbench/workloads/host"
)

const (
	ttl           = 30 * time.Second
	keysPerClient = 20 // enough that two clients seldom meet, and few enough for the cache
	release       = `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`
)

func main() {
	rounds := flag.Int("rounds", 7, "rounds, each of which runs every cell once")
	duration := flag.Duration("duration", 2*time.Second, "length of one cell in one round")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *rounds, *duration); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, rounds int, duration time.Duration) error {
	server, err := servers.StartRedis(ctx, servers.Options{})
	if err != nil {
		return err
	}
	defer server.Close()
	url := server.URL()
	rows, err := compareLibraries(ctx, url, rounds, duration)
	if err != nil {
		return err
	}
	ways, err := compareBatches(ctx, url, rounds, duration)
	if err != nil {
		return err
	}
	fmt.Printf("%-9s %7s %13s %10s %6s  (min – max of %d)  %11s\n", "driver", "clients", "bare pairs/s", "lockbench", "ratio", rounds,
		"driver only")
	for _, r := range rows {
		ratio := r.lockbench.to(r.bare)
		fmt.Printf("%-9s %7d %13.0f %10.0f %6.3f  (%.3f – %.3f)  %11.3f\n", r.driver, r.clients, r.bare.median(rate), r.lockbench.median(rate),
			ratio.Median, ratio.Min, ratio.Max, r.adapted.to(r.bare).Median)
	}
	fmt.Printf("\n%-28s %10s %10s  %11s\n", "CPU time of the clients, µs a pair", "bare", "lockbench", "driver only")
	for _, r := range rows {
		fmt.Printf("%-9s %7d %27.2f %10.2f  %11.2f\n", r.driver, r.clients, r.bare.median(cpu), r.lockbench.median(cpu), r.adapted.median(cpu))
	}
	fmt.Printf("\n%-33s %10s %18s  (min – max of %d) %15s\n", "512 clients", "pairs/s", "lockbench to it", rounds, "client µs/pair")
	for _, w := range ways {
		ratio := ways[0].made.to(w.made)
		fmt.Printf("%-33s %10.0f %18.3f  (%.3f – %.3f) %18.2f\n", w.name, w.made.median(rate), ratio.Median, ratio.Min, ratio.Max,
			w.made.median(cpu))
	}
	return nil
}

// row is one comparison of a client library without lockbench with lockbench, and with its driver, without measuring.
type row struct {
	driver                   string
	clients                  int
	bare, lockbench, adapted loads
}

func compareLibraries(ctx context.Context, url string, rounds int, duration time.Duration) (rows []row, err error) {
	for _, library := range []struct {
		driver  string
		connect connect[lock]
	}{{"rueidis", bareRueidis}, {"go-redis", bareGoRedis}} {
		for _, clients := range []int{64, 512} {
			through := func(c connect[lock], do work[lock]) side {
				return func() (load, error) { return drive(ctx, url, c, clients, duration, do) }
			}
			made, err := interleave(rounds, []side{
				through(library.connect, plain(clients)),
				func() (load, error) {
					return throughLockbench(ctx, url, library.driver, drivers.PipeliningDefault, clients, duration)
				},
				through(driverOf(library.driver, clients), plain(clients)),
			})
			if err != nil {
				return nil, err
			}
			rows = append(rows, row{library.driver, clients, made[0], made[1], made[2]})
		}
	}
	return rows, nil
}

// load is what a side has made in one round: pairs of an acquisition and a release.
type load struct {
	perSecond float64
	pairs     float64
	cpu       float64 // of the clients for a pair, in microseconds
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

func rate(l load) float64 { return l.perSecond }
func cpu(l load) float64  { return l.cpu }

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

// keyNames returns the keys of a cell, the same for all sides.
func keyNames(clients int) []string {
	keys := make([]string, clients*keysPerClient)
	for i := range keys {
		keys[i] = "nothing:" + strconv.Itoa(i)
	}
	return keys
}

// connect connects a client library, and returns a function that makes the client of one goroutine.
type connect[T any] func(ctx context.Context, url string) (client func(id int) (T, error), closeAll func(), err error)

// work runs a client until stop is set, and counts its acquire-release pairs.
type work[T any] func(client T, id int, stop *atomic.Bool) (pairs int64, err error)

// drive lets each of some goroutines work with a client of its own.
func drive[T any](ctx context.Context, url string, connect connect[T], goroutines int, duration time.Duration, do work[T]) (load, error) {
	client, closeAll, err := connect(ctx, url)
	if err != nil {
		return load{}, err
	}
	defer closeAll()
	pairs, errs := make([]int64, goroutines), make([]error, goroutines)
	var stop atomic.Bool
	var all sync.WaitGroup
	began, before := time.Now(), host.ProcessCPU()
	for id := range goroutines {
		c, err := client(id)
		if err != nil {
			return load{}, err
		}
		all.Go(func() { pairs[id], errs[id] = do(c, id, &stop) })
	}
	time.Sleep(duration)
	stop.Store(true)
	all.Wait()
	total := 0.0
	for _, n := range pairs {
		total += float64(n)
	}
	spent := microseconds(host.ProcessCPU() - before)
	return load{perSecond: total / time.Since(began).Seconds(), pairs: total, cpu: spent / total}, errors.Join(errs...)
}

func microseconds(d time.Duration) float64 { return float64(d) / 1e3 }

// lock acquires and releases keys for one goroutine. It is the same lock as lockbench's, with the same owner tokens,
// but without the harness.
type lock struct {
	try     func(key string) (bool, error)
	release func(key string) error
}

// plain only acquires and releases.
func plain(clients int) work[lock] {
	keys := keyNames(clients)
	return func(l lock, id int, stop *atomic.Bool) (pairs int64, err error) {
		rng := rand.New(rand.NewPCG(1, uint64(id)))
		for !stop.Load() {
			key := keys[rng.IntN(len(keys))]
			got, err := l.try(key)
			if err == nil && got {
				err = l.release(key)
				pairs++
			}
			if err != nil {
				return pairs, err
			}
		}
		return pairs, nil
	}
}

// driverOf returns a loop through lockbench's driver.
func driverOf(name string, clients int) connect[lock] {
	return func(ctx context.Context, url string) (func(id int) (lock, error), func(), error) {
		svc, err := open(ctx, name, config(url, drivers.PipeliningDefault, clients))
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

func open(ctx context.Context, driver string, cfg drivers.Config) (drivers.Service, error) {
	d, err := drivers.Lookup(driver)
	if err != nil {
		return nil, err
	}
	return d.Open(ctx, cfg)
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

// dialGoRedis does the same with the other library.
func dialGoRedis(ctx context.Context, url string) (client *goredis.Client, sha string, err error) {
	o, err := goredis.ParseURL(url)
	if err != nil {
		return nil, "", err
	}
	o.MaxRetries, o.ContextTimeoutEnabled, o.DisableIdentity = -1, true, true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	client = goredis.NewClient(o)
	sha, err = client.ScriptLoad(ctx, release).Result()
	return client, sha, err
}

func bareGoRedis(ctx context.Context, url string) (func(id int) (lock, error), func(), error) {
	client, sha, err := dialGoRedis(ctx, url)
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

// throughLockbench does the same work through lockbench, including the oracle.
func throughLockbench(ctx context.Context, url, driver string, pipelining drivers.Pipelining, clients int, duration time.Duration) (load, error) {
	p := spec.Plan{Load: spec.Load{Clients: clients, TTL: ttl, Timeout: 10 * time.Second},
		Driver: driver, Lock: "set-nx", Wait: "none", Keys: clients * keysPerClient, Pipelining: string(pipelining),
		Duration: duration, Seed: 1, IOTimeout: 3 * time.Second, Oracle: true, Server: "private",
	}
	svc, err := open(ctx, driver, config(url, pipelining, clients))
	if err != nil {
		return load{}, err
	}
	defer svc.Close()
	rec, err := (&workloads.Run{Plan: p, Service: svc, Prefix: "overhead:"}).Do(ctx)
	if err != nil {
		return load{}, err
	}
	if n := rec.Counts; n.Unknown+n.Refused+n.ReleaseError > 0 {
		return load{}, fmt.Errorf("%s: %v", driver, n.ErrorSample)
	}
	return load{perSecond: rec.Throughput(), pairs: float64(rec.Counts.Acquired),
		cpu: rec.Cost.ClientCPUUs}, nil
}
