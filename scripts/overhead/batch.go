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
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results"
)

// inOneWrite is how many requests a batch has at most, as in lockbench.
const inOneWrite = 256

// ttlText is the lease in milliseconds.
var ttlText = strconv.FormatInt(ttl.Milliseconds(), 10)

// watched records how long each client takes for one acquisition in 16.
func watched(connect connect[lock], recorder *results.Recorder) connect[lock] {
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
				defer func() { record(recorder, time.Since(sent)) }()
				return try(key)
			}
			return l, err
		}, closeAll, err
	}
}

func record(r *results.Recorder, took time.Duration) {
	shard := r.Borrow()
	shard.Record(results.AcquireIndex, took)
	r.Return(shard)
}

// way is one way to load a server.
type way struct {
	name string
	run  side
	made loads
}

// compareBatches compares lockbench's batches over rueidis, the first way, with other ways.
func compareBatches(ctx context.Context, url string, rounds int, duration time.Duration) ([]way, error) {
	const clients = 512
	lockbench := func(driver string, p drivers.Pipelining) side {
		return func() (load, error) { return throughLockbench(ctx, url, driver, p, clients, duration) }
	}
	timed := func(run func(*results.Recorder) (load, error)) side {
		return func() (load, error) {
			recorder := results.NewRecorder(0)
			made, err := run(recorder)
			made.p99 = microseconds(recorder.Latencies()[results.Acquire].P99)
			return made, err
		}
	}
	byHand := func(connect connect[pipe]) side {
		return timed(func(r *results.Recorder) (load, error) {
			workers := 2 * runtime.GOMAXPROCS(0) // as many as lockbench has, with a connection each
			return drive(ctx, url, connect, workers, duration, batches(clients, workers, r))
		})
	}
	redisBenchmark := func(depth int) side {
		return func() (load, error) { return throughRedisBenchmark(ctx, url, depth, clients, duration) }
	}
	ways := []way{
		{name: "lockbench -pipelining batch", run: lockbench("rueidis", drivers.PipeliningBatch)},
		{name: "the same batches by hand, rueidis", run: byHand(overRueidis)},
		{name: "the same batches, a bare socket", run: byHand(overSockets)},
		{name: "goroutines over rueidis", run: timed(func(r *results.Recorder) (load, error) {
			return drive(ctx, url, watched(bareRueidis, r), clients, duration, plain(clients))
		})},
		{name: "lockbench with goroutines", run: lockbench("rueidis", drivers.PipeliningAuto)},
		{name: "redis-benchmark -P 16", run: redisBenchmark(16)},
		{name: "redis-benchmark -P 128", run: redisBenchmark(128)},
		{name: "redis-benchmark -P 512", run: redisBenchmark(512)},
		{name: "lockbench, go-redis in batches", run: lockbench("go-redis", drivers.PipeliningBatch)},
		{name: "lockbench, go-redis, auto", run: lockbench("go-redis", drivers.PipeliningAuto)},
	}
	server, _, err := dialGoRedis(ctx, url)
	if err != nil {
		return nil, err
	}
	defer server.Close()
	var sides []side
	for _, w := range ways {
		sides = append(sides, func() (load, error) {
			before, err := serverCPU(ctx, server)
			if err != nil {
				return load{}, err
			}
			made, err := w.run()
			if err != nil {
				return load{}, fmt.Errorf("%s: %w", w.name, err)
			}
			after, err := serverCPU(ctx, server)
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
func serverCPU(ctx context.Context, server *goredis.Client) (float64, error) {
	info := server.InfoMap(ctx, "cpu")
	user, err := strconv.ParseFloat(info.Item("CPU", "used_cpu_user_main_thread"), 64)
	sys, err2 := strconv.ParseFloat(info.Item("CPU", "used_cpu_sys_main_thread"), 64)
	return user + sys, errors.Join(info.Err(), err, err2)
}

// pipe is a connection that sends the commands given to it in one write.
type pipe interface {
	acquire(key, owner string)
	release(key, owner string)
	flush(refused func(n int)) error // calls refused for each acquisition that was
}

// batches lets a worker's part of the clients acquire and release. An acquisition takes as long as its batch.
func batches(clients, workers int, recorder *results.Recorder) work[pipe] {
	keys := keyNames(clients)
	clients /= workers
	return func(p pipe, id int, stop *atomic.Bool) (pairs int64, err error) {
		rng := rand.New(rand.NewPCG(uint64(id), 0))
		var tokens drivers.Owners
		held, owners := make([]string, clients), make([]string, clients) // the key of each client that holds one
		for !stop.Load() {
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
				if err := p.flush(func(n int) { held[from+n] = "" }); err != nil {
					return pairs, err
				}
				record(recorder, time.Since(sent))
			}
		}
		return pairs, nil
	}
}

// library is a pipe of rueidis.
type library struct {
	conn     rueidis.DedicatedClient
	sha      string
	commands []rueidis.Completed
}

func overRueidis(ctx context.Context, url string) (func(id int) (pipe, error), func(), error) {
	client, sha, err := dialRueidis(ctx, url)
	if err != nil {
		return nil, nil, err
	}
	return func(int) (pipe, error) {
		conn, _ := client.Dedicate()
		return &library{conn: conn, sha: sha}, nil
	}, client.Close, nil
}

func (l *library) acquire(key, owner string) {
	l.commands = append(l.commands, l.conn.B().Set().Key(key).Value(owner).Nx().PxMilliseconds(ttl.Milliseconds()).Build())
}

func (l *library) release(key, owner string) {
	l.commands = append(l.commands, l.conn.B().Evalsha().Sha1(l.sha).Numkeys(1).Key(key).Arg(owner).Build())
}

func (l *library) flush(refused func(n int)) error {
	defer func() { l.commands = l.commands[:0] }()
	for n, result := range l.conn.DoMulti(context.Background(), l.commands...) {
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

func overSockets(ctx context.Context, url string) (func(id int) (pipe, error), func(), error) {
	client, sha, err := dialRueidis(ctx, url) // loads the script
	if err != nil {
		return nil, nil, err
	}
	closeAll := client.Close
	return func(int) (pipe, error) {
		conn, err := net.Dial("unix", strings.TrimPrefix(url, "unix://"))
		if err != nil {
			return nil, err
		}
		before := closeAll
		closeAll = func() { conn.Close(); before() }
		return &socket{conn: conn, answers: bufio.NewReaderSize(conn, 64<<10), sha: sha}, nil
	}, func() { closeAll() }, nil
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

func (s *socket) flush(refused func(n int)) error {
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
	client, sha, err := dialGoRedis(ctx, url) // loads the script
	if err != nil {
		return load{}, err
	}
	client.Close()
	keys := strconv.Itoa(clients * keysPerClient)
	n := int(300_000 * duration.Seconds()) // about as long as the others
	var pair, p99, cpu float64
	for i, command := range [][]string{
		{"SET", "nothing:__rand_int__", "owner", "NX", "PX", ttlText},
		{"EVALSHA", sha, "1", "nothing:__rand_int__", "owner"},
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
