package main

// Batches: lockbench's against a loop that sends as much in one write, and measures nothing.

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/workloads/host"
)

// inOneWrite is how many requests a batch has at most, as in lockbench.
const inOneWrite = 256

// ttlText is the lease in milliseconds.
var ttlText = strconv.FormatInt(ttl.Milliseconds(), 10)

// stopwatch keeps how long some acquisitions took, in microseconds.
type stopwatch struct {
	mu   sync.Mutex
	took []float64
}

func (s *stopwatch) add(d time.Duration) {
	s.mu.Lock()
	s.took = append(s.took, float64(d)/1e3)
	s.mu.Unlock()
}

func (s *stopwatch) p99() float64 {
	if len(s.took) == 0 {
		return 0
	}
	slices.Sort(s.took)
	return s.took[(len(s.took)*99+99)/100-1]
}

// of lets each client take the time of one acquisition in 16.
func (s *stopwatch) of(connect bare) bare {
	return func(ctx context.Context, url string) (func(id int) (lock, error), func(), error) {
		client, closeAll, err := connect(ctx, url)
		return func(id int) (lock, error) {
			l, err := client(id)
			try, n := l.try, id
			l.try = func(key string) (bool, error) {
				if n++; n%16 != 0 {
					return try(key)
				}
				sent := time.Now()
				defer func() { s.add(time.Since(sent)) }()
				return try(key)
			}
			return l, err
		}, closeAll, err
	}
}

// compareBatches compares lockbench's batches over rueidis, the first way, with other ways.
func compareBatches(ctx context.Context, url string, rounds int, duration time.Duration) ([]way, error) {
	const clients = 512
	lockbench := func(driver string, p drivers.Pipelining) side {
		return func() (load, error) { return throughLockbench(ctx, url, driver, p, clients, duration) }
	}
	byHand := func(dial func(context.Context, string) (dialled, error)) side {
		return func() (load, error) { return throughBatches(ctx, url, dial, clients, duration) }
	}
	redisBenchmark := func(depth int) side {
		return func() (load, error) { return throughRedisBenchmark(ctx, url, depth, clients, duration) }
	}
	ways := []way{
		{name: "lockbench -pipelining batch", run: lockbench("rueidis", drivers.PipeliningBatch)},
		{name: "the same batches by hand, rueidis", run: byHand(overRueidis)},
		{name: "the same batches, a bare socket", run: byHand(overSockets)},
		{name: "goroutines over rueidis", run: func() (load, error) {
			var watch stopwatch
			made, err := throughBare(ctx, url, watch.of(bareRueidis), plain, clients, duration)
			made.p99 = watch.p99()
			return made, err
		}},
		{name: "lockbench with goroutines", run: lockbench("rueidis", drivers.PipeliningAuto)},
		{name: "redis-benchmark -P 16", run: redisBenchmark(16)},
		{name: "redis-benchmark -P 128", run: redisBenchmark(128)},
		{name: "redis-benchmark -P 512", run: redisBenchmark(512)},
		{name: "lockbench, go-redis in batches", run: lockbench("go-redis", drivers.PipeliningBatch)},
		{name: "lockbench, go-redis, auto", run: lockbench("go-redis", drivers.PipeliningAuto)},
	}
	var sides []side
	for _, w := range ways {
		sides = append(sides, func() (load, error) {
			before, err := serverCPU(ctx, url)
			if err != nil {
				return load{}, err
			}
			made, err := w.run()
			if err != nil {
				return load{}, fmt.Errorf("%s: %w", w.name, err)
			}
			after, err := serverCPU(ctx, url)
			made.server = 1e6 * (after - before) / made.pairs
			return made, err
		})
	}
	made, err := interleave(rounds, sides)
	if err != nil {
		return nil, err
	}
	for i := range ways {
		ways[i].made = made[i]
	}
	return ways, nil
}

// serverCPU returns the CPU time of the server's main thread, in seconds.
func serverCPU(ctx context.Context, url string) (seconds float64, err error) {
	out, err := exec.CommandContext(ctx, "redis-cli", "-s", strings.TrimPrefix(url, "unix://"), "INFO", "cpu").Output()
	if err != nil {
		return 0, fmt.Errorf("redis-cli: %w", err)
	}
	for line := range strings.Lines(string(out)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name == "used_cpu_user_main_thread" || name == "used_cpu_sys_main_thread" {
			f, err := strconv.ParseFloat(value, 64)
			if err != nil {
				return 0, fmt.Errorf("redis-cli INFO: %q", line)
			}
			seconds += f
		}
	}
	return seconds, nil
}

