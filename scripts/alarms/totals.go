package main

// The verdicts of the comparisons, and their statistics.

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"text/tabwriter"
	"time"

	moremath "github.com/aclements/go-moremath/stats"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/results/stats"
)

// totals counts the verdicts of comparisons whose heads have lost the same.
type totals struct {
	loss     float64 // that is planted
	verdicts map[compare.Verdict]int
	n        int
	ratios   []float64 // of the locks/s of head and base, one per round
	scatters []float64 // coefficients of variation of the base's locks/s, one per comparison
}

// add judges one comparison.
func (t *totals) add(base, head []*results.Record, o compare.Options) error {
	c, err := judge(base, head, o)
	if err != nil {
		return err
	}
	t.n++
	t.verdicts[c.Verdict]++
	t.ratios = append(t.ratios, ratios(base, head)...)
	t.scatters = append(t.scatters, variation(base))
	return nil
}

// judge compares two sides as lockbench compare does.
func judge(base, head []*results.Record, o compare.Options) (*compare.Comparison, error) {
	var in [2]compare.Input
	for i, recs := range [][]*results.Record{base, head} {
		c := results.Collector{Outline: true}
		for _, r := range recs {
			if err := c.Add(r); err != nil {
				return nil, err
			}
		}
		in[i] = compare.Input{Name: []string{"base", "head"}[i], Cells: c.Cells()}
	}
	return compare.Compare(in[0], in[1], o)
}

// ratios returns the head's locks/s as a share of the base's, round by round.
func ratios(base, head []*results.Record) (all []float64) {
	for i := range base {
		all = append(all, head[i].Throughput()/base[i].Throughput())
	}
	return all
}

// variation returns the coefficient of variation of locks/s.
func variation(trials []*results.Record) float64 {
	var rates moremath.Sample
	for _, r := range trials {
		rates.Xs = append(rates.Xs, r.Throughput())
	}
	return rates.StdDev() / rates.Mean()
}

// writeTotals prints a row for each of all.
func writeTotals(out io.Writer, all []*totals) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "planted\tmeasured\t\tregressed\t\t\tinconclusive\tnot worse\timproved")
	for _, t := range all {
		v := t.verdicts
		measured := stats.Of(t.ratios)
		bounds := ""
		if measured.Known() {
			bounds = fmt.Sprintf("[%s – %s]", change(measured.Low), change(measured.High))
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d/%d\t%s\t%d\t%d\t%d\n", change(1-t.loss), change(measured.Median), bounds,
			v[compare.Regressed], t.n, rate(v[compare.Regressed], t.n), v[compare.Inconclusive], v[compare.Unchanged]+v[compare.NotWorse], v[compare.Improved])
	}
	w.Flush()
	if len(all) > 0 {
		fmt.Fprintf(out, "\nThe trials of a base scatter by %s (median coefficient of variation of locks/s).\n", percent(stats.Of(all[0].scatters).Median))
	}
}

// change formats a ratio as a change.
func change(ratio float64) string {
	if text := fmt.Sprintf("%+.1f %%", 100*(ratio-1)); text != "+0.0 %" && text != "-0.0 %" {
		return text
	}
	return "0 %"
}

func percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }

// rate returns a share and its bounds, as two columns.
func rate(k, n int) string {
	low, high := bounds(k, n)
	return fmt.Sprintf("%s\t[%s – %s]", percent(float64(k)/float64(n)), percent(low), percent(high))
}

// bounds returns the Clopper–Pearson interval (1934) of a share of which k of n were seen: with the lower bound, k or
// more are seen with a probability of 2.5 %, and with the upper bound k or fewer.
func bounds(k, n int) (low, high float64) {
	tail := (1 - stats.Confidence) / 2
	atMost := func(k int, p float64) float64 { return moremath.BinomialDist{N: n, P: p}.CDF(float64(k)) }
	search := func(up func(p float64) bool) float64 {
		low, high := 0.0, 1.0
		for range 60 {
			if middle := (low + high) / 2; up(middle) {
				low = middle
			} else {
				high = middle
			}
		}
		return (low + high) / 2
	}
	low, high = 0, 1
	if k > 0 {
		low = search(func(p float64) bool { return 1-atMost(k-1, p) < tail })
	}
	if k < n {
		high = search(func(p float64) bool { return atMost(k, p) > tail })
	}
	return low, high
}

// Made-up trials on a machine that gets faster or slower: is it better to compare trials that took turns pair by pair?

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

// turns returns the trials of a comparison in which the sides take turns as with -vs: pair by pair, in random order within a
// pair. From the first trial to the last the machine gets faster or slower by drift, and the head is also slower by slower.
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
