package stats

// Steps in a history: where it changed, not just whether.

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

const (
	// leastSegment is how many values lie between two steps at the least. A single value that is out of line, or two, are
	// no change that has come to stay.
	leastSegment = 3

	// leastWindow is the shortest stretch that is looked at for itself, a run of leastSegment values between others.
	leastWindow = 3 * leastSegment

	// stepWork bounds the search: so many values are looked at, all permutations taken together, which takes a few seconds.
	// What is left out then are steps inside of the shortest segments.
	stepWork = 50_000_000
)

// Step is a change point of a series.
type Step struct {
	At int     // values[At] is the first after the change
	P  float64 // of the permutation test of the segment in which the step was found
}

// Steps finds the change points of a series by CUSUM with a permutation test (Taylor, Change-Point Analysis, 2000): the
// series is cut where the means of both parts, weighted by their lengths, differ the most, if they differ more than in all but
// a share alpha of the permutations of the series; and so on in the parts. The steps are in ascending order. NaN and infinite
// values are left out, but keep their place. If all values are positive it compares their logarithms, for a figure that
// doubles has changed as much as one that halves.
//
// Segments are tested one by one, and each is allowed its share by length of alpha: the chance of any false step stays at
// alpha whatever the number of true ones. With alpha at 5 %, a step in the middle of 30 values is seen nine times in ten if it is
// twice the scatter, and of 100 values if it is once.
//
// Permutations take values that are independent of one another: on a machine whose speed wanders, the wanderings are steps as
// well. The answer depends on values, seed and alpha alone. The search is bounded (see stepWork).
func Steps(values []float64, seed uint64, alpha float64) []Step {
	return search(values, seed, alpha, stepWork)
}

// search is Steps with that bound on its work.
func search(values []float64, seed uint64, alpha float64, work int) (steps []Step) {
	var at []int
	var levels []float64
	for i, v := range values {
		if finite(v) {
			at, levels = append(at, i), append(levels, v)
		}
	}
	if len(levels) > 0 && slices.Min(levels) > 0 {
		levels = each(levels, math.Log)
	}
	rng := rand.New(rand.NewPCG(seed, uint64(len(values))))
	type segment struct{ from, to int } // without a known step
	todo := []segment{{0, len(levels)}}
	for len(todo) > 0 {
		longest := 0
		for i, g := range todo {
			if g.to-g.from > todo[longest].to-todo[longest].from {
				longest = i
			}
		}
		g := todo[longest]
		todo = slices.Delete(todo, longest, longest+1)
		share := alpha * float64(g.to-g.from) / float64(len(levels))
		if cut, p := permute(slices.Clone(levels[g.from:g.to]), share, rng, &work); p <= share {
			cut += g.from
			steps = append(steps, Step{at[cut], p})
			todo = append(todo, segment{g.from, cut}, segment{cut, g.to})
		}
	}
	slices.SortFunc(steps, func(a, b Step) int { return cmp.Compare(a.At, b.At) })
	return steps
}

// permute finds the best cut of values, which it shuffles, and how likely it is that there is none. It gives up with 1 as
// soon as p cannot get to alpha any more.
//
// The test is exact with however few permutations, but p must be able to get well below alpha, or steps are missed: 20 times that
// far where it is cheap, 5 times where it is not.
func permute(values []float64, alpha float64, rng *rand.Rand, work *int) (at int, p float64) {
	const cheap = 400_000 // values to be looked at
	n := len(values)
	at, distance := bestCut(values)
	if distance == 0 {
		return 0, 1
	}
	rounds := int(math.Ceil(min(20, max(5, cheap*alpha/float64(n)))/alpha)) - 1
	larger := 0
	for range rounds {
		if *work -= n; *work < 0 {
			return 0, 1
		}
		rng.Shuffle(n, func(i, j int) { values[i], values[j] = values[j], values[i] })
		if _, d := bestCut(values); d*(1+1e-9) >= distance { // sums of another order end otherwise
			larger++
		}
		if float64(1+larger) > alpha*float64(1+rounds) {
			return 0, 1
		}
	}
	return at, float64(1+larger) / float64(1+rounds)
}

