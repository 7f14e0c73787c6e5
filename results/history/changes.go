package history

// Steps and drifts: where a line changed, and what else did so then.

import (
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/lockbench/lockbench/results/stats"
)

// judge looks for steps and drifts in all lines. Each gets its share of Alpha (Bonferroni: Holm's method, which package compare
// uses, wants tests that are all made to the end, and a search for steps gives up where there is none). Lines that are too short
// are not looked at, and cost the others nothing.
func (h *History) judge() {
	var lines []*Line
	var of []*Series
	for _, s := range h.Series {
		for i := range s.Lines {
			if l := &s.Lines[i]; l.points() >= MinPoints(1) {
				lines, of = append(lines, l), append(of, s)
			}
		}
	}
	h.Lines = len(lines)
	least := MinPoints(h.Lines)
	for _, s := range h.Series {
		for i := range s.Lines {
			s.Lines[i].Missing = max(0, least-s.Lines[i].points())
		}
	}
	// A search takes a second where there are many lines, long ones, and steps in them. They do not depend on each other.
	var searches sync.WaitGroup
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i, l := range lines {
		free <- struct{}{}
		searches.Go(func() {
			defer func() { <-free }()
			l.findSteps(Alpha/float64(len(lines)), of[i].Points)
			l.findDrift(len(lines))
		})
	}
	searches.Wait()
}

// MinPoints returns how many points a line needs among so many before it can show a step: with fewer even two halves that do
// not overlap are too likely to come about by chance. It is 8 for a single line, and 13 for 40.
func MinPoints(lines int) int {
	n := 2
	for stats.MinP(n/2, n-n/2) > Alpha/float64(max(lines, 1)) {
		n++
	}
	return n
}

// points returns how many of them know the figure.
func (l *Line) points() (n int) {
	for _, v := range l.Values {
		if v.N > 0 {
			n++
		}
	}
	return n
}

func (l *Line) medians() []float64 {
	medians := make([]float64, len(l.Values))
	for i, v := range l.Values {
		medians[i] = v.Median
	}
	return medians
}

// seed of the permutations: the same history always has the same steps.
const seed = 1

// findSteps finds the changes of level. A line that a straight slope describes better than the levels do has none: where
// something creeps, a search for steps makes a staircase of it.
func (l *Line) findSteps(alpha float64, points []Point) {
	values := l.medians()
	found := stats.Steps(values, seed, alpha)
	if len(found) == 0 || creeps(values, found) {
		return
	}
	from := 0
	for i, f := range found {
		to := len(values)
		if i+1 < len(found) {
			to = found[i+1].At
		}
		s := Step{At: f.At, Last: f.At - 1, P: min(1, f.P*Alpha/alpha),
			Before: stats.Of(values[from:f.At]).Median, After: stats.Of(values[f.At:to]).Median}
		for s.Last > 0 && math.IsNaN(values[s.Last]) {
			s.Last--
		}
		s.Ratio = s.After / s.Before
		if s.Before == 0 {
			s.Ratio = math.NaN()
		}
		s.Also = points[s.Last].conditions.changes(points[s.At].conditions)
		l.Steps = append(l.Steps, s)
		from = f.At
	}
}

// creeps reports whether the values lie closer to a straight line than to their levels, which of a growth that does not change
// is one of the logarithms. The line has fewer parameters, so it would have to be worse if there were levels.
func creeps(values []float64, steps []stats.Step) bool {
	trend := stats.Drift(values)
	slope := trend.Slope * stats.Of(values).Median
	if !slices.ContainsFunc(values, func(v float64) bool { return v <= 0 }) {
		values = slices.Clone(values)
		for i, v := range values {
			values[i] = math.Log(v)
		}
		slope = math.Log(trend.Growth)
	}
	if math.IsNaN(slope) {
		return false
	}
	apart := func(values []float64) (sum float64) { // from their median
		middle := stats.Of(values).Median
		for _, v := range values {
			if !math.IsNaN(v) {
				sum += math.Abs(v - middle)
			}
		}
		return sum
	}
	fromLevels, at := 0.0, 0
	for _, s := range append(slices.Clip(steps), stats.Step{At: len(values)}) {
		fromLevels += apart(values[at:s.At])
		at = s.At
	}
	rest := make([]float64, len(values))
	for i, v := range values {
		rest[i] = v - slope*float64(i)
	}
	return apart(rest) < fromLevels
}

// findDrift looks for a slow change since the last step: a step is a trend too, so what came before it does not count.
func (l *Line) findDrift(lines int) {
	values := l.medians()
	if s := l.LastStep(); s != nil {
		values = values[s.At:]
	}
	known := len(slices.DeleteFunc(slices.Clone(values), math.IsNaN))
	if known < MinPoints(1) {
		return
	}
	l.Drift = stats.Drift(values)
	l.P = min(1, l.Drift.P*float64(lines))
	l.Drifts = l.P < Alpha && !math.IsNaN(l.Drift.Slope) && l.Drift.Slope != 0
}
