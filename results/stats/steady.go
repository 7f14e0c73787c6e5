package stats

// Whether a trial was steady.

import (
	"math"
	"slices"

	"golang.org/x/perf/benchmath"

	"github.com/lockbench/lockbench/results"
)

const (
	// minHalf is how many intervals a half has at the least: with 4 and 4 the most unlike halves have p = 0.03, with
	// fewer nothing could ever be told at 5 %.
	minHalf = 4

	// driftAlpha and driftEffect must both be passed before a trial is called unsteady. One second depends on the one
	// before it, so p is too small by itself; and over some minutes a difference of 1 % is as significant as it is
	// without interest.
	driftAlpha  = 0.05
	driftEffect = 0.05 // share of the first half's rate
)

// Steady compares the rates of the two halves of a measured window, interval by interval, by the test of Mann and
// Whitney (1947), which is exact for as few as these and assumes no distribution. The middle one of an odd number is in
// neither half. The answer is zero if a half would have fewer than four.
func Steady(series []results.Interval) results.Steady {
	rates := perSecond(series)
	n := len(rates) / 2
	if n < minHalf {
		return results.Steady{}
	}
	first, second := rates[:n:n], slices.Clone(rates[len(rates)-n:])
	a := benchmath.NewSample(slices.Clone(first), &benchmath.DefaultThresholds)
	b := benchmath.NewSample(second, &benchmath.DefaultThresholds)
	s := results.Steady{
		FirstRate:  benchmath.AssumeNothing.Summary(a, Confidence).Center,
		SecondRate: benchmath.AssumeNothing.Summary(b, Confidence).Center,
		P:          min(1, benchmath.AssumeNothing.Compare(a, b).P),
	}
	s.Drifts = s.P < driftAlpha && Differ(s)
	return s
}

// Differ reports whether the halves of s differ by so much that it would matter, 5 % or more, be it by chance or not.
func Differ(s results.Steady) bool {
	return math.Abs(s.SecondRate-s.FirstRate) >= driftEffect*s.FirstRate && s.FirstRate != s.SecondRate
}

// perSecond returns the rates of the intervals in the measured window. Those that were cut short to half or less, at the
// end of a run that was stopped or had its number of operations, say little and are left out.
func perSecond(series []results.Interval) (rates []float64) {
	longest := int64(0)
	for _, i := range series {
		longest = max(longest, int64(i.Length))
	}
	for _, i := range series {
		if !i.Warmup && 2*int64(i.Length) > longest {
			rates = append(rates, float64(i.Acquired)/i.Length.Seconds())
		}
	}
	return rates
}
