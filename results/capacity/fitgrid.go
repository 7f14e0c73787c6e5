package capacity

import (
	"cmp"
	"math"
	"slices"
)

// The grid. With a step of S the share of late arrivals moves by half at T = 20 S, which is less than a trial tells.
var (
	gridStep   = 0.02 // of ln S
	gridBelow  = math.Log(3)
	gridAbove  = math.Log(12)
	gridNoise  = []float64{0.01, 0.03, 0.06, 0.11, 0.2}
	gridPacked = []float64{1, 3, 10, 30} // late arrivals in a cluster, by shape.cluster

	// A flat prior for the noise makes the intervals of simulated searches a fifth wider, and no truer.
	priorC2     = []float64{1, 1, 1, 0.6, 0.3, 0.1}
	priorNoise  = []float64{1, 1, 0.8, 0.5, 0.12}
	priorPacked = []float64{0.4, 1, 0.4, 0.15}
	priorSpread = 0.7 // standard deviation of ln S about the guess
)

// censored returns the share above which only "above" counts, given the allowed one: an overloaded queue grows for as
// long as the trial runs, so that the shape, which is a steady state's, says nothing of it. It is well above what is
// allowed: for a median a stable queue has more than half of its arrivals late.
func censored(allowed float64) float64 { return max(0.15, min(2*allowed, 0.8)) }

// grid is the parameter space of a Fit. A cell is a place (c², noise, S) and a size of clusters; cells are in the order
// [cluster][c²][noise][S], places in [c²][noise][S].
type grid struct {
	shape   shape
	service []float64 // S in seconds, with margin more places at either end for the noise
	margin  int
	kernels [][]float64 // of each noise
	prior   []float64   // log, of each cell
	rate    []float64   // sustainable rate of each place
	byRate  []int32     // places in the order of rate
	over    float64     // see censored
}

func newGrid(s shape, guess, allowed float64) *grid {
	g := &grid{shape: s, over: censored(allowed)}
	for _, sd := range gridNoise {
		g.kernels = append(g.kernels, newKernel(sd/gridStep))
	}
	g.margin = len(g.kernels[len(g.kernels)-1]) / 2
	n := int((gridBelow+gridAbove)/gridStep) + 1
	for i := range n + 2*g.margin {
		g.service = append(g.service, guess*math.Exp(float64(i-g.margin)*gridStep-gridBelow))
	}
	for _, packed := range priorPacked {
		for _, c2 := range priorC2 {
			for _, noise := range priorNoise {
				for i := range n {
					z := (float64(i)*gridStep - gridBelow) / priorSpread
					g.prior = append(g.prior, math.Log(packed*c2*noise)-z*z/2)
				}
			}
		}
	}
	for _, c2 := range g.shape.scatter() {
		g.rate = append(g.rate, g.sustainable(c2, allowed)...)
	}
	g.byRate = orderOf(g.rate)
	return g
}

// newKernel returns the weights of a normal distribution at places of S, with a standard deviation in places.
func newKernel(sd float64) (weights []float64) {
	half, sum := int(math.Ceil(3.5*sd)), 0.0
	for i := -half; i <= half; i++ {
		z := float64(i) / sd
		weights = append(weights, math.Exp(-z*z/2))
		sum += math.Exp(-z * z / 2)
	}
	for i := range weights {
		weights[i] /= sum
	}
	return weights
}

// places returns the number of values of S without the margins.
func (g *grid) places() int { return len(g.service) - 2*g.margin }

// noisy puts the mean of over, which is given for all of g.service, over the machine's noise into out.
func (g *grid) noisy(out, over, kernel []float64) {
	for i := range out {
		sum := 0.0
		for j, w := range kernel {
			sum += over[g.margin-len(kernel)/2+i+j] * w
		}
		out[i] = sum
	}
}

