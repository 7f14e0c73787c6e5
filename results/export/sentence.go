package export

// What a result says, in words: the same ones in every format.

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/stats"
)

// sentence is a result on one line: "locks/s 41,000 → 37,600, −8.3 %, p 0.002: …".
func sentence(r compare.Result) string {
	b, h := r.Change.Base, r.Change.Head
	s := fmt.Sprintf("%s %s → %s", r.Figure.Name, r.Figure.Unit.Format(b.Median), r.Figure.Unit.Format(h.Median))
	if change := signed(r.Change.Ratio - 1); change != "" {
		s += ", " + change
	}
	if !math.IsNaN(r.P) {
		s += ", p " + strconv.FormatFloat(r.P, 'g', 2, 64)
	}
	if r.Why != "" {
		s += ": " + r.Why
	}
	if r.Needed > 0 {
		s += "; " + needed(r)
	}
	return plain(s)
}

// details are the lines that stand below a result.
func details(r compare.Result, notes []string) string {
	lines := []string{
		"base    " + estimate(r.Figure, r.Change.Base),
		"head    " + estimate(r.Figure, r.Change.Head),
	}
	if change := signed(r.Change.Ratio - 1); change != "" {
		if low, high := signed(r.Change.Low-1), signed(r.Change.High-1); low != "" && high != "" {
			change += fmt.Sprintf(" (%s to %s)", low, high)
		}
		lines = append(lines, "change  "+change)
	}
	if !math.IsNaN(r.P) {
		lines = append(lines, "p       "+strconv.FormatFloat(r.P, 'g', 3, 64))
	}
	lines = append(lines, "verdict "+string(r.Verdict))
	if r.Why != "" {
		lines = append(lines, plain(r.Why))
	}
	if r.Needed > 0 {
		lines = append(lines, needed(r))
	}
	for _, n := range notes {
		lines = append(lines, plain(n))
	}
	return strings.Join(lines, "\n")
}

// estimate is a median, its interval if it has one, and the number of trials.
func estimate(f *metric.Metric, e stats.Estimate) string {
	s := f.Unit.Format(e.Median)
	if e.Known() {
		s += fmt.Sprintf(" (%s to %s)", f.Unit.Format(e.Low), f.Unit.Format(e.High))
	}
	return s + ", " + format.Plural(e.N, "trial")
}

// needed is how many trials would tell.
func needed(r compare.Result) string {
	text := fmt.Sprintf("about %s a side would tell", format.Plural(r.Needed, "trial"))
	if r.Guessed() {
		text += fmt.Sprintf(", if not many more: fewer than %d show little of the scatter", stats.MinTrials)
	}
	return text
}

// signed is a change as a percentage, with one digit and its sign; "" if there is none.
func signed(change float64) string {
	if math.IsNaN(change) || math.IsInf(change, 0) {
		return ""
	}
	return strings.Replace(fmt.Sprintf("%+.1f %%", 100*change), "-", "−", 1)
}