// pipe is a connection that sends the commands given to it in one write.
type pipe interface {
	acquire(key, owner string)
	release(key, owner string)
	flush(ctx context.Context, refused func(n int)) error // calls refused for each acquisition that was
}

// dialled makes connections.
type dialled struct {
	pipe  func() (pipe, func(), error)
	close func()
}

// throughBatches carries the clients in as many goroutines as lockbench does, with a connection each.
func throughBatches(ctx context.Context, url string, dial func(context.Context, string) (dialled, error), clients int, duration time.Duration) (load, error) {
	server, err := dial(ctx, url)
	if err != nil {
		return load{}, err
	}
	var watch stopwatch
	defer server.close()
	keys := keyNames("nothing:", clients)
	began, before := time.Now(), host.ProcessCPU()
	workers := 2 * runtime.GOMAXPROCS(0)
	pairs, errs := make([]int, workers), make([]error, workers)
	var all sync.WaitGroup
	for i := range workers {
		all.Go(func() {
			p, end, err := server.pipe()
			if errs[i] = err; err != nil {
				return
			}
			defer end()
			pairs[i], errs[i] = batches(ctx, p, keys, clients/workers, uint64(i), began.Add(duration), &watch)
		})
	}
	all.Wait()
	total := 0
	for i := range pairs {
		if errs[i] != nil {
			return load{}, errs[i]
		}
		total += pairs[i]
	}
	return load{perSecond: float64(total) / time.Since(began).Seconds(), pairs: float64(total), p99: watch.p99(), cpu: spent(before) / float64(total)}, nil
}

// batches lets clients acquire and release until a moment, and counts the pairs. An acquisition takes as long as its batch.
func batches(ctx context.Context, p pipe, keys []string, clients int, seed uint64, end time.Time, watch *stopwatch) (pairs int, err error) {
	rng := rand.New(rand.NewPCG(seed, 0))
	var tokens drivers.Owners
	held, owners := make([]string, clients), make([]string, clients) // the key of each client that holds one
	for time.Now().Before(end) {
		for from := 0; from < clients; from += inOneWrite {
			for i := from; i < min(from+inOneWrite, clients); i++ {
				if held[i] != "" {
					p.release(held[i], owners[i])
					held[i] = ""
					pairs++
					continue
				}
				held[i], owners[i] = keys[rng.IntN(len(keys))], tokens.Next()
				p.acquire(held[i], owners[i])
			}
			sent := time.Now()
			if err := p.flush(ctx, func(n int) { held[from+n] = "" }); err != nil {
				return 0, err
			}
			watch.add(time.Since(sent))
		}
	}
	return pairs, nil
}

// library is a pipe of rueidis.
type library struct {
	conn     rueidis.DedicatedClient
	sha      string
	commands []rueidis.Completed
}

func overRueidis(ctx context.Context, url string) (dialled, error) {
	client, sha, err := dialRueidis(ctx, url)
	if err != nil {
		return dialled{}, err
	}
	return dialled{func() (pipe, func(), error) {
		conn, back := client.Dedicate()
		return &library{conn: conn, sha: sha}, back, nil
	}, client.Close}, nil
}

func (l *library) acquire(key, owner string) {
	l.commands = append(l.commands, l.conn.B().Set().Key(key).Value(owner).Nx().PxMilliseconds(ttl.Milliseconds()).Build())
}

func (l *library) release(key, owner string) {
	l.commands = append(l.commands, l.conn.B().Evalsha().Sha1(l.sha).Numkeys(1).Key(key).Arg(owner).Build())
}

