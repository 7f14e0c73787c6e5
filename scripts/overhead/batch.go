package main

// Batches: lockbench's against a loop that sends as much in one write, and measures nothing.

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/lockbench/lockbench/drivers"
)

// inOneWrite is how many requests a batch has at most, as in lockbench.
const inOneWrite = 256

// way is one way to load a server.
type way struct {
	name string
	run  side
	made loads
}

// compareBatches compares lockbench's batches over rueidis, the first way, with other ways.
func compareBatches(ctx context.Context, url string, rounds int, duration time.Duration) ([]way, error) {
	const clients = 512
	lockbench := func(p drivers.Pipelining) side {
		return func() (load, error) { return throughLockbench(ctx, url, "rueidis", p, clients, duration) }
	}
	ways := []way{
		{name: "lockbench -pipelining batch", run: lockbench(drivers.PipeliningBatch)},
		{name: "the same batches by hand, rueidis", run: func() (load, error) {
			workers := 2 * runtime.GOMAXPROCS(0) // as many as lockbench has, with a connection each
			return drive(ctx, url, overRueidis, workers, duration, batches(clients, workers))
		}},
		{name: "goroutines over rueidis", run: func() (load, error) {
			return drive(ctx, url, bareRueidis, clients, duration, plain(clients))
		}},
		{name: "lockbench with goroutines", run: lockbench(drivers.PipeliningAuto)},
	}
	var sides []side
	for _, w := range ways {
		sides = append(sides, w.run)
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

// batches lets a worker's part of the clients acquire and release.
func batches(clients, workers int) work[*pipe] {
	keys := keyNames(clients)
	clients /= workers
	return func(p *pipe, id int, stop *atomic.Bool) (pairs int64, err error) {
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
				if err := p.flush(func(n int) { held[from+n] = "" }); err != nil {
					return pairs, err
				}
			}
		}
		return pairs, nil
	}
}

// pipe is a connection of rueidis that sends the commands given to it in one write.
type pipe struct {
	conn     rueidis.DedicatedClient
	sha      string
	commands []rueidis.Completed
}

func overRueidis(ctx context.Context, url string) (func(id int) (*pipe, error), func(), error) {
	client, sha, err := dialRueidis(ctx, url)
	if err != nil {
		return nil, nil, err
	}
	return func(int) (*pipe, error) {
		conn, _ := client.Dedicate()
		return &pipe{conn: conn, sha: sha}, nil
	}, client.Close, nil
}

func (l *pipe) acquire(key, owner string) {
	l.commands = append(l.commands, l.conn.B().Set().Key(key).Value(owner).Nx().PxMilliseconds(ttl.Milliseconds()).Build())
}

func (l *pipe) release(key, owner string) {
	l.commands = append(l.commands, l.conn.B().Evalsha().Sha1(l.sha).Numkeys(1).Key(key).Arg(owner).Build())
}

// flush calls refused for each acquisition that was.
func (l *pipe) flush(refused func(n int)) error {
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
