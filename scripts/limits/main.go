// Command limits plants what limits a load, one after the other, and checks that lockbench names it: the verdict of most of the
// rounds must be the planted one. With -locked it holds for how long keys were locked against what another connection saw.
//
//	go run ./scripts/limits -rounds 7
//	go run ./scripts/limits -locked
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	_ "github.com/lockbench/lockbench/drivers/all"
	"github.com/lockbench/lockbench/drivers/fault"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/spawn"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/view"
	"github.com/lockbench/lockbench/scripts/bench"
	"github.com/lockbench/lockbench/workloads/host"
)

// busyLoop is the variable that makes this program a busy loop.
const busyLoop = "LIMITS_BUSY_LOOP"

// plant is a load with a limit.
type plant struct {
	what   string
	want   results.LimitedBy
	flags  string
	env    string        // of lockbench
	beside bool          // a busy loop is on the server's core
	behind time.Duration // that the way to a server takes, and the way back
}

// plants are those whose limit is known before. The keys are enough for the clients seldom to meet, if it is not for the lock.
var plants = []plant{
	{what: "a busy loop shares the server's core", want: results.ByServerCPU, beside: true,
		flags: "-driver rueidis -clients 64 -keys 1280 -wait none -pin"},
	{what: "the same in batches", want: results.ByServerCPU, beside: true,
		flags: "-driver rueidis -pipelining batch -clients 512 -keys 10240 -wait none -pin"},
	{what: "lockbench has one processor", want: results.ByGenerator, env: "GOMAXPROCS=1",
		flags: "-driver go-redis -clients 512 -keys 10240 -wait none"},
	{what: "two connections for 64 clients", want: results.ByConnections,
		flags: "-driver go-redis -pipelining off -conns 2 -clients 64 -keys 1280 -wait none -pin"},
	{what: "holds of 5 ms on one key", want: results.ByKey, flags: "-driver rueidis -clients 8 -keys 1 -hold 5ms -wait queue"},
	{what: "a poll each 50 ms for a key held for 1 ms", want: results.ByLock,
		flags: "-driver rueidis -clients 4 -keys 1 -hold 1ms -think 2ms -wait poll -poll 50ms"},
	{what: "holders that die, with leases of 300 ms", want: results.ByLease,
		flags: "-driver rueidis -clients 16 -keys 4 -hold 1ms -ttl 300ms -crash 20% -wait poll -poll 2ms"},
	{what: "four clients that hold for 1 ms", want: results.ByClients, flags: "-driver rueidis -clients 4 -keys 400 -hold 1ms -wait none"},
	{what: "three clients behind 25 ms", want: results.ByClients, behind: 12500 * time.Microsecond,
		flags: "-driver rueidis -clients 3 -keys 3 -key-dist own"},
	{what: "ZooKeeper on the cores of lockbench", want: results.ByMachine,
		flags: "-driver zookeeper -clients 256 -keys 10240 -wait none"},
	{what: "arrivals at 500 a second", want: results.ByRate, flags: "-driver rueidis -clients 16 -keys 1600 -wait none -rate 500"},
}

func main() {
	if os.Getenv(busyLoop) != "" {
		for n := 0; ; n++ {
		}
	}
	bench.Main("limits", func(ctx context.Context) error {
		rounds := flag.Int("rounds", 7, "runs of each load")
		duration := flag.Duration("duration", 2*time.Second, "length of one run, and half of it for the warm-up")
		locked := flag.Bool("locked", false, "compare for how long keys were locked, by the record and by EXISTS")
		flag.Parse()
		if *locked {
			return compareLocked(ctx, os.Stdout, *duration)
		}
		return run(ctx, os.Stdout, *rounds, *duration)
	})
}

