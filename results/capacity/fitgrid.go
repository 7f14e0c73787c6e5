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
	kernels []kernel  // of each noise
	prior   []float64 // log, of each cell
	rate    []float64 // sustainable rate of each place
	byRate  []int32   // places in the order of rate
	over    float64   // see censored
}

func newGrid(s shape, guess, allowed float64) *grid {
	g := &grid{shape: s, over: censored(allowed)}
	for _, sd := range gridNoise {
		g.kernels = append(g.kernels, newKernel(sd/gridStep))
	}
	g.margin = g.kernels[len(g.kernels)-1].half()
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
	g.rate = make([]float64, 0, len(priorC2)*len(gridNoise)*n)
	for _, c2 := range g.shape.scatter() {
		for _, noise := range gridNoise {
			g.rate = append(g.rate, g.sustainable(c2, noise, allowed)...)
		}
	}
	g.byRate = orderOf(g.rate)
	return g
}

// kernel is a normal distribution at places of S: weights of those a stride apart, with the middle one in the middle.
type kernel struct {
	weights []float64
	stride  int
}

// half returns how far the kernel reaches.
func (k *kernel) half() int { return len(k.weights) / 2 * k.stride }

// newKernel returns the kernel with a standard deviation in places. If that is small, it has three weights with the
// same variance; if it is large, a fifth of it is close enough.
func newKernel(sd float64) kernel {
	if sd < 1 {
		return kernel{[]float64{sd * sd / 2, 1 - sd*sd, sd * sd / 2}, 1}
	}
	k := kernel{stride: max(1, int(sd/5))}
	half := int(math.Ceil(3.5 * sd / float64(k.stride)))
	sum := 0.0
	for i := -half; i <= half; i++ {
		z := float64(i*k.stride) / sd
		k.weights = append(k.weights, math.Exp(-z*z/2))
		sum += math.Exp(-z * z / 2)
	}
	for i := range k.weights {
		k.weights[i] /= sum
	}
	return k
}

// places returns the number of values of S without the margins.
func (g *grid) places() int { return len(g.service) - 2*g.margin }

// noisy puts the mean of over, which is given for all of g.service, over the machine's noise into out.
func (g *grid) noisy(out, over []float64, k *kernel) {
	for i := range out {
		sum, at := 0.0, g.margin+i-k.half()
		for _, w := range k.weights {
			sum += over[at] * w
			at += k.stride
		}
		out[i] = sum
	}
}

// sustainable returns the rate at which the share of late arrivals is the allowed one, for each S. It is solved at
// every few of them, and ln(rate·S), which is smooth, is interpolated by parabolas.
func (g *grid) sustainable(c2, noise, allowed float64) []float64 {
	const stride = 6
	var knots []float64
	n := g.places()
	next, slope := 0.0, 0.0
	for at := 0; at < n+2*stride; at += stride {
		service := g.service[g.margin] * math.Exp(float64(at)*gridStep)
		log := g.solve(service, c2, noise, math.Log(allowed), next)
		if at > 0 {
			slope = log - knots[len(knots)-1]
		}
		next = log + slope
		knots = append(knots, log)
	}
	out := make([]float64, n)
	for i := range out {
		k, part := i/stride, float64(i%stride)/stride
		here, after := knots[k+1]-knots[k], knots[k+2]-knots[k+1]
		out[i] = math.Exp(knots[k]+part*here+part*(part-1)/2*(after-here)) / g.service[g.margin+i]
	}
	return out
}

// solve returns ln(rate·service) at which the mean share over the noise is the allowed one, given the logarithm of
// that, by bisection about a guess.
func (g *grid) solve(service, c2, noise, allowed, guess float64) float64 {
	slower := make([]float64, len(noiseNodes))
	for i, z := range noiseNodes {
		slower[i] = service * math.Exp(noise*z)
	}
	off := func(log float64) float64 { // of the log of the share, from the allowed one
		sum, rate := 0.0, math.Exp(log)/service
		for i, slow := range slower {
			sum += noiseWeights[i] * g.shape.late(rate, slow, c2)
		}
		return math.Log(sum+1e-300) - allowed
	}
	const (
		first     = 0.005 // of a bracket
		widest    = 50    // no rate is that far from a guess: e^50 times
		precision = 1e-4
	)
	low, high := guess-first, guess+first
	for step := 2 * first; off(low) > 0 && step < widest; step *= 2 {
		low, high = low-step, low
	}
	for step := 2 * first; off(high) < 0 && step < widest; step *= 2 {
		low, high = high, high+step
	}
	load := bisect(math.Exp(low), math.Exp(high), precision, func(load float64) bool { return off(math.Log(load)) < 0 })
	return math.Log(load)
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

// noiseNodes and noiseWeights integrate over a normal distribution. They are evenly spaced: the share has a corner
// where the queue is overloaded, for which Gauss and Hermite's have too few beyond two deviations.
var noiseNodes, noiseWeights = func() (nodes, weights []float64) {
	const half, reach = 10, 3.5
	sum := 0.0
	for i := -half; i <= half; i++ {
		z := reach * float64(i) / half
		nodes, weights = append(nodes, z), append(weights, math.Exp(-z*z/2))
		sum += math.Exp(-z * z / 2)
	}
	for i := range weights {
		weights[i] /= sum
	}
	return nodes, weights
}()

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
				g.noisy(mean, exact, &g.kernels[j])
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