// sustainable returns the rate at which the share of late arrivals is the allowed one, for each noise and S. It goes down
// in steps of the rate, and interpolates the log of the share between two of them.
func (g *grid) sustainable(c2, allowed float64) []float64 {
	const widest, step = 1 << 60, 1.03 // times that the first rate may be off; from one rate to the next
	n := g.places()
	exact, mean := make([]float64, len(g.service)), make([]float64, n)
	rates, above := make([]float64, n*len(g.kernels)), make([]float64, n*len(g.kernels))
	first := 1 / g.service[0]
	rate := first
	for g.shape.late(rate, g.service[0], c2) <= allowed && rate < widest*first {
		rate *= 2
	}
	for open := len(rates); open > 0; rate /= step {
		for i, service := range g.service {
			exact[i] = g.shape.late(rate, service, c2)
		}
		for k := range g.kernels {
			g.noisy(mean, exact, g.kernels[k])
			for i, share := range mean {
				at, off := k*n+i, math.Log(share/allowed+impossible)
				if rates[at] == 0 && (off <= 0 || rate*widest < first) {
					rates[at] = rate * math.Pow(step, off/min(off-above[at], -1e-9))
					open--
				}
				above[at] = off
			}
		}
	}
	return rates
}

// bisect returns the highest value from low to high for which a condition holds that holds up to some value, with a
// relative precision.
func bisect(low, high, precision float64, holds func(float64) bool) float64 {
	for high-low > precision*high {
		if mid := (low + high) / 2; holds(mid) {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}

// likelihood returns the log of the likelihood of a trial, for each cell.
func (g *grid) likelihood(o Observation) []float32 {
	out := make([]float32, 0, len(g.prior))
	exact, mean := make([]float64, len(g.service)), make([]float64, g.places())
	for _, packed := range gridPacked {
		for _, c2 := range g.shape.scatter() {
			last, was := math.NaN(), 0.0 // most of the grid says the same: all are late there, or all are in time
			for i, service := range g.service {
				if late := g.shape.late(o.Level, service, c2); late != last {
					c := newChance(o, packed*g.shape.cluster(o.Level, service), g.over)
					last, was = late, c.of(late)
				}
				exact[i] = was
			}
			for j := range g.kernels {
				g.noisy(mean, exact, g.kernels[j])
				for _, p := range mean {
					out = append(out, float32(math.Log(p+impossible)))
				}
			}
		}
	}
	return out
}

// normalise returns the posterior of the places, given the log of that of the cells.
func (g *grid) normalise(cells []float64) []float64 {
	most := slices.Max(cells)
	places := make([]float64, len(g.rate))
	sum := 0.0
	for i, l := range cells {
		if l > most-25 {
			p := math.Exp(l - most)
			places[i%len(places)] += p
			sum += p
		}
	}
	for i := range places {
		places[i] /= sum
	}
	return places
}

// quantile returns the quantile of values with weights that add up to 1, given their order. It is interpolated between
// the middles of their weights.
func quantile(weights, values []float64, order []int32, q float64) float64 {
	sum, last, lastAt := 0.0, values[order[0]], 0.0
	for _, i := range order {
		w := weights[i]
		if w == 0 {
			continue
		}
		at := sum + w/2
		if at >= q {
			if at == lastAt {
				return values[i]
			}
			return last + (values[i]-last)*(q-lastAt)/(at-lastAt)
		}
		sum, last, lastAt = sum+w, values[i], at
	}
	return last
}

// median returns the median and the 95 % interval of values with weights that add up to 1, given their order.
func median(weights, values []float64, order []int32) Range {
	of := func(q float64) float64 { return quantile(weights, values, order, q) }
	return Range{of(0.025), of(0.5), of(0.975)}
}

// orderOf returns the places of values in their order.
func orderOf(values []float64) []int32 {
	order := make([]int32, len(values))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Or(cmp.Compare(values[a], values[b]), cmp.Compare(a, b)) })
	return order
}

// noise returns the mean of the noise.
func (g *grid) noise(places []float64) (sum float64) {
	for i, p := range places {
		sum += p * gridNoise[i/g.places()%len(gridNoise)]
	}
	return sum
}
