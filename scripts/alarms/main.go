// Command alarms studies a gate that compares builds: how often it raises false alarms, and how often it detects a
// slow-down. It runs real trials on a private redis-server and on the in-process lock, with the sides of a comparison
// in turns, and judges them as lockbench compare does. Slow-downs are work added to each granted lock. With -drifting
// it also simulates trials on a machine that drifts, and compares them both pair by pair and with each side as a whole.
//
//	go run ./scripts/alarms -alike 200 -slower 60 -trials 10
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	_ "github.com/lockbench/lockbench/drivers/all"
	"github.com/lockbench/lockbench/results"
)

// options are the parameters of the study.
type options struct {
	alike    int // comparisons of a build with itself, for each driver
	slower   int // comparisons for each slow-down
	drifting int // comparisons of simulated trials for each drift and slow-down
	trials   int // per side
	duration time.Duration
	warmup   time.Duration
	clients  int
	keys     int
	effects  []float64 // shares by which throughput should fall
	seed     uint64
}

func main() {
	o := options{}
	flag.IntVar(&o.alike, "alike", 200, "comparisons of a build with itself, for each driver")
	flag.IntVar(&o.slower, "slower", 60, "comparisons for each slow-down")
	flag.IntVar(&o.drifting, "drifting", 0, "comparisons of simulated trials for each drift and slow-down")
	flag.IntVar(&o.trials, "trials", 10, "trials per side")
	flag.DurationVar(&o.duration, "duration", 180*time.Millisecond, "length of a trial; a quarter of it for the in-process lock")
	flag.DurationVar(&o.warmup, "warmup", 20*time.Millisecond, "warm-up before a trial; likewise")
	flag.IntVar(&o.clients, "clients", 64, "clients")
	flag.IntVar(&o.keys, "keys", 10, "keys")
	effects := flag.String("effects", "3,5,10", "slow-downs in percent")
	flag.Uint64Var(&o.seed, "seed", 1, "seed for the order of the trials")
	flag.Parse()
	var err error
	if o.effects, err = parseEffects(*effects); err == nil && o.trials < 1 {
		err = fmt.Errorf("-trials %d: must be 1 or more", o.trials)
	}
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		err = run(ctx, o, os.Stdout, os.Stderr)
		stop()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "alarms:", err)
		os.Exit(1)
	}
}

// parseEffects reads percentages and returns shares.
func parseEffects(s string) (effects []float64, err error) {
	for part := range strings.SplitSeq(s, ",") {
		v, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
		if err != nil || !(v > 0 && v < 50) {
			return nil, fmt.Errorf("-effects %s: must be percentages above 0 and below 50", s)
		}
		effects = append(effects, v/100)
	}
	return effects, nil
}

// run runs the parts of the study, and prints a table for each.
func run(ctx context.Context, o options, out, progress io.Writer) error {
	fmt.Fprintf(out, "%d CPUs, %s; clients: %d, keys: %d; trials of %v after %v, %d a side,\n"+
		"in random order within each round, all of a driver in one process and on one server\n",
		runtime.NumCPU(), runtime.Version(), o.clients, o.keys, o.duration, o.warmup, o.trials)
	began := time.Now()
	rng := rand.New(rand.NewPCG(o.seed, 1))
	if o.alike > 0 {
		var alike []*totals
		for _, driver := range []string{"rueidis", "memory"} {
			t := newTotals(driver, 0, "default", "locks/s<-1%", "acquire.p99>+1%")
			if err := alikeOn(ctx, driver, o, rng, progress, t); err != nil {
				return err
			}
			alike = append(alike, t)
		}
		fmt.Fprintf(out, "\nThe same build on both sides\n")
		writeTotals(out, alike)
	}
	if o.slower > 0 {
		if err := slowDowns(ctx, o, rng, out, progress); err != nil {
			return err
		}
	}
	if o.drifting > 0 {
		if err := drifting(o, rng, out); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "\nIn brackets: 95 %% bounds of Clopper and Pearson. %v in all.\n", time.Since(began).Round(time.Second))
	return nil
}

// alikeOn compares a build with itself.
func alikeOn(ctx context.Context, driver string, o options, rng *rand.Rand, progress io.Writer, t *totals) error {
	m, err := newMachine(ctx, driver, o)
	if err != nil {
		return err
	}
	defer m.close()
	return m.series(ctx, o.alike, []int{0, 0}, rng, progress, func(sides [][]*results.Record) error { return t.add(sides[0], sides[1]) })
}

// slowDowns runs the second part. The heads of all slow-downs share one base, so the rows of the table are not
// independent of each other; within a row every comparison has its own trials.
func slowDowns(ctx context.Context, o options, rng *rand.Rand, out, progress io.Writer) error {
	m, err := newMachine(ctx, "rueidis", o)
	if err != nil {
		return err
	}
	defer m.close()
	spins, why, err := m.calibrate(ctx, o.effects, rng)
	if err != nil {
		return err
	}
	var all []*totals
	for _, effect := range o.effects {
		sets := []string{"default", "locks/s<-1%"}
		if half := fmt.Sprintf("locks/s<-%g%%", 100*effect/2); !slices.Contains(sets, half) {
			sets = append(sets, half)
		}
		all = append(all, newTotals("rueidis", effect, sets...))
	}
	err = m.series(ctx, o.slower, append([]int{0}, spins...), rng, progress, func(sides [][]*results.Record) error {
		for i, t := range all {
			if err := t.add(sides[0], sides[i+1]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\nSlower on one side\n")
	if why != "" {
		fmt.Fprintln(out, why)
	}
	writeTotals(out, all)
	return nil
}
