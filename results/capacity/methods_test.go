package capacity

// How other tools search for the highest rate, on the same simulated machine: what each would report, against the truth.
// Run it with
//
//	go test ./results/capacity -run TestMethods -v

import (
	"math"
	"slices"
	"testing"
	"time"
)

// budget counts trials down.
type budget struct {
	*machine
	left int
}

// passes reports whether a trial keeps the objective. Without budget it does not run, and fails.
func (b *budget) passes(rate float64) bool {
	if b.left == 0 {
		return false
	}
	b.left--
	o := b.trial(rate)
	return float64(o.Late) <= b.late*float64(o.Arrivals)
}

// majority reports whether two of three trials pass.
func (b *budget) majority(rate float64) bool {
	passed := 0
	for range 3 {
		if b.passes(rate) {
			passed++
		}
	}
	return passed >= 2
}

// confirmed believes a trial that passes, and runs one that fails once more.
func (b *budget) confirmed(rate float64) bool {
	first := b.passes(rate)
	return first || b.passes(rate)
}

// The bounds of all searches, as shares of 1/S: none of them has to find the region first.
const methodsLow, methodsHigh = 0.5, 1.0

// bisect halves the interval for as long as the budget allows for a decision that takes up to the given number of trials.
func (b *budget) bisect(passes func(float64) bool, trials int) float64 {
	low, high := methodsLow/b.service, methodsHigh/b.service
	for b.left >= trials {
		if mid := (low + high) / 2; passes(mid) {
			low = mid
		} else {
			high = mid
		}
	}
	return (low + high) / 2
}

// rungs returns evenly spaced rates.
func (b *budget) rungs() []float64 {
	rates := make([]float64, b.left)
	for i := range rates {
		rates[i] = (methodsLow + (methodsHigh-methodsLow)*(float64(i)+0.5)/float64(len(rates))) / b.service
	}
	return rates
}

// ladderLastPass climbs until a trial fails.
func ladderLastPass(b *budget) float64 {
	last := methodsLow / b.service
	for _, rate := range b.rungs() {
		if !b.passes(rate) {
			break
		}
		last = rate
	}
	return last
}

func bisection(b *budget) float64         { return b.bisect(b.passes, 1) }
func bisectionMajority(b *budget) float64 { return b.bisect(b.majority, 3) }
func bisectionConfirm(b *budget) float64  { return b.bisect(b.confirmed, 2) }

// probabilisticBisection takes each answer for right with a probability of 0.7, and goes on at the median (Waeber, Frazier
// and Henderson 2013).
func probabilisticBisection(b *budget) float64 {
	const right, cells = 0.7, 1000
	belief := slices.Repeat([]float64{1.0 / cells}, cells)
	median := func() int {
		sum := 0.0
		for i, p := range belief {
			if sum += p; sum >= 0.5 {
				return i
			}
		}
		return cells - 1
	}
	rate := func(i int) float64 {
		return (methodsLow + (methodsHigh-methodsLow)*(float64(i)+0.5)/cells) / b.service
	}
	for b.left > 0 {
		at := median()
		above := right
		if !b.passes(rate(at)) {
			above = 1 - right
		}
		sum := 0.0
		for i := range belief {
			if i >= at {
				belief[i] *= above
			} else {
				belief[i] *= 1 - above
			}
			sum += belief[i]
		}
		for i := range belief {
			belief[i] /= sum
		}
	}
	return rate(median())
}

// p99Curve fits ln(p99) as a straight line over ln(1−ρ), and runs the next trial where it crosses the limit. It is even
// told S.
func p99Curve(b *budget) float64 {
	var xs, ys []float64
	add := func(rate float64) {
		b.left--
		var waits []float64
		b.run(rate, func(wait float64) { waits = append(waits, wait) })
		slices.Sort(waits)
		xs = append(xs, math.Log(1-min(0.99, rate*b.service)))
		ys = append(ys, math.Log(waits[int(float64(len(waits))*(1-b.late))]))
	}
	crossing := func() float64 {
		slope, at := line(xs, ys)
		x := (math.Log(b.limit) - at) / slope
		return min(max(1-math.Exp(x), methodsLow), methodsHigh) / b.service
	}
	add(0.55 / b.service)
	add(0.7 / b.service)
	for b.left > 0 {
		add(crossing())
	}
	return crossing()
}

// line returns the straight line of least squares.
func line(xs, ys []float64) (slope, at float64) {
	var mx, my, xx, xy float64
	n := float64(len(xs))
	for i := range xs {
		mx += xs[i] / n
		my += ys[i] / n
	}
	for i := range xs {
		xx += (xs[i] - mx) * (xs[i] - mx)
		xy += (xs[i] - mx) * (ys[i] - my)
	}
	slope = xy / max(xx, 1e-12)
	return slope, my - slope*mx
}

func shareFitLadder(b *budget) float64 {
	f := NewFit(b.objective(), b.shares, FitPrior{Occupies: time.Duration(b.service * 1e9)})
	for _, rate := range b.rungs() {
		f.Add(b.trial(rate))
	}
	return f.Quantile(0.5)
}

func shareFitAdaptive(b *budget) float64 { return b.search(b.left).Quantile(0.5) }

// TestMethods prints how far each method ends from the truth, and holds the order that made the fit the one in use.
func TestMethods(t *testing.T) {
	if testing.Short() {
		t.Skip("hundreds of searches: make test-all")
	}
	const n, trials = 200, 16
	m := newMachine(0.05, 0)
	scores := make(map[string]score)
	for _, method := range []struct {
		name   string
		search func(*budget) float64
	}{
		{"ladder, last pass", ladderLastPass},
		{"bisection", bisection},
		{"bisection, majority of 3", bisectionMajority},
		{"bisection, failures confirmed", bisectionConfirm},
		{"probabilistic bisection", probabilisticBisection},
		{"fit of the p99's curve", p99Curve},
		{"share fit on a ladder", shareFitLadder},
		{"share fit", shareFitAdaptive},
	} {
		s := searches(m, n, func() Range {
			return Range{Mid: method.search(&budget{m, trials})}
		})
		t.Logf("%-30s %v", method.name, s)
		scores[method.name] = s
	}
	best := scores["share fit"]
	for name, s := range scores {
		if name != "share fit" && name != "share fit on a ladder" && s.square < 1.2*best.square {
			t.Errorf("%s is as good as the share fit: rms %v against %v", name, s, best)
		}
	}
}