func (l *library) flush(ctx context.Context, refused func(n int)) error {
	defer func() { l.commands = l.commands[:0] }()
	for n, result := range l.conn.DoMulti(ctx, l.commands...) {
		if err := result.Error(); rueidis.IsRedisNil(err) {
			refused(n)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// socket is a pipe that writes the protocol itself, and looks only at the first two bytes of an answer: what the server can do.
type socket struct {
	conn    net.Conn
	answers *bufio.Reader
	sha     string
	out     []byte
	n       int // commands in out
}

func overSockets(ctx context.Context, url string) (dialled, error) {
	client, sha, err := dialRueidis(ctx, url) // loads the script
	if err != nil {
		return dialled{}, err
	}
	return dialled{func() (pipe, func(), error) {
		conn, err := net.Dial("unix", strings.TrimPrefix(url, "unix://"))
		if err != nil {
			return nil, nil, err
		}
		return &socket{conn: conn, answers: bufio.NewReaderSize(conn, 64<<10), sha: sha}, func() { conn.Close() }, nil
	}, client.Close}, nil
}

func (s *socket) add(words ...string) {
	s.out = append(strconv.AppendInt(append(s.out, '*'), int64(len(words)), 10), "\r\n"...)
	for _, word := range words {
		s.out = append(strconv.AppendInt(append(s.out, '$'), int64(len(word)), 10), "\r\n"...)
		s.out = append(append(s.out, word...), "\r\n"...)
	}
	s.n++
}

func (s *socket) acquire(key, owner string) {
	s.add("SET", key, owner, "NX", "PX", ttlText)
}

func (s *socket) release(key, owner string) { s.add("EVALSHA", s.sha, "1", key, owner) }

func (s *socket) flush(_ context.Context, refused func(n int)) error {
	if _, err := s.conn.Write(s.out); err != nil {
		return err
	}
	for n := range s.n {
		line, err := s.answers.ReadSlice('\n')
		switch {
		case err != nil:
			return err
		case line[0] == '-':
			return errors.New(strings.TrimSpace(string(line)))
		case line[0] == '$': // the null string of a SET that was refused
			refused(n)
		}
	}
	s.out, s.n = s.out[:0], 0
	return nil
}

// throughRedisBenchmark returns the pairs of redis-benchmark with that many requests in one write: the time of a SET and that of an
// EVALSHA, measured one after the other, are the time of a pair. The server has less to do for them than for a lock, since most of
// the SETs find their key, and most of the EVALSHAs find none.
func throughRedisBenchmark(ctx context.Context, url string, depth, clients int, duration time.Duration) (load, error) {
	path := strings.TrimPrefix(url, "unix://")
	sha, err := exec.CommandContext(ctx, "redis-cli", "-s", path, "SCRIPT", "LOAD", release).Output()
	if err != nil {
		return load{}, fmt.Errorf("redis-cli: %w", err)
	}
	keys := strconv.Itoa(clients * keysPerClient)
	n := int(300_000 * duration.Seconds()) // about as long as the others
	var pair, p99, cpu float64
	for i, command := range [][]string{
		{"SET", "nothing:__rand_int__", "owner", "NX", "PX", ttlText},
		{"EVALSHA", strings.TrimSpace(string(sha)), "1", "nothing:__rand_int__", "owner"},
	} {
		args := append([]string{"-s", path, "-q", "--csv", "-c", "50", "-P", strconv.Itoa(depth), "-r", keys, "-n", strconv.Itoa(n)}, command...)
		cmd := exec.CommandContext(ctx, "redis-benchmark", args...)
		out, err := cmd.Output()
		if err != nil {
			return load{}, fmt.Errorf("redis-benchmark: %w", err)
		}
		cpu += float64(cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()) / 1e3 / float64(n)
		// Its columns are test, rps, then in milliseconds the average, the minimum, p50, p95, p99 and the maximum.
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		fields := strings.Split(strings.ReplaceAll(lines[len(lines)-1], `"`, ""), ",")
		if len(fields) != 8 {
			return load{}, fmt.Errorf("redis-benchmark: it prints %q", out)
		}
		rate, err := strconv.ParseFloat(fields[1], 64)
		slow, err2 := strconv.ParseFloat(fields[6], 64)
		if err != nil || err2 != nil {
			return load{}, fmt.Errorf("redis-benchmark: it prints %q", out)
		}
		pair += 1 / rate
		if i == 0 {
			p99 = 1000 * slow
		}
	}
	return load{perSecond: 1 / pair, pairs: float64(n), p99: p99, cpu: cpu}, nil
}
