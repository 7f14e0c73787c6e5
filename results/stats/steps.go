package stats

// Steps in a history: where it changed, not just whether.

import (
	"math"
	"math/rand/v2"
	"slices"
)

const (
	// stepAlpha is the chance that a history in which nothing happens is said to have a step.
	stepAlpha = 0.05

	// leastSegment is how many values lie between two steps at the least. A single value that is out of line, or two, are
	// no change that has come to stay.
	leastSegment = 3

	// stepWork bounds the search: so many values are looked at, all permutations taken together, which takes about five
	// seconds. It is enough for a history of 1,000 values whatever is in it, and for some fifty steps in one of 10,000.
	// What is left out then are steps inside of the shortest segments.
	stepWork = 20_000_000
)

// Step is a change point of a series.
type Step struct {
	At    int     // values[At] is the first after the change
	Ratio float64 // median from here to the next step over the median since the one before; NaN if that is not positive
	P     float64 // of the permutation test of the segment in which the step was found
}

// Steps finds the change points of a series by E-divisive (Matteson and James, A Nonparametric Approach for Multiple
// Change Point Analysis of Multivariate Data, 2014): the series is cut where the energy distance of both parts, weighted
// by their lengths, is the largest, if it is larger than in all but 5 % of the permutations of the series; and so on in
// the parts. They are in ascending order. NaN and infinite values are left out, but keep their place.
//
// Three things differ from the article. It looks for the other end of the part behind a cut everywhere, which costs the
// square of the length; here it is one of the ends of windows (see windows). Segments are tested one by one, and each is
// allowed its share by length of the 5 %: the chance of any false step stays at 5 % whatever the number of true ones, and
// one noisy stretch does not hide the steps of a calm one. And the distance is that of logarithms if all values are
// positive, for a figure that doubles has changed as much as one that halves.
//
// To be seen nine times in ten, a step in the middle of 30 values has to be twice the scatter, of 100 values once; five
// values after it, it has to be two and a half times as large. Of those that are as large as the scatter, two in five are off
// by more than two places. Steps that follow each other by less than ten values are seen in part.
//
// Permutations take values that are independent of one another. Where neighbours are alike, as on a machine whose speed
// wanders for longer than it takes from one value to the next, its wanderings are steps, too: with an autocorrelation of
// 0.3 one is seen in 24 % of the histories of 30 values and in 40 % of those of 100, with 0.6 in 65 and 94 %. That it is
// smaller than anybody cares for is then the only thing that tells such a step: ask for a least ratio.
//
// The answer depends on nothing but values and seed. Each permutation of n values costs n log n at the most; a segment
// that has no step is given up after a few, and the whole search is bounded (see stepWork).
func Steps(values []float64, seed uint64) []Step { return StepsAt(values, seed, stepAlpha) }

// StepsAt is Steps with another chance than 5 % of a false step, as for one of many series that are looked at together.
// The smaller it is the more permutations it takes.
func StepsAt(values []float64, seed uint64, alpha float64) []Step {
	s := search{alpha: alpha, rng: rand.New(rand.NewPCG(seed, uint64(len(values)))), work: stepWork}
	for i, v := range values {
		if finite(v) {
			s.at, s.values = append(s.at, i), append(s.values, v)
		}
	}
	s.levels = slices.Clone(s.values)
	if s.values != nil && slices.Min(s.values) > 0 {
		for i, v := range s.levels {
			s.levels[i] = math.Log(v)
		}
	}
	s.run()
	return s.found()
}

// search is the work of Steps.
type search struct {
	alpha  float64
	rng    *rand.Rand
	at     []int     // the places of the values in the series
	values []float64 // as given
	levels []float64 // what distances are of
	work   int       // how many values may still be looked at
	cuts   []cut
}

// cut is a step before values[at].
type cut struct {
	at int
	p  float64
}

// segment is a part of the values without a known step.
type segment struct{ from, to int }

// run looks for steps in the longest segment first.
func (s *search) run() {
	todo := []segment{{0, len(s.values)}}
	for len(todo) > 0 {
		longest := 0
		for i, g := range todo {
			if g.to-g.from > todo[longest].to-todo[longest].from {
				longest = i
			}
		}
		g := todo[longest]
		todo = slices.Delete(todo, longest, longest+1)
		cuts := s.test(g)
		if len(cuts) == 0 {
			continue
		}
		s.cuts = append(s.cuts, cuts...)
		from := g.from
		for _, c := range cuts {
			todo = append(todo, segment{from, c.at})
			from = c.at
		}
		todo = append(todo, segment{from, g.to})
	}
}

// test looks for steps in a segment and returns them in order. It gives up as soon as so many permutations have a larger
// distance that p cannot get to alpha any more. A segment with many steps has most of them found at once, which spares as
// many tests: what holds for the window with the largest distance holds for others that it does not touch.
func (s *search) test(g segment) (cuts []cut) {
	n := g.to - g.from
	if n < 2*leastSegment {
		return nil
	}
	alpha := s.alpha * float64(n) / float64(len(s.values))
	rounds := permutations(n, alpha)
	e := newEnergy(slices.Clone(s.levels[g.from:g.to]))
	found := e.cuts()
	if len(found) == 0 {
		return nil
	}
	var chance []float64 // the largest distances of permutations
	larger := 0
	for range rounds {
		if s.work -= n; s.work < 0 {
			return nil
		}
		e.shuffle(s.rng)
		d := e.largest() * (1 + 1e-9) // sums of another order end otherwise
		if chance = append(chance, d); d >= found[0].distance {
			larger++
		}
		if float64(1+larger) > alpha*float64(1+rounds) {
			return nil
		}
	}
	slices.Sort(chance)
	for _, f := range found {
		below, _ := slices.BinarySearch(chance, f.distance)
		if p := float64(1+rounds-below) / float64(1+rounds); p <= alpha {
			cuts = append(cuts, cut{g.from + f.at, p})
		}
	}
	slices.SortFunc(cuts, func(a, b cut) int { return a.at - b.at })
	return cuts
}

// permutations is how many are made of a segment of n values. The test is exact with however few, but p must be able to
// get well below alpha, or steps that are there are missed: 20 times that far where it is cheap, 5 times where it is not.
func permutations(n int, alpha float64) int {
	const cheap = 400_000 // values to be looked at
	return int(math.Ceil(min(20, max(5, cheap*alpha/float64(n)))/alpha)) - 1
}

// found puts the steps in order and tells how large they are.
func (s *search) found() []Step {
	slices.SortFunc(s.cuts, func(a, b cut) int { return a.at - b.at })
	var steps []Step
	for i, c := range s.cuts {
		from, to := 0, len(s.values)
		if i > 0 {
			from = s.cuts[i-1].at
		}
		if i+1 < len(s.cuts) {
			to = s.cuts[i+1].at
		}
		step := Step{At: s.at[c.at], Ratio: math.NaN(), P: c.p}
		if before := median(s.values[from:c.at]); before > 0 {
			step.Ratio = median(s.values[c.at:to]) / before
		}
		steps = append(steps, step)
	}
	return steps
}