// bestCut returns the first value after the best cut of any window and how far its parts are from each other:
// nm/(n+m) × (mean of n before it − mean of m behind)². It is 0 if they are alike everywhere.
//
// The windows are the whole, and again and again stretches that are half as long and overlap by half, down to leastWindow
// (Kovács, Bühlmann, Li and Munk, Seeded binary segmentation, 2023). A rise with a fall soon after is hardly seen in a whole
// that is mostly what it was before: it takes a window with just one of them.
func bestCut(values []float64) (at int, distance float64) {
	sums := make([]float64, len(values)+1)
	for i, v := range values {
		sums[i+1] = sums[i] + v
	}
	n := float64(len(values))
	for count, length := 1, n; count == 1 || length >= leastWindow; count, length = 2*count+1, length/2 {
		for i := range count {
			from := int(float64(i) * (n - length) / float64(max(1, count-1)))
			to := min(len(values), from+int(math.Ceil(length)))
			for cut := from + leastSegment; cut <= to-leastSegment; cut++ {
				x, y := float64(cut-from), float64(to-cut)
				apart := (sums[cut]-sums[from])/x - (sums[to]-sums[cut])/y
				if d := apart * apart * x * y / (x + y); d > distance*(1+1e-9) {
					at, distance = cut, d
				}
			}
		}
	}
	return at, distance
}

// Slow change over a history.

// Trend is what a series does in the long run.
type Trend struct {
	// Slope is the median of the slopes between all pairs of values (Theil, 1950; Sen, 1968), by which the series changes
	// from one value to the next, as a share of the median: 0.001 is 0.1 % a revision. It is NaN for fewer than three
	// values or a median that is not positive.
	Slope float64

	// Growth is the factor by which the series changes from one value to the next: the same median for the logarithms of the
	// values, or 1 + Slope if one of them is not positive. It is NaN where Slope is.
	Growth float64

	// P is the two-sided p of the test of Mann (1945) and Kendall (1975) that the order of the values means nothing. It
	// is 1 where there is nothing to tell.
	P float64
}

// Drift looks for a slow change in one direction. Values that are NaN or infinite are left out, but keep their place. P is
// by the normal approximation with the corrections for ties and continuity (Gilbert, Statistical Methods for Environmental
// Pollution Monitoring, 1987, section 16.4), and takes values that are independent. A step is a trend, too: look for steps first.
func Drift(values []float64) Trend {
	var at, ys []float64
	for i, v := range values {
		if finite(v) {
			at, ys = append(at, float64(i)), append(ys, v)
		}
	}
	t := Trend{Slope: math.NaN(), Growth: math.NaN(), P: 1}
	if len(ys) < 3 {
		return t
	}
	t.P = mannKendall(ys)
	if m := median(ys); m > 0 {
		t.Slope = theilSen(at, ys) / m
		t.Growth = max(0, 1+t.Slope)
		if positive([]float64{slices.Min(ys)}) {
			t.Growth = math.Exp(theilSen(at, each(ys, math.Log)))
		}
	}
	return t
}

func each(values []float64, f func(float64) float64) []float64 {
	all := make([]float64, len(values))
	for i, v := range values {
		all[i] = f(v)
	}
	return all
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// median returns the median of at least one value.
func median(values []float64) float64 {
	values = slices.Sorted(slices.Values(values))
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

// theilSen returns the median of the slopes of all pairs of points, whose x are ascending. A slope is at most v if the point on
// the right is not above the line of slope v through the one on the left.
func theilSen(xs, ys []float64) float64 {
	below, scratch := make([]float64, len(xs)), make([]float64, 0, len(xs))
	upTo := func(v float64) int {
		for i := range xs {
			below[i] = ys[i] - v*xs[i]
		}
		return falls(below, scratch)
	}
	pairs := len(xs) * (len(xs) - 1) / 2
	steepest := slices.Max(ys) - slices.Min(ys)
	low := smallest((pairs+1)/2, -steepest, steepest, upTo)
	if pairs%2 == 1 { // which is the median itself
		return low
	}
	return (low + smallest(pairs/2+1, -steepest, steepest, upTo)) / 2
}

// mannKendall returns the two-sided p of S, the number of pairs that rise less the number that fall.
func mannKendall(values []float64) float64 {
	scratch := make([]float64, 0, len(values))
	up, down := slices.Clone(values), slices.Clone(values)
	for i := range up {
		up[i] = -up[i]
	}
	s := float64(falls(up, scratch) - falls(down, scratch)) // pairs that are equal are in both
	n := float64(len(values))
	variance := n * (n - 1) * (2*n + 5)
	for i := 0; i < len(down); {
		j := i
		for j < len(down) && down[j] == down[i] {
			j++
		}
		t := float64(j - i)
		variance -= t * (t - 1) * (2*t + 5)
		i = j
	}
	if s == 0 {
		return 1
	}
	return math.Erfc((math.Abs(s) - 1) / math.Sqrt(variance/18) / math.Sqrt2)
}
