package main

// Made-up trials on a machine that gets faster or slower: is it better to compare trials that took turns pair by
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

// drifting compares made-up trials pair by pair and with each side as a whole, and prints how often they are regressed.
func drifting(n int, rng *rand.Rand, out io.Writer) error {
	const trials, on = 10, "locks/s<-1%"
	thresholds, err := compare.ParseThresholds(on)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\nMade up, on a machine that drifts during the comparison: %d trials a side by turns, which scatter by %s;\n-fail-on '%s', regressed of %d\n\n",
		trials, percent(scatter), on, n)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "drift\tplanted\tin pairs (-vs)\t\tas a whole (two files)\t")
	for _, drift := range []float64{0, 0.1, 0.3} {
		for _, loss := range []float64{0, 0.05} {
			var regressed [2]int
			for range n {
				base, head := turns(rng, trials, drift, loss)
				for way := range regressed {
					c, err := judge(base, head, compare.Options{Thresholds: thresholds})
					if err != nil {
						return err
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
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", percent(drift), change(1-loss), rate(regressed[0], n), rate(regressed[1], n))
		}
	}
	return w.Flush()
}
