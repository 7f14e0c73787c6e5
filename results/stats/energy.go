package stats

// The energy distance of two parts of a series, for all places at which it can be cut.

import (
	"math/rand/v2"
	"slices"
)

// energy finds the cut of a series at which its parts differ the most. The distance between a value and all of a part is
// taken from two sums over the ranks, so that it costs log n to move the cut on by one value, not n.
type energy struct {
	sorted []float64 // the values in order, those that are equal once
	ranks  []int     // of the series' values, as they stand now
	left   sums      // of the part before the cut
	total  float64   // sum of the distances of all pairs
	apart  []float64 // by rank: sum of the distances to all values
}

func newEnergy(values []float64) *energy {
	e := &energy{sorted: slices.Compact(slices.Sorted(slices.Values(values)))}
	e.ranks = make([]int, len(values))
	e.left = newSums(len(e.sorted))
	for i, v := range values {
		e.ranks[i], _ = slices.BinarySearch(e.sorted, v)
		e.left.add(e.ranks[i], v)
	}
	e.apart = make([]float64, len(e.sorted))
	for rank, v := range e.sorted {
		e.apart[rank] = e.left.distance(rank, v)
	}
	for _, rank := range e.ranks {
		e.total += e.apart[rank] / 2
	}
	return e
}

// shuffle puts the values in another order.
func (e *energy) shuffle(rng *rand.Rand) {
	rng.Shuffle(len(e.ranks), func(i, j int) { e.ranks[i], e.ranks[j] = e.ranks[j], e.ranks[i] })
}

// split returns the cut with the largest weighted distance nm/(n+m) × (2 E|X−Y| − E|X−X′| − E|Y−Y′|), where n values X are
// before it and m values Y behind (Matteson and James, equations 5 to 7 with α = 1).
func (e *energy) split() (at int, distance float64) {
	e.left.clear()
	at = leastSegment
	inLeft, inRight, between := 0.0, e.total, 0.0
	for i, rank := range e.ranks[:len(e.ranks)-leastSegment] {
		v := e.sorted[rank]
		toLeft := e.left.distance(rank, v)
		toRight := e.apart[rank] - toLeft
		e.left.add(rank, v)
		inLeft += toLeft
		inRight -= toRight
		between += toRight - toLeft
		if i+1 < leastSegment {
			continue
		}
		n, m := float64(i+1), float64(len(e.ranks)-i-1)
		d := n * m / (n + m) * (2*between/(n*m) - inLeft/(n*(n-1)/2) - inRight/(m*(m-1)/2))
		if d > distance {
			at, distance = i+1, d
		}
	}
	return at, distance
}

// sums holds values by rank, and the number and the sum of those up to any rank (Fenwick, A New Data Structure for
// Cumulative Frequency Tables, 1994).
type sums struct {
	nodes []node
	all   node
}

type node struct{ count, sum float64 }

func newSums(ranks int) sums { return sums{nodes: make([]node, ranks+1)} }

func (s *sums) clear() {
	clear(s.nodes)
	s.all = node{}
}

func (s *sums) add(rank int, value float64) {
	for i := rank + 1; i < len(s.nodes); i += i & -i {
		s.nodes[i].count++
		s.nodes[i].sum += value
	}
	s.all.count++
	s.all.sum += value
}

// distance is the sum of |value − v| over all v that were added.
func (s *sums) distance(rank int, value float64) float64 {
	var below node
	for i := rank + 1; i > 0; i -= i & -i {
		below.count += s.nodes[i].count
		below.sum += s.nodes[i].sum
	}
	return value*(2*below.count-s.all.count) - 2*below.sum + s.all.sum
}
