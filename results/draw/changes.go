package draw

// The scale of changes: ratios around no change, logarithmic, so that half and double are equally far from it.

import (
	"math"

	"github.com/lockbench/lockbench/results/report"
)

// farthest is how far a scale of changes goes at the most, if the limits do not lie beyond that: to half and to double.
// One row that takes ten times as long would make all others look unchanged.
const farthest = 2.0

// changeScale spans the changes, their intervals and the limits, with no change always among them.
func changeScale(rows []report.Interval) scale {
	least, most, room := 0.0, 0.0, math.Log(farthest)
	take := func(ratio float64) {
		if l := math.Log(ratio); !math.IsNaN(l) && !math.IsInf(l, 0) {
			least, most = math.Min(least, l), math.Max(most, l)
		}
	}
	for _, r := range rows {
		take(r.Mid)
		take(r.Low)
		take(r.High)
		if r.Limit > 0 {
			take(r.Limit)
			room = math.Max(room, 1.5*math.Abs(math.Log(r.Limit)))
		}
	}
	least, most = math.Max(least, -room), math.Min(most, room)
	if most-least < 0.02 {
		least, most = least-0.01, most+0.01
	}
	pad := 0.06 * (most - least)
	s := scale{from: math.Exp(least - pad), to: math.Exp(most + pad), log: true}
	s.ticks = changeTicks(s)
	return s
}

// changeTicks go outward from no change, in round percentages and as many as there is room for on a telephone.
func changeTicks(s scale) []tick {
	const apart = 0.16 // of the width
	zero := s.at(1)
	var below, above []tick
	for _, step := range []float64{0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 25, 50, 100} {
		if s.at(1+step/100)-zero < apart && s.at(1+2*step/100) < 0.97 || zero-s.at(1-step/100) < apart && s.at(1-2*step/100) > 0.03 {
			continue // there would be more of them than there is room for
		}
		last := zero
		for v := step; 1+v/100 < s.to && len(above) < 20; v += step {
			if at := s.at(1 + v/100); at-last >= apart && at < 0.97 {
				above, last = append(above, tick{at: at, label: changeLabel(v)}), at
			}
		}
		last = zero
		for v := step; v < 100 && 1-v/100 > s.from; v += step {
			if at := s.at(1 - v/100); last-at >= apart && at > 0.03 {
				below, last = append([]tick{{at: at, label: changeLabel(-v)}}, below...), at
			}
		}
		break
	}
	return append(append(below, tick{at: zero, label: "0"}), above...)
}

func changeLabel(percent float64) string {
	sign := "+"
	if percent < 0 {
		sign = "−"
	}
	return sign + trim(math.Abs(percent)) + " %"
}
