package main

// The verdicts of the comparisons, and their statistics.

import (
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"

	"golang.org/x/perf/benchmath"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/stats"
)

// totals counts the verdicts of comparisons whose heads are slower by the same effect.
type totals struct {
	driver   string
	effect   float64 // the intended one; 0: none
	sets     []string
	verdicts []map[compare.Verdict]int // by set of thresholds

	n          int
	ratios     []float64 // of the medians of locks/s, one per comparison
	scatters   []float64 // coefficients of variation of locks/s within a side
	needed     []float64 // trials per side to detect 5 %
	agree, all int       // figures for which stock benchmath has the same medians and the same p
}

func newTotals(driver string, effect float64, sets ...string) *totals {
	t := &totals{driver: driver, effect: effect, sets: sets}
	for range sets {
		t.verdicts = append(t.verdicts, map[compare.Verdict]int{})
	}
	return t
}

// add judges one comparison by each set of thresholds.
func (t *totals) add(base, head []*results.Record) error {
	t.n++
	for i, set := range t.sets {
		var o compare.Options
		if set != "default" {
			var err error
			if o.Thresholds, err = compare.ParseThresholds(set); err != nil {
				return err
			}
		}
		c, err := judge(base, head, o)
		if err != nil {
			return err
		}
		t.verdicts[i][c.Verdict]++
		if i == 0 {
			t.check(c.Cells[0])
		}
	}
	locks, _ := metric.Named("locks/s")
	b, h := locks.Values(base), locks.Values(head)
	t.ratios = append(t.ratios, stats.Of(h).Median/stats.Of(b).Median)
	t.scatters = append(t.scatters, variation(b), variation(h))
	if n := stats.TrialsNeeded(b, h, 0.05, compare.DefaultAlpha, compare.Power); n > 0 {
		t.needed = append(t.needed, float64(n))
	}
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

// check compares the figures with those that benchstat computes from the same values.
func (t *totals) check(c compare.Cell) {
	sample := func(recs []*results.Record, f *metric.Metric) *benchmath.Sample {
		values := slices.DeleteFunc(f.Values(recs), math.IsNaN)
		return benchmath.NewSample(values, &benchmath.DefaultThresholds)
	}
	same := func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Abs(b) }
	for _, r := range c.Figures {
		b, h := sample(c.Base, r.Figure), sample(c.Head, r.Figure)
		if len(b.Values) == 0 || len(h.Values) == 0 || slices.Max(b.Values) == 0 {
			continue
		}
		t.all++
		if same(r.Change.P, benchmath.AssumeNothing.Compare(b, h).P) &&
			same(r.Change.Base.Median, benchmath.AssumeNothing.Summary(b, stats.Confidence).Center) &&
			same(r.Change.Head.Median, benchmath.AssumeNothing.Summary(h, stats.Confidence).Center) {
			t.agree++
		}
	}
}

// variation returns the coefficient of variation.
func variation(values []float64) float64 {
	sum, squares := 0.0, 0.0
	for _, v := range values {
		sum += v
	}
	mean := sum / float64(len(values))
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	return math.Sqrt(squares/float64(len(values)-1)) / mean
}

// writeTotals prints a block for each of all, with a row for each set of thresholds.
func writeTotals(out io.Writer, all []*totals) {
	agree, figures := 0, 0
	for _, t := range all {
		agree, figures = agree+t.agree, figures+t.all
		fmt.Fprintf(out, "\n%s, %s: locks/s changed by %s, CV of trials %s", t.driver, t.asked(),
			change(stats.Of(t.ratios)), percent(stats.Of(t.scatters).Median))
		if len(t.needed) > 0 {
			fmt.Fprintf(out, ";\nto detect 5 %% of locks/s with a power of 80 %% takes %.0f trials a side (median of %d comparisons)",
				stats.Of(t.needed).Median, len(t.needed))
		}
		if t.off() {
			fmt.Fprint(out, ".\nThis is not the slow-down intended: the table is about the one that was measured")
		}
		fmt.Fprintln(out)
		w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "  threshold\tregressed\t\tno change\tinconclusive\timproved")
		for i, set := range t.sets {
			if set == "default" {
				set = compare.DefaultThresholds
			}
			v := t.verdicts[i]
			low, high := bounds(v[compare.Regressed], t.n)
			fmt.Fprintf(w, "  %s\t%d/%d = %s\t[%s – %s]\t%d\t%d\t%d\n", set, v[compare.Regressed], t.n,
				percent(float64(v[compare.Regressed])/float64(t.n)), percent(low), percent(high),
				v[compare.Unchanged], v[compare.Inconclusive], v[compare.Improved])
		}
		w.Flush()
	}
	fmt.Fprintf(out, "\nMedians and p are those of golang.org/x/perf/benchmath, which benchstat prints, for %d of %d figures.\n", agree, figures)
}

// asked describes the intended effect.
func (t *totals) asked() string {
	if t.effect == 0 {
		return "nothing added"
	}
	return fmt.Sprintf("meant to be slower by %g %%", 100*t.effect)
}

// off reports whether the slow-down is less than two thirds or more than one and a half times the intended one.
func (t *totals) off() bool {
	got := 1 - stats.Of(t.ratios).Median
	return t.effect > 0 && !(got > t.effect/1.5 && got < t.effect*1.5)
}

// change returns the median of ratios as a change, with its interval if it is known.
func change(e stats.Estimate) string {
	text := fmt.Sprintf("%+.2f %%", 100*(e.Median-1))
	if e.Known() {
		text += fmt.Sprintf(" [%+.2f, %+.2f]", 100*(e.Low-1), 100*(e.High-1))
	}
	return text
}

func percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }

// bounds returns the Clopper–Pearson interval (1934) of a share of which k of n were seen: with the lower bound, k or
// more are seen with a probability of 2.5 %, and with the upper bound k or fewer.
func bounds(k, n int) (low, high float64) {
	tail := (1 - stats.Confidence) / 2
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
		low = search(func(p float64) bool { return 1-atMost(k-1, n, p) < tail })
	}
	if k < n {
		high = search(func(p float64) bool { return atMost(k, n, p) > tail })
	}
	return low, high
}

// atMost returns the probability of k successes or fewer in n trials.
func atMost(k, n int, p float64) float64 {
	sum := 0.0
	for i := 0; i <= k; i++ {
		ln, _ := math.Lgamma(float64(n + 1))
		a, _ := math.Lgamma(float64(i + 1))
		b, _ := math.Lgamma(float64(n - i + 1))
		sum += math.Exp(ln - a - b + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
	}
	return min(sum, 1)
}
