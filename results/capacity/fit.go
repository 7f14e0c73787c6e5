package capacity

import (
	"math"
	"slices"
	"time"
)

// Fit estimates the sustainable rate of one candidate from the share of late arrivals in its trials. The rate is the one
// at which the share reaches what the objective allows in the long run, over many trials: since the share grows faster
// than the rate, a machine that is sometimes slow sustains less than its mean speed does.
//
// It does not ask whether a trial kept the objective. Of M/M/1 trials exactly at the limit 7 in 10 do, and a search that
// believes them ends 2 to 8 % too high. It fits, per key with the utilisation ρ = rate·share·S,
//
//	share over T = ρ·exp(−(1−ρ)(T−t₀)/(c²S))
//
// (Kingman's shape) to all trials together. The posterior is on a grid over S, c², the machine's noise, which is a
// lognormal factor on S in each trial, and the size of the clusters in which late arrivals come (a beta-binomial
// distribution).
//
// It depends on the observations alone, not on their order. It is used by one goroutine at a time.
type Fit struct {
	allowed float64 // share of the arrivals that may be late
	grid    *grid
	total   []float64   // log of the posterior, not normalised, over the cells of the grid
	trials  [][]float32 // what each observation added to total, for the jackknife
	weight  []float64   // posterior of the cells without clusters; nil after Add
}

// FitPrior is what is known of a candidate before its first trial.
type FitPrior struct {
	// Occupies is a guess of S, for how long a lock occupies its key: the hold and the hand-off. It may be off by a
	// factor of 3 above the truth, or 10 below it.
	Occupies time.Duration

	// Fixed is t₀, the part of each response that is no queueing: one request to the server.
	Fixed time.Duration

	// Burst is the time from one burst to the next if all clients come at once (spec.Load.Burst); 0: they come one by
	// one, at random.
	Burst time.Duration

	Closed bool          // levels are clients of a closed loop, and not arrivals a second
	Think  time.Duration // of such a client, between a release and its next request
}

// Observation is what counts of a trial that is valid: it kept its schedule, and had clients enough.
type Observation struct {
	Level    float64 // arrivals a second, or clients
	Arrivals int64   // in the window
	Late     int64   // of them, whose response took longer than the objective's limit, or never came
}

// NewFit returns a Fit without observations. The shares are those of the keys (Candidate.Shares).
func NewFit(objective Objective, shares []float64, prior FitPrior) *Fit {
	f := &Fit{allowed: 1 - objective.Quantile}
	f.grid = newGrid(newShape(objective, shares, prior), prior.Occupies.Seconds(), f.allowed)
	f.total = slices.Clone(f.grid.prior)
	return f
}

// Add takes in a trial, in one or two milliseconds. It fills the whole grid, so that trials may come in any order:
// leaving out the cells that earlier trials have ruled out would be three times as fast, but a jackknife needs them.
func (f *Fit) Add(o Observation) {
	one := f.grid.likelihood(o)
	for i, l := range one {
		f.total[i] += float64(l)
	}
	f.trials = append(f.trials, one)
	f.weight = nil
}

// Quantile returns the posterior quantile q of the sustainable rate, in arrivals a second.
func (f *Fit) Quantile(q float64) float64 {
	return quantile(f.posterior(), f.grid.rate, f.grid.byRate, q)
}

// trialQuantiles are the quantiles at which trials are placed in turn. In simulation it hardly matters which: all
// trials at 0.5, at 0.7 or at 0.9, or in turn at 0.6 and 0.9, end as close to the truth. All at 0.3 end a fifth further
// off, with intervals that are a quarter wider. Low ones are worth their place when the shape does not hold: they show
// the share where it is the allowed one, and not only beyond.
var trialQuantiles = []float64{0.4, 0.7, 0.25, 0.55}

// NextRate returns the rate for the i-th trial of the search, from 0, in arrivals a second.
func (f *Fit) NextRate(i int) float64 { return f.Quantile(trialQuantiles[i%len(trialQuantiles)]) }

// Interval returns the sustainable rate with its 95 % interval, in arrivals a second: the wider of the posterior's and
// of a jackknife's with a trial as its block, since the posterior is only as good as the shape that it assumes. Then it
// is widened by what the machine's noise would add if trials near each other were correlated, which few trials do not
// show.
func (f *Fit) Interval() Range {
	all := f.posterior()
	r := median(all, f.grid.rate, f.grid.byRate)
	if len(f.trials) < 3 {
		return r
	}
	jackknife := normal95 * f.jackknife()
	drift := normal95 * f.grid.noise(all) * math.Sqrt(correlated/float64(len(f.trials)))
	r.Low = r.Mid / math.Exp(math.Hypot(max(jackknife, math.Log(r.Mid/r.Low)), drift))
	r.High = r.Mid * math.Exp(math.Hypot(max(jackknife, math.Log(r.High/r.Mid)), drift))
	return r
}

const normal95 = 1.96 // standard deviations to either side that hold 95 % of a normal distribution

// correlated is how much more the mean of trials varies if each has a correlation of 0.7 with the next, in variances of
// one trial over their number: (1+0.7)/(1−0.7) − 1.
const correlated = 4.7

// jackknife returns the standard deviation of the log of the sustainable rate, by leaving out one trial at a time.
func (f *Fit) jackknife() float64 {
	n := float64(len(f.trials))
	without := make([]float64, len(f.total))
	logs := make([]float64, len(f.trials))
	mean := 0.0
	for i, trial := range f.trials {
		for j, l := range trial {
			without[j] = f.total[j] - float64(l)
		}
		logs[i] = math.Log(quantile(f.grid.normalise(without), f.grid.rate, f.grid.byRate, 0.5))
		mean += logs[i] / n
	}
	squares := 0.0
	for _, l := range logs {
		squares += (l - mean) * (l - mean)
	}
	return math.Sqrt(squares * (n - 1) / n)
}

// Least returns the lowest sustainable rate that the prior leaves possible.
func (f *Fit) Least() float64 { return f.grid.rate[f.grid.byRate[0]] }

// Occupies returns for how long a lock occupies its key, in nanoseconds, in a trial in which the machine is neither
// fast nor slow.
func (f *Fit) Occupies() Range {
	g := f.grid
	services := slices.Repeat(g.service[g.margin:g.margin+g.places()], len(priorC2)*len(gridNoise))
	r := median(f.posterior(), services, orderOf(services))
	return Range{r.Low * 1e9, r.Mid * 1e9, r.High * 1e9}
}

func (f *Fit) posterior() []float64 {
	if f.weight == nil {
		f.weight = f.grid.normalise(f.total)
	}
	return f.weight
}
