package text

// The parts of a comparison for formats that lay it out themselves, such as the HTML page: the same words and figures as
// on the terminal, without its lines.

import (
	"math"
	"strconv"
	"strings"

	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/stats"
)

// Alike returns what all trials of both sides were asked for alike, and the kind of server and the machine if those are alike;
// empty if there is nothing.
func Alike(c *compare.Comparison) string {
	return strings.ReplaceAll(newComparison(c, false).measured(), format.Unbroken, " ")
}

// Tested returns what the p of a comparison is, and what alpha promises; empty if nothing was tested.
func Tested(c *compare.Comparison) string {
	if c.Tests == 0 {
		return ""
	}
	return newComparison(c, true).tested()
}

// ChangeInterval returns the 95 % interval of a change: "−13.1 to −11.9 %", or a dash where there is none.
func ChangeInterval(c stats.Change) string {
	if math.IsNaN(c.Low) || math.IsNaN(c.High) {
		return format.None
	}
	return strings.TrimSuffix(format.Change(c.Low-1), " %") + " to " + format.Change(c.High-1)
}

// Spread returns a median, with how far its 95 % interval reaches where it has one that says something: "80,000 ± 1 %".
func Spread(f *metric.Metric, e stats.Estimate) string {
	text := f.Unit.Format(e.Median)
	if e.Known() && e.Median > 0 && f.Unit != metric.Count {
		text += " ± " + plusMinus(e)
	}
	return text
}

// plusMinus returns how far the interval of a median reaches, as a share of it.
func plusMinus(e stats.Estimate) string {
	return strconv.FormatFloat(math.Round(100*max(e.High/e.Median-1, 1-e.Low/e.Median)), 'f', 0, 64) + " %"
}

// P returns the p by which a result was judged, in brackets that of one which was not, or a dash.
func P(r *compare.Result) string {
	switch {
	case r.Change.Base.N == 0 || r.Change.Head.N == 0:
		return format.None
	case !math.IsNaN(r.P):
		return format.P(r.P)
	case r.Threshold == nil:
		return "(" + format.P(r.Change.P) + ")"
	}
	return format.None
}

// Verdict returns that of a result in words; what is worse within its threshold is not called unchanged. It is empty for one
// that no threshold judges.
func Verdict(r *compare.Result) string {
	if r.Within() {
		return "within limit"
	}
	return string(r.Verdict)
}
