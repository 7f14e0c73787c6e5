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
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/cmd/cli"
	_ "github.com/lockbench/lockbench/drivers/all"
	"github.com/lockbench/lockbench/drivers/fault"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/spawn"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/view"
	"github.com/lockbench/lockbench/workloads/host"
)

// role makes this program something else: lockbench itself, or a busy loop.
const role = "LIMITS_ROLE"

const asLockbench, asBusyLoop = "lockbench", "busy loop"

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
	switch os.Getenv(role) {
	case asLockbench:
		cli.Main() // does not return
	case asBusyLoop:
		for n := 0; ; n++ {
		}
	}
	rounds := flag.Int("rounds", 7, "runs of each load")
	duration := flag.Duration("duration", 2*time.Second, "length of one run, and half of it for the warm-up")
	locked := flag.Bool("locked", false, "compare for how long keys were locked, by the record and by EXISTS")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := inDir(func(dir string) error {
		if *locked {
			return compareLocked(ctx, os.Stdout, dir, *duration)
		}
		return run(ctx, os.Stdout, dir, *rounds, *duration)
	})
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "limits:", err)
		os.Exit(1)
	}
}

// inDir calls f with a directory for its records.
func inDir(f func(dir string) error) error {
	dir, err := os.MkdirTemp("", "limits-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	return f(dir)
}

// run goes through all plants in each round.
func run(ctx context.Context, out io.Writer, dir string, rounds int, duration time.Duration) error {
	for i := range plants {
		if plants[i].behind == 0 {
			plants[i].flags += " -server private"
		}
	}
	cells := make([][]*results.Cell, len(plants))
	for range rounds {
		for i := range plants {
			c, err := plants[i].measure(ctx, filepath.Join(dir, "run.jsonl"), duration)
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
func (p *plant) measure(ctx context.Context, file string, duration time.Duration) (*results.Cell, error) {
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
	return lockbench(ctx, flags, p.env, file, duration)
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

// lockbench makes a run, and returns its cell.
func lockbench(ctx context.Context, flags, env, file string, duration time.Duration) (*results.Cell, error) {
	os.Remove(file)
	args := append(strings.Fields(flags), "-quiet", "-o", file,
		"-duration", duration.String(), "-warmup", (duration / 2).String())
	c := exec.CommandContext(ctx, self(), args...)
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) } // it stops its server
	c.WaitDelay = 30 * time.Second
	c.Env = append(os.Environ(), role+"="+asLockbench)
	if env != "" {
		c.Env = append(c.Env, env)
	}
	if text, err := c.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, text)
	}
	return cellIn(file)
}

// cellIn returns the only cell of a file of records.
func cellIn(file string) (*results.Cell, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var recs []*results.Record
	if _, err := results.Read(f, func(r *results.Record) error { recs = append(recs, r); return nil }); err != nil {
		return nil, err
	}
	cells, err := results.Group(recs)
	if err == nil && len(cells) != 1 {
		err = errors.New("name one cell")
	}
	if err != nil {
		return nil, err
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
		c := exec.Command(self())
		c.Env = append(os.Environ(), role+"="+asBusyLoop)
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

// self returns the path of this program.
func self() string {
	path, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return path
}
