package capacity

// How the rate of a lock changes with the number of its lockers or nodes, where the candidates are enough to tell.

import (
	"reflect"
	"slices"

	"github.com/lockbench/lockbench/results/capacity/queue"
	"github.com/lockbench/lockbench/results/spec"
)

// Scaling is the universal scalability law (see queue.USL) of candidates that differ in one number alone. It takes six of
// them.
type Scaling struct {
	Of     string  `json:"of"`   // lockers or nodes
	Lock   string  `json:"lock"` // driver, design and way of waiting
	Least  int     `json:"least"`
	Most   int     `json:"most"`
	Sigma  float64 `json:"sigma"`          // contention
	Kappa  Range   `json:"kappa"`          // coherency: what each pair of them adds; more of them carry less in the end if Low is above 0
	Peak   float64 `json:"peak,omitempty"` // the number that carries the most; absent if none has been shown
	Double float64 `json:"double"`         // arrivals a second at twice the most
}

// scalable are the numbers in which candidates may differ.
var scalable = []struct {
	of string
	in func(*spec.Plan) *int
}{
	{"lockers", func(p *spec.Plan) *int { return &p.Lockers }},
	{"nodes", func(p *spec.Plan) *int { return &p.Nodes }},
}

// scalings returns a law for each lock of which enough is known. A rate of which only a lower end is known is no point of it.
func (s *Search) scalings() (list []Scaling) {
	for _, number := range scalable {
		type group struct {
			plan          spec.Plan // without the number
			counts, rates []float64
		}
		var groups []group
		for _, t := range s.tracks {
			rate := t.estimate().Mid
			if rate <= 0 || t.limited() || t.verdict == Violated {
				continue
			}
			plan := t.c.Plan
			n := float64(max(1, *number.in(&plan)))
			*number.in(&plan), plan.Seed = 0, 0
			i := slices.IndexFunc(groups, func(g group) bool { return reflect.DeepEqual(g.plan, plan) })
			if i < 0 {
				i = len(groups)
				groups = append(groups, group{plan: plan})
			}
			g := &groups[i]
			g.counts, g.rates = append(g.counts, n), append(g.rates, rate)
		}
		for _, g := range groups {
			if law, err := queue.FitUSL(g.counts, g.rates); err == nil {
				list = append(list, scaling(number.of, &g.plan, law, g.counts))
			}
		}
	}
	return list
}

// scaling says what a law means for a lock.
func scaling(of string, p *spec.Plan, law queue.USL, counts []float64) Scaling {
	least, most := slices.Min(counts), slices.Max(counts)
	s := Scaling{
		Of: of, Lock: p.Driver + " " + p.Lock + " " + p.Wait, Least: int(least), Most: int(most), Sigma: law.Sigma,
		Kappa: Range{Low: max(0, law.KappaLow), Mid: law.Kappa, High: law.KappaHigh},
	}
	if peak, shown := law.Peak(); shown {
		s.Peak = peak
	}
	s.Double, _ = law.At(2 * most)
	return s
}
