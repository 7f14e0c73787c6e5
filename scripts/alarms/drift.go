package main

// Simulated trials on a machine that gets faster or slower: is it better to compare trials that took turns pair by
// pair?

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"text/tabwriter"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/spec"
)

// scatter is the standard deviation of the logarithms of the trials' rates, without the drift.
const scatter = 0.02

// simulated returns a trial that did not really run.
func simulated(id int, rate float64) *results.Record {
	return &results.Record{
		Schema: results.SchemaVersion, ID: fmt.Sprint(id), Run: "alarms", Trial: 1, Started: time.Unix(int64(id), 0), Elapsed: time.Second,
		Plan:    spec.Plan{Driver: "memory", Lock: "mutex", Wait: "backoff", Keys: 1, Server: "in-process", Load: spec.Load{Clients: 1}},
		Server:  results.Server{Kind: "in-process"},
		Env:     results.Env{Lockbench: "alarms", CPUs: 2, GOMAXPROCS: 2},
		Counts:  results.Counts{Acquired: int64(rate)},
		Latency: map[results.Metric]results.Latency{results.Acquire: {Count: int64(rate), P50: 1000, P99: time.Duration(1e12 / rate)}},
		Safety:  results.Safety{Checked: true},
	}
}

// turns returns the trials of a comparison in which the sides take turns as with -vs: pair by pair, in random order
// within a pair. From the first trial to the last the machine gets faster or slower by drift, and the head is also
// slower by slower.
func turns(rng *rand.Rand, trials int, drift, slower float64) (base, head []*results.Record) {
	slope := math.Log1p(drift) / float64(2*trials-1)
	if rng.IntN(2) == 0 {
		slope = -slope
	}
	for n := range 2 * trials {
		rate := 1e6 * math.Exp(slope*float64(n)+scatter*rng.NormFloat64())
		isHead := len(head) < len(base) || len(head) == len(base) && rng.IntN(2) == 0
		if isHead {
			rate *= 1 - slower
		}
		r := simulated(n, rate)
		r.Side, r.Trial = results.SideBase, n/2+1
		if isHead {
			r.Side = results.SideHead
			head = append(head, r)
		} else {
			base = append(base, r)
		}
	}
	return base, head
}

// drifting compares simulated trials pair by pair and with each side as a whole, and prints how often the results are
// significant and regressed.
func drifting(o options, rng *rand.Rand, out io.Writer) error {
	const on = "locks/s<-1%"
	thresholds, err := compare.ParseThresholds(on)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\nMade up, on a machine that drifts\n%d trials a side by turns, which scatter by %s; %s\n\n", o.trials, percent(scatter), on)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "  drift\tslower by\tcompared\tp < %g\t\tregressed\n", compare.DefaultAlpha)
	for _, drift := range []float64{0, 0.1, 0.3} {
		for _, slower := range append([]float64{0}, o.effects...) {
			var significant, regressed [2]int
			for range o.drifting {
				base, head := turns(rng, o.trials, drift, slower)
				for way := range 2 {
					c, err := judge(base, head, compare.Options{Thresholds: thresholds})
					if err != nil {
						return err
					}
					if c.Cells[0].Figures[0].P < compare.DefaultAlpha {
						significant[way]++
					}
					if c.Verdict == compare.Regressed {
						regressed[way]++
					}
					for _, side := range [][]*results.Record{base, head} {
						for _, r := range side {
							r.Side = "" // so that the second comparison takes them as records of different runs
						}
					}
				}
			}
			for way, name := range []string{"in pairs", "as a whole"} {
				fmt.Fprintf(w, "  %s\t%s\t%s\t%s\t%s\n", percent(drift), percent(slower), name,
					rate(significant[way], o.drifting), rate(regressed[way], o.drifting))
			}
		}
	}
	return w.Flush()
}

// rate returns a share and its bounds, as two columns.
func rate(k, n int) string {
	low, high := bounds(k, n)
	return fmt.Sprintf("%s\t[%s – %s]", percent(float64(k)/float64(n)), percent(low), percent(high))
}
