// Package stats says how far a figure can be trusted: the interval in which the median over trials lies, whether a
// distribution has enough values for a quantile, and whether a trial was steady. And it says what became of a figure
// from base to head, with how many trials it takes to see it.
//
// A trial is one observation. The latencies inside of it depend on one another (a queue that is long stays long for a
// while), so there is no error here for a figure of a single trial: what varies is seen from trial to trial or not at
// all.
package stats

import (
	"math"
	"slices"

	"golang.org/x/perf/benchmath"

	"github.com/lockbench/lockbench/results"
)

// Confidence is the confidence level of all intervals.
const Confidence = 0.95

// MinTrials is the least number of trials for which there is an interval of that confidence: the median lies outside
// the range of n values with probability 2 × 0.5ⁿ, which is below 5 % from 6 on.
const MinTrials = 6

// Estimate is a figure over several trials. Low and High are the interval of its median by order statistics, which
// assumes nothing about how the figure is distributed (benchmath.AssumeNothing; Hahn and Meeker, Statistical
// Intervals, 1991, section 5.2). They are NaN for fewer than MinTrials.
type Estimate struct {
	N         int // trials that know the figure
	Median    float64
	Low, High float64
	Min, Max  float64
}

// Known reports whether there is an interval.
func (e Estimate) Known() bool { return e.N >= MinTrials }

// Of estimates from the values of trials; NaN values are left out. Without any, all of it is NaN.
func Of(values []float64) Estimate {
	values = known(values)
	e := Estimate{N: len(values), Median: math.NaN(), Low: math.NaN(), High: math.NaN(), Min: math.NaN(), Max: math.NaN()}
	if e.N == 0 {
		return e
	}
	s := benchmath.AssumeNothing.Summary(benchmath.NewSample(values, &benchmath.DefaultThresholds), Confidence)
	e.Median, e.Min, e.Max = s.Center, slices.Min(values), slices.Max(values)
	if e.Known() {
		e.Low, e.High = s.Lo, s.Hi
	}
	return e
}

// Trials estimates a figure of records, which is NaN in those that do not know it.
func Trials(recs []*results.Record, figure func(*results.Record) float64) Estimate {
	values := make([]float64, len(recs))
	for i, r := range recs {
		values[i] = figure(r)
	}
	return Of(values)
}

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
	c := Compare(rates[:n], rates[len(rates)-n:])
	s := results.Steady{FirstRate: c.Base.Median, SecondRate: c.Head.Median, P: c.P}
	by := math.Abs(s.SecondRate - s.FirstRate)
	s.Drifts = s.P < driftAlpha && by > 0 && by >= driftEffect*s.FirstRate
	return s
}

// perSecond returns the rates of the intervals in the measured window. Those that were cut short to half or less, at
// the end of a run that was stopped or had its number of operations, say little and are left out.
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
