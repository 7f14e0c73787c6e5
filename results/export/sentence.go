package export

// What a result says, in words: the same ones in every format.

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/figure"
	"github.com/lockbench/lockbench/results/stats"
)

// sentence is a result on one line: "locks/s fell by 8.2 % (41,000 → 37,600, p 0.002): …".
func sentence(r compare.Result) string {
	b, h := r.Change.Base, r.Change.Head
	s := fmt.Sprintf("%s %s → %s", r.Figure.Name, amount(r.Figure, b.Median), amount(r.Figure, h.Median))
	if change := signed(r.Change.Ratio - 1); change != "" {
		s += ", " + change
	}
	if !math.IsNaN(r.P) {
		s += ", p " + strconv.FormatFloat(r.P, 'g', 2, 64)
	}
	if r.Why != "" {
		s += ": " + r.Why
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
		lines = append(lines, fmt.Sprintf("%d trials a side would tell (80 %% power)", r.Needed))
	}
	for _, n := range notes {
		lines = append(lines, plain(n))
	}
	return strings.Join(lines, "\n")
}

// estimate is a median, its interval if it has one, and the number of trials.
func estimate(f figure.Figure, e stats.Estimate) string {
	s := amount(f, e.Median)
	if e.Known() {
		s += fmt.Sprintf(" (%s to %s)", amount(f, e.Low), amount(f, e.High))
	}
	return s + ", " + trials(e.N)
}

func trials(n int) string {
	if n == 1 {
		return "1 trial"
	}
	return fmt.Sprintf("%d trials", n)
}

// signed is a change as a percentage, with one digit and its sign; "" if there is none.
func signed(change float64) string {
	if math.IsNaN(change) || math.IsInf(change, 0) {
		return ""
	}
	return strings.Replace(fmt.Sprintf("%+.1f %%", 100*change), "-", "−", 1)
}

// amount is a figure as people read it.
func amount(f figure.Figure, v float64) string {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return "unknown"
	case f.Unit == figure.Duration:
		return time.Duration(rounded(v)).String()
	case f.Unit == figure.Share:
		return strconv.FormatFloat(rounded(100*v), 'f', -1, 64) + " %"
	case f.Unit == figure.Micros:
		return strconv.FormatFloat(rounded(v), 'f', -1, 64) + " µs"
	}
	return strconv.FormatFloat(rounded(v), 'f', -1, 64)
}

// rounded has four significant digits.
func rounded(v float64) float64 {
	r, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 4, 64), 64)
	if err != nil {
		return v
	}
	return r
}
