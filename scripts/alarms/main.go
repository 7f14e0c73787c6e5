// Command alarms measures the gate as .github/workflows/gate.yml ships it: how often it raises a false alarm, and how often
// it detects a loss of throughput. Each trial is a process with its own private server, as in scripts/gate.sh, and the verdict
// is that of lockbench compare. A loss is planted (see plant) and measured. In a round the base and each head run once,
// in random order; the rounds of the workflow make one comparison of each head with the base.
//
// With -drifting it also makes up trials on a machine that gets faster or slower, and compares them pair by pair and with each
// side as a whole.
//
//	go run ./scripts/alarms -n 15 -drifting 500
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	_ "github.com/lockbench/lockbench/drivers/all"
	"github.com/lockbench/lockbench/scripts/bench"
)

// options are the parameters of the study.
type options struct {
	comparisons int // for each loss
	losses      []float64
	calibrate   int // rounds of the calibration
	drifting    int // comparisons of made-up trials for each drift and loss
	workflow    string
	args        string // more flags of lockbench, to try the study out
	rounds      int    // in place of the workflow's, if not 0
	seed        uint64
}

func main() {
	if err := registerPlant(); err != nil {
		fmt.Fprintln(os.Stderr, "alarms:", err)
		os.Exit(1)
	}
	bench.Main("alarms", ask)
}

func ask(ctx context.Context) (err error) {
	o := options{}
	flag.IntVar(&o.comparisons, "n", 15, "comparisons for each loss; one of all takes about three minutes")
	losses := flag.String("losses", "0,2,5,10,20", "planted losses of locks/s in percent")
	flag.IntVar(&o.calibrate, "calibrate", 15, "rounds of the calibration")
	flag.IntVar(&o.drifting, "drifting", 0, "comparisons of made-up trials for each drift and loss")
	flag.StringVar(&o.workflow, "workflow", ".github/workflows/gate.yml", "the workflow whose gate is measured")
	flag.StringVar(&o.args, "args", "", "flags of lockbench that replace those of the workflow, to try the study out")
	flag.IntVar(&o.rounds, "rounds", 0, "rounds of a comparison; 0: those of the workflow")
	flag.Uint64Var(&o.seed, "seed", 1, "seed for the order of the trials")
	flag.Parse()
	if o.losses, err = parseLosses(*losses); err != nil {
		return err
	}
	return study(ctx, o, os.Stdout, os.Stderr)
}

// parseLosses reads percentages and returns shares.
func parseLosses(s string) (losses []float64, err error) {
	for part := range strings.SplitSeq(s, ",") {
		v, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
		if err != nil || !(v >= 0 && v <= 50) {
			return nil, fmt.Errorf("-losses %s: must be percentages from 0 to 50", s)
		}
		losses = append(losses, v/100)
	}
	return losses, nil
}

// study runs its parts, and prints a table for each.
func study(ctx context.Context, o options, out, progress io.Writer) error {
	began := time.Now()
	rng := rand.New(rand.NewPCG(o.seed, 1))
	if o.comparisons > 0 {
		g, err := readGate(o)
		if err != nil {
			return err
		}
		if err := g.measure(ctx, o, rng, out, progress); err != nil {
			return err
		}
	}
	if o.drifting > 0 {
		if err := drifting(o.drifting, rng, out); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "\nIn brackets: 95 %% bounds, of shares those of Clopper and Pearson. %d CPUs, %s; %v in all.\n",
		runtime.NumCPU(), runtime.Version(), time.Since(began).Round(time.Second))
	return nil
}
