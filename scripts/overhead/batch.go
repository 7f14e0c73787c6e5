package main

// Batches: lockbench's against a loop that sends as much in one write, and measures nothing.

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/lockbench/lockbench/drivers"
)

// inOneWrite is how many requests a batch has at most, as in lockbench.
const inOneWrite = 256

// compareBatches compares lockbench's batches over rueidis, the first way, with other ways.
func compareBatches(ctx context.Context, url string, rounds int, duration time.Duration) ([]way, error) {
	const clients = 512
	lockbench := func(driver string, p drivers.Pipelining) func() (float64, error) {
		return func() (float64, error) { return throughLockbench(ctx, url, driver, p, clients, duration) }
	}
	redisBenchmark := func(depth int) func() (float64, error) {
		return func() (float64, error) { return throughRedisBenchmark(ctx, url, depth, clients, duration) }
	}
	ways := []struct {
		name string
		run  func() (float64, error)
	}{
		{"lockbench -pipelining batch", lockbench("rueidis", drivers.PipeliningBatch)},
		{"the same batches by hand", func() (float64, error) { return throughBatches(ctx, url, clients, duration) }},
		{"goroutines over rueidis", func() (float64, error) { return throughBare(ctx, url, bareRueidis, plain, clients, duration) }},
		{"lockbench with goroutines", lockbench("rueidis", drivers.PipeliningAuto)},
		{"redis-benchmark -P 16", redisBenchmark(16)},
		{"redis-benchmark -P 128", redisBenchmark(128)},
		{"redis-benchmark -P 512", redisBenchmark(512)},
		{"lockbench, go-redis in batches", lockbench("go-redis", drivers.PipeliningBatch)},
		{"lockbench, go-redis, auto", lockbench("go-redis", drivers.PipeliningAuto)},
	}
	rates := make([][]float64, len(ways)) // one for each round
	for round := range rounds {
		for n := range ways {
			i := (n + round) % len(ways) // none always comes first
			rate, err := ways[i].run()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", ways[i].name, err)
			}
			rates[i] = append(rates[i], rate)
		}
	}
	var list []way
	for i, w := range ways {
		var ratios []float64
		for r := range rounds {
			ratios = append(ratios, rates[0][r]/rates[i][r])
		}
		list = append(list, way{w.name, median(rates[i]), median(ratios), slices.Min(ratios), slices.Max(ratios)})
	}
	return list, nil
}

// throughBatches carries the clients in a goroutine for each processor, with a connection each, over rueidis.
func throughBatches(ctx context.Context, url string, clients int, duration time.Duration) (float64, error) {
	client, sha, err := dialRueidis(ctx, url)
	if err != nil {
		return 0, err
	}
	defer client.Close()
	keys := keyNames("nothing:", clients)
	began := time.Now()
	workers := runtime.GOMAXPROCS(0)
	pairs, errs := make([]int, workers), make([]error, workers)
	var all sync.WaitGroup
	for i := range workers {
		all.Go(func() {
			pairs[i], errs[i] = batches(ctx, client, sha, keys, clients/workers, uint64(i), began.Add(duration))
		})
	}
	all.Wait()
	total := 0
	for i := range pairs {
		if errs[i] != nil {
			return 0, errs[i]
		}
		total += pairs[i]
	}
	return float64(total) / time.Since(began).Seconds(), nil
}

// batches lets clients acquire and release until a moment, and counts the pairs.
func batches(ctx context.Context, client rueidis.Client, sha string, keys []string, clients int, seed uint64, end time.Time) (pairs int, err error) {
	conn, back := client.Dedicate()
	defer back()
	rng := rand.New(rand.NewPCG(seed, 0))
	var tokens drivers.Owners
	held, owners := make([]string, clients), make([]string, clients) // the key of each client that holds one
	commands := make([]rueidis.Completed, 0, inOneWrite)
	for time.Now().Before(end) {
		for from := 0; from < clients; from += inOneWrite {
			to := min(from+inOneWrite, clients)
			commands = commands[:0]
			for i := from; i < to; i++ {
				if held[i] != "" {
					commands = append(commands, conn.B().Evalsha().Sha1(sha).Numkeys(1).Key(held[i]).Arg(owners[i]).Build())
					held[i] = ""
					pairs++
					continue
				}
				held[i], owners[i] = keys[rng.IntN(len(keys))], tokens.Next()
				commands = append(commands, conn.B().Set().Key(held[i]).Value(owners[i]).Nx().PxMilliseconds(ttl.Milliseconds()).Build())
			}
			for n, result := range conn.DoMulti(ctx, commands...) {
				err := result.Error()
				if rueidis.IsRedisNil(err) {
					held[from+n] = "" // another client has it
				} else if err != nil {
					return 0, err
				}
			}
		}
	}
	return pairs, nil
}

// throughRedisBenchmark returns the pairs per second of redis-benchmark with that many requests in one write: the time of a SET and
// that of an EVALSHA, measured one after the other, are the time of a pair.
func throughRedisBenchmark(ctx context.Context, url string, depth, clients int, duration time.Duration) (float64, error) {
	path := strings.TrimPrefix(url, "unix://")
	sha, err := exec.CommandContext(ctx, "redis-cli", "-s", path, "SCRIPT", "LOAD", release).Output()
	if err != nil {
		return 0, fmt.Errorf("redis-cli: %w", err)
	}
	keys := strconv.Itoa(clients * keysPerClient)
	pair := 0.0
	for _, command := range [][]string{
		{"SET", "nothing:__rand_int__", "owner", "NX", "PX", strconv.FormatInt(ttl.Milliseconds(), 10)},
		{"EVALSHA", strings.TrimSpace(string(sha)), "1", "nothing:__rand_int__", "owner"},
	} {
		n := int(300_000 * duration.Seconds()) // about as long as the others
		args := append([]string{"-s", path, "-q", "--csv", "-c", "50", "-P", strconv.Itoa(depth), "-r", keys, "-n", strconv.Itoa(n)}, command...)
		out, err := exec.CommandContext(ctx, "redis-benchmark", args...).Output()
		if err != nil {
			return 0, fmt.Errorf("redis-benchmark: %w", err)
		}
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		fields := strings.Split(lines[len(lines)-1], `","`)
		if len(fields) < 2 {
			return 0, fmt.Errorf("redis-benchmark: it prints %q", out)
		}
		rate, err := strconv.ParseFloat(fields[1], 64)
		if err != nil {
			return 0, fmt.Errorf("redis-benchmark: it prints %q", out)
		}
		pair += 1 / rate
	}
	return 1 / pair, nil
}
