package stats

// The energy distance of the two parts of a series, for all places at which it can be cut.

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

const (
	// leastWindow is the shortest stretch that is looked at for itself, a run of leastSegment values between others.
	leastWindow = 3 * leastSegment

	// points is how many a window has at the most. Longer ones are taken together by their means, since the cost is the
	// square of the number.
	points = 128
)

// window is a stretch of a series that is cut by itself.
type window struct{ from, to int }

// windows covers n values by stretches of all lengths: the whole, and again and again such that are half as long and
// overlap by half, down to leastWindow (Kovács, Bühlmann, Li and Munk, Seeded binary segmentation, 2023). A rise with a
// fall soon after is hardly seen in a whole that is mostly what it was before: it takes a window with just one of them.
func windows(n int) (all []window) {
	for count, length := 1, float64(n); count == 1 || length >= leastWindow; count, length = 2*count+1, length/2 {
		for i := range count {
			from := 0.0
			if count > 1 {
				from = float64(i) * (float64(n) - length) / float64(count-1)
			}
			all = append(all, window{int(from), int(math.Ceil(from + length))})
		}
	}
	return all
}

// energy finds the cut of a series at which its parts differ the most.
type energy struct {
	values  []float64
	windows []window

	// Of one window: its points, and of each the sum of the distances to those before it and to those behind.
	points         [points]float64
	before, behind [points]float64
}

func newEnergy(values []float64) *energy {
	return &energy{values: values, windows: windows(len(values))}
}

// shuffle puts the values in another order.
func (e *energy) shuffle(rng *rand.Rand) {
	rng.Shuffle(len(e.values), func(i, j int) { e.values[i], e.values[j] = e.values[j], e.values[i] })
}

// largest returns the largest weighted distance that a cut of any window has.
func (e *energy) largest() (distance float64) {
	for _, w := range e.windows {
		_, d := e.split(w)
		distance = max(distance, d)
	}
	return distance
}

// place is a cut and how far the parts are from each other.
type place struct {
	at       int
	distance float64
	in       window
}

// cuts returns the best cuts of windows that do not touch, the one with the largest distance first.
func (e *energy) cuts() (chosen []place) {
	all := make([]place, 0, len(e.windows))
	for _, w := range e.windows {
		if at, d := e.split(w); d > 0 {
			all = append(all, place{at, d, w})
		}
	}
	slices.SortStableFunc(all, func(a, b place) int { return cmp.Compare(b.distance, a.distance) })
	taken := make([]bool, len(e.values))
	for _, p := range all {
		if slices.Contains(taken[p.in.from:p.in.to], true) {
			continue
		}
		for i := p.in.from; i < p.in.to; i++ {
			taken[i] = true
		}
		p.at = e.closer(p)
		chosen = append(chosen, p)
	}
	return chosen
}

// closer looks for a cut again in ever smaller windows around it. It is first known but roughly where a point is the mean
// of many values.
func (e *energy) closer(p place) (at int) {
	at = p.at
	for w := p.in; w.to-w.from > points; {
		reach := max(points/2, (w.to-w.from)/8)
		w = window{max(w.from, at-reach), min(w.to, at+reach)}
		if i, d := e.split(w); d > 0 {
			at = i
		}
	}
	return at
}

// split returns the first value after the best cut of a window and how large the weighted distance is there:
// nm/(n+m) × (2 E|X−Y| − E|X−X′| − E|Y−Y′|), where n points X are before the cut and m points Y behind (Matteson and James,
// equations 5 to 7 with α = 1). Points that are means scatter less by the root of their size, and are fewer by their
// size: the root makes their distance what it would be of all values.
func (e *energy) split(w window) (at int, distance float64) {
	n, per := e.load(w)
	all, inLeft := 0.0, 0.0
	for i := range n {
		all += e.before[i]
	}
	inRight := all
	for i := range n - 1 {
		inLeft += e.before[i]
		inRight -= e.behind[i]
		x, y := float64(i+1), float64(n-i-1)
		if (i+1)*per < leastSegment || (n-i-1)*per < leastSegment || x < 2 || y < 2 {
			continue
		}
		between := all - inLeft - inRight
		d := 2*between/(x*y) - 2*inLeft/(x*(x-1)) - 2*inRight/(y*(y-1))
		if d *= x * y / (x + y); d > distance {
			at, distance = i+1, d
		}
	}
	return w.from + at*per, distance * math.Sqrt(float64(per))
}

// load sets the points of a window, each the mean of as many values, and sums up their distances. A few values at the end
// that do not make a point are in the last one.
func (e *energy) load(w window) (n, per int) {
	values := e.values[w.from:w.to]
	per = (len(values) + points - 1) / points
	n = len(values) / per
	for i := range n {
		from, to := i*per, (i+1)*per
		if i == n-1 {
			to = len(values)
		}
		sum := 0.0
		for _, v := range values[from:to] {
			sum += v
		}
		e.points[i] = sum / float64(to-from)
		e.before[i], e.behind[i] = 0, 0
	}
	for i := range n {
		x, before := e.points[i], 0.0
		for j, y := range e.points[:i] {
			d := math.Abs(x - y)
			before += d
			e.behind[j] += d
		}
		e.before[i] = before
	}
	return n, per
}