// run goes through all plants in each round.
func run(ctx context.Context, out io.Writer, rounds int, duration time.Duration) error {
	for i := range plants {
		if plants[i].behind == 0 {
			plants[i].flags += " -server private"
		}
	}
	cells := make([][]*results.Cell, len(plants))
	for range rounds {
		for i := range plants {
			c, err := plants[i].measure(ctx, duration)
			if err != nil {
				return fmt.Errorf("%s: %w", plants[i].what, err)
			}
			cells[i] = append(cells[i], c)
		}
	}
	missed := 0
	for i, p := range plants {
		if !p.report(out, cells[i]) {
			missed++
		}
	}
	if missed > 0 {
		return fmt.Errorf("%d of %d limits are not named in most rounds", missed, len(plants))
	}
	return nil
}

// report prints what the rounds say, and reports whether most of them have the planted limit.
func (p *plant) report(out io.Writer, cells []*results.Cell) bool {
	count := map[results.LimitedBy]int{}
	says := "" // of the last round that is right, or the last one
	for _, c := range cells {
		by := c.Limit().By
		if count[by]++; says == "" || by == p.want || count[p.want] == 0 {
			says = view.Limit(c)
		}
	}
	var all []string
	for _, by := range slices.SortedFunc(maps.Keys(count), func(a, b results.LimitedBy) int { return cmp.Or(count[b]-count[a], cmp.Compare(a, b)) }) {
		all = append(all, fmt.Sprintf("%s (%d of %d)", by, count[by], len(cells)))
	}
	found := 2*count[p.want] > len(cells)
	mark := "✓"
	if !found {
		mark = "✗ not " + string(p.want)
	}
	fmt.Fprintf(out, "%s: %s %s\n    %s\n    %s\n", p.what, strings.Join(all, ", "), mark, strings.TrimSpace(p.env+" lockbench "+p.flags), says)
	return found
}

// measure makes one run.
func (p *plant) measure(ctx context.Context, duration time.Duration) (*results.Cell, error) {
	flags := p.flags
	if p.behind > 0 {
		addr, end, err := far(ctx, p.behind)
		if err != nil {
			return nil, err
		}
		defer end()
		flags += " -addr " + addr
	}
	if p.beside {
		cores, err := host.Cores()
		if err != nil {
			return nil, err
		}
		_, servers := host.Split(cores, 1)
		end, err := busy(servers)
		if err != nil {
			return nil, err
		}
		defer end()
	}
	return cell(ctx, flags, p.env, duration)
}

// far starts a Redis, and a way to it that takes so long in each direction.
func far(ctx context.Context, delay time.Duration) (addr string, end func(), err error) {
	server, err := servers.StartRedis(ctx, servers.RedisOptions{TCP: true})
	if err != nil {
		return "", nil, err
	}
	proxy, err := fault.NewProxy(strings.TrimPrefix(server.URL(), "redis://"))
	if err != nil {
		server.Close()
		return "", nil, err
	}
	proxy.Delay(fault.Requests, delay)
	proxy.Delay(fault.Replies, delay)
	return "redis://" + proxy.Addr(), func() { proxy.Close(); server.Close() }, nil
}

// cell makes a run, and returns its cell.
func cell(ctx context.Context, flags, env string, duration time.Duration) (*results.Cell, error) {
	c := bench.Command(ctx, append(strings.Fields(flags), "-duration", duration.String(), "-warmup", (duration/2).String())...)
	if env != "" {
		c.Env = append(c.Env, env)
	}
	recs, err := bench.Measure(c)
	if err != nil {
		return nil, err
	}
	return only(recs)
}

// only returns the one cell of records.
func only(recs []*results.Record) (*results.Cell, error) {
	cells, err := results.Group(recs)
	if err != nil || len(cells) != 1 {
		return nil, errors.Join(err, fmt.Errorf("%d cells: name one", len(cells)))
	}
	return cells[0], nil
}

// busy keeps each of the cores busy until end is called.
func busy(cores []int) (end func(), err error) {
	var loops []*spawn.Process
	end = func() {
		for _, p := range loops {
			p.Kill()
		}
	}
	for _, core := range cores {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), busyLoop+"=1")
		p, err := spawn.Start(c)
		if err != nil {
			end()
			return nil, err
		}
		loops = append(loops, p)
		if err := host.Move(p.PID(), []int{core}); err != nil {
			end()
			return nil, err
		}
	}
	return end, nil
}
