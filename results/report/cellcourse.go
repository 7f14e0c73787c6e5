package report

// How a trial went in the course of time: second by second, and step by step.

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/stats"
)

// course draws throughput and latency over time, warm-up first, and says whether the window was steady. Of several trials
// the first is drawn.
func (p *cellPage) course(c *results.Cell) {
	r := c.First()
	var warm, rates []float64
	var measuredOnes []results.Interval
	for _, i := range r.Series {
		rate := perSecond(i.Acquired, i.Length)
		if i.Warmup {
			warm = append(warm, rate)
			continue
		}
		rates, measuredOnes = append(rates, rate), append(measuredOnes, i)
	}
	if len(rates) > 1 {
		course, legend := &Course{Values: slices.Concat(warm, rates), FromZero: true}, "" // one scale: a slow warm-up looks slow
		if len(warm) > 0 {
			course.Steps, legend = []int{len(warm)}, "; the warm-up is left of |"
		}
		each := " locks/s, each " + format.Exact(measuredOnes[0].Length.Round(10*time.Millisecond))
		if len(c.Trials) > 1 {
			each += " of trial 1"
		}
		p.item(Plain, "course", format.Glue(metric.PerSecond.Format(slices.Min(rates))+" to "+metric.PerSecond.Format(slices.Max(rates))+each)+legend)
		p.facts[len(p.facts)-1].Course = course
		name, values := latencyCourse(measuredOnes)
		if known := slices.DeleteFunc(slices.Clone(values), math.IsNaN); len(known) > 0 {
			p.item(Plain, "", format.Glue(name+" "+metric.Duration.Format(slices.Min(known))+" to "+metric.Duration.Format(slices.Max(known))))
			p.facts[len(p.facts)-1].Course = &Course{Values: values, FromZero: true}
		}
	}
	p.steady(c)
}

// latencyCourse returns the latencies of intervals as courseWait chooses them, and what they are; NaN for those without a grant.
func latencyCourse(series []results.Interval) (name string, values []float64) {
	wait := courseWait(series)
	for _, i := range series {
		v := math.NaN()
		if i.Acquired > 0 {
			v = float64(wait.of(i))
		}
		values = append(values, v)
	}
	if wait.p99 {
		return "p99", values
	}
	return "max", values
}

// intervalWait is what is shown of the waits of intervals: the p99, or the longest.
type intervalWait struct{ p99 bool }

// courseWait returns the p99 if all intervals have values enough for it.
func courseWait(series []results.Interval) intervalWait {
	return intervalWait{!slices.ContainsFunc(series, func(i results.Interval) bool { return !results.Enough(i.Acquired, 0.99) })}
}

func (w intervalWait) of(i results.Interval) time.Duration {
	if w.p99 {
		return i.P99
	}
	return i.Max
}

// steady says whether the second half of the window was like the first.
func (p *cellPage) steady(c *results.Cell) {
	tone := Plain
	if c.Drifting > 0 {
		tone = Warn
	}
	text := Steadiness(c)
	if text != "" {
		text += fmt.Sprintf(" (p %s)", format.Probability(c.Steady.P))
	}
	p.item(tone, "steady", text)
}

// Steadiness says whether the second half of the window was like the first, by the median second of each; empty if nobody
// looked.
func Steadiness(c *results.Cell) string {
	s := c.Steady
	if s == (results.Steady{}) {
		return ""
	}
	halves := fmt.Sprintf("typical second %s, then %s", metric.PerSecond.Format(s.FirstRate), metric.PerSecond.Format(s.SecondRate))
	switch {
	case c.Drifting > 0 && len(c.Trials) > 1:
		return fmt.Sprintf("DRIFTS in %d of %d trials: %s", c.Drifting, len(c.Trials), halves)
	case c.Drifting > 0:
		return "DRIFTS: " + halves
	case len(c.Trials) > 1:
		return "steady in all trials"
	case s.FirstRate == 0 && s.SecondRate == 0:
		return "steadiness unclear: nothing was granted in half of the seconds or more"
	case stats.Differ(s):
		return "steadiness unclear: " + halves + ", which may be chance"
	}
	return "steady: " + halves
}

func perSecond(n int64, length time.Duration) float64 {
	return float64(n) / max(length.Seconds(), 1e-9)
}
