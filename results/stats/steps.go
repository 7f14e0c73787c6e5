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

	// stepWork bounds the search: so many values are looked at, all permutations taken together, which takes some
	// seconds. A history of 1,000 values stays far below it whatever is in it, and one of 10,000 has it for some fifty
	// steps. What is left out then are steps inside of the shortest segments.
	stepWork = 60_000_000
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
// Three things differ from the article. Both parts reach to the ends of their segment, as the search for another end
// would cost the square of its length. Segments are tested one by one, and each is allowed its share by length of the 5 %:
// the chance of any false step stays at 5 % whatever the number of true ones, and one noisy stretch does not hide the
// steps of a calm one. And the distance is that of logarithms if all values are positive, for a figure that doubles has
// changed as much as one that halves.
//
// Permutations take values that are independent of one another. Where neighbours are alike, as on a machine whose speed
// wanders for longer than it takes from one value to the next, its wanderings are steps, too. The answer depends on
// nothing but values and seed. Each permutation of n values costs n log n; a segment that has no step is given up after a
// few, and the whole search is bounded (see stepWork).
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
		if c, ok := s.test(g); ok {
			s.cuts = append(s.cuts, c)
			todo = append(todo, segment{g.from, c.at}, segment{c.at, g.to})
		}
	}
}

// test looks for one step in a segment. It gives up as soon as so many permutations have a larger distance that p cannot
// get to alpha any more.
func (s *search) test(g segment) (cut, bool) {
	n := g.to - g.from
	if n < 2*leastSegment {
		return cut{}, false
	}
	levels := slices.Clone(s.levels[g.from:g.to])
	alpha := s.alpha * float64(n) / float64(len(s.values))
	rounds := permutations(n, alpha)
	e := newEnergy(levels)
	at, distance := e.split()
	larger := 0
	for range rounds {
		if s.work -= n; s.work < 0 {
			return cut{}, false
		}
		e.shuffle(s.rng)
		if _, d := e.split(); d >= distance*(1-1e-9) { // sums of another order end otherwise
			larger++
		}
		if float64(1+larger) > alpha*float64(1+rounds) {
			return cut{}, false
		}
	}
	return cut{g.from + at, float64(1+larger) / float64(1+rounds)}, true
}

// permutations is how many are made of a segment of n values: enough for p to be well below alpha, and more where they
// are cheap.
func permutations(n int, alpha float64) int {
	least := 5.0
	if n <= 1000 {
		least = 20
	}
	return int(math.Ceil(least/alpha)) - 1
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
