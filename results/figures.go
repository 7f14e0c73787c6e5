package results

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/lockbench/lockbench/results/spec"
)

// Figures are what a record, a cell and a class of a cell have in common, so that a metric reads all three alike. What a
// class does not have is empty, or negative where that means "not known".
type Figures struct {
	Rate      float64 // granted locks a second
	Elapsed   time.Duration
	Counts    *Counts
	Latency   map[Metric]Latency
	Fairness  *Fairness
	Safety    *Safety
	Breaches  int64 // of exclusion; see Record.Breaches
	Cost      *Cost
	Bound     *Bound
	Generator *Generator
	Thread    Thread
	Clients   int // that wanted locks, summed over the trials; 0: not known
}

// Figures returns the measurements of r.
func (r *Record) Figures() Figures {
	return Figures{r.Throughput(), r.Elapsed, &r.Counts, r.Latency, &r.Fairness, &r.Safety, r.Breaches(), &r.Cost, &r.Bound, &r.Generator, r.Thread, r.wanting()}
}

// Figures returns the measurements of c: the rate is the median trial's, Elapsed the first one's.
func (c *Cell) Figures() Figures {
	return Figures{c.Rate.Median, c.First().Elapsed, &c.Counts, c.Latency, &c.Fairness, &c.Safety, c.Breaches(), &c.Cost, &c.Bound, &c.Generator, c.Thread,
		int(sumOf(c.Trials, func(r *Record) int64 { return int64(r.wanting()) }))}
}

// wanting returns how many clients wanted locks; of a record that does not tell, all of them.
func (r *Record) wanting() int { return cmp.Or(r.Fairness.Clients, r.Plan.Clients) }

// Wanting returns how many clients wanted locks, in the trial where most of them did.
func (c *Cell) Wanting() int { return cmp.Or(c.Fairness.Clients, c.Plan().Clients) }

// fewGrants is how many grants a client needs on average before their spread says something of the lock. If each grant went to
// a client at random, n of them a client would have a Jain's index of n/(n + 1).
const fewGrants = 5

// Jain returns Jain's index; NaN if there were too few grants to tell how fair they were spread.
func (f Figures) Jain() float64 {
	if !enoughGrants(f.Counts.Acquired, f.Clients) {
		return math.NaN()
	}
	return f.Fairness.Jain
}

func enoughGrants(grants int64, clients int) bool { return grants >= max(1, int64(fewGrants*clients)) }

// Wanted reports whether any acquisition was made in the window.
func (f Figures) Wanted() bool {
	n := f.Counts
	return n.Acquired+n.Contended+n.Impatient()+n.Unknown+n.Refused+n.Canceled+n.Unfinished > 0
}

// Figures returns the measurements of k.
func (k *ClassCell) Figures() Figures {
	cost := UnknownCost()
	return Figures{
		Rate: k.Rate.Median, Counts: &k.Counts, Latency: k.Latency, Fairness: &Fairness{Jain: k.Jain, Starved: k.Starved},
		Safety: &Safety{}, Cost: &cost, Bound: &Bound{}, Generator: &Generator{CPU: -1}, Clients: k.Clients,
	}
}

// Efficiency returns the throughput as a share of the bound. It is NaN if there is no bound, or if several clients held a key at
// once: what one holder a key can reach says nothing of several.
func (f Figures) Efficiency() float64 {
	if f.Bound.LocksPerS <= 0 || f.Breaches > 0 {
		return math.NaN()
	}
	return f.Bound.Efficiency
}

// Beaten reports whether the throughput is above the bound, by more than a figure of it in per cent would show, and by more
// than the lock of each client that the window may have had at its edges.
func (c *Cell) Beaten() bool {
	f := c.Figures()
	above := (f.Efficiency() - 1) * f.Bound.LocksPerS * f.Elapsed.Seconds()
	return f.Efficiency() >= 1.005 && above > float64(c.Plan().Clients)
}

// Open reports whether c is an open loop, for a class of its clients at least.
func (c *Cell) Open() bool {
	return slices.ContainsFunc(c.First().Plan.Groups(), func(g spec.Class) bool { return g.Open() })
}

// Voted reports whether several nodes grant a lock of c together.
func (c *Cell) Voted() bool { return c.Latency[AcquireAll].Count > 0 }

// Disturbance returns how many times as long a neighbour's request took under the load as before it (the medians); NaN if no
// neighbour was asked.
func (c *Cell) Disturbance() float64 {
	idle := c.Latency[ProbeIdle].Quantile(0.5)
	if idle == 0 {
		return math.NaN()
	}
	return c.Latency[Probe].Quantile(0.5) / idle
}

// Enough reports whether count values have a q-quantile that is worth printing: the largest of them must lie above it with
// 97.5 %, the upper end of a 95 % interval. The chance that all lie below is qⁿ, so it takes 6 values for a median, 36
// for p90, 368 for p99 and 3,688 for p99.9, and more if they are not independent.
func Enough(count int64, q float64) bool {
	return count >= Needs(q)
}

// Needs returns how many values it takes for a q-quantile; see Enough.
func Needs(q float64) int64 {
	const above = 0.975
	return int64(math.Ceil(math.Log(1-above) / math.Log(q)))
}

// Quantile returns one of the quantiles that a record spells out, in nanoseconds; NaN if there are too few values (see
// Enough), or for any other q.
func (l Latency) Quantile(q float64) float64 {
	if !Enough(l.Count, q) {
		return math.NaN()
	}
	switch q {
	case 0.5:
		return float64(l.P50)
	case 0.9:
		return float64(l.P90)
	case 0.99:
		return float64(l.P99)
	case 0.999:
		return float64(l.P999)
	}
	return math.NaN()
}

// Tail returns the p99 or, of too few values for it, the highest quantile that l knows, with its name.
func (l Latency) Tail() (name string, value time.Duration) {
	switch {
	case l.P99 > 0:
		return "p99", l.P99
	case l.P90 > 0:
		return "p90", l.P90
	}
	return "p50", l.P50
}

// Whether holds lasted as long as they were asked to.

const (
	// holdTolerance is the part, a tenth, by which two lengths of holds may differ and still count as the same.
	holdTolerance = 10

	// fewHolds are too few for a median, and fewDrawn for the mean of lengths that are drawn: those of a lognormal
	// distribution whose p99 is 20 times its median scatter by twice their mean.
	fewHolds = 10
	fewDrawn = 10_000
)

// Lasted returns how long the holds of a load lasted, from their latencies: the median if all were asked to last as
// long, which a pause of the machine does not move, and the mean if their lengths were drawn. It returns 0 if the load
// has no holds, or too few to tell.
func Lasted(l *spec.Load, holds Latency) time.Duration {
	switch {
	case l.HoldTimes() == (spec.Times{}):
		return 0
	case l.HoldDist == (spec.Times{}) && holds.Count >= fewHolds:
		return holds.P50
	case l.HoldDist != (spec.Times{}) && holds.Count >= fewDrawn:
		return holds.Mean
	}
	return 0
}

// Apart reports whether two lengths of holds or thinks differ by more than 10 % of the first. A length of 0 is not known.
func Apart(asked, lasted time.Duration) bool {
	return asked > 0 && lasted > 0 && (lasted-asked).Abs() > asked/holdTolerance
}

// HoldsLasted returns how long the holds of each group of clients lasted, in the order of Plan.Groups.
func (r *Record) HoldsLasted() []time.Duration {
	groups := r.Plan.Groups()
	lasted := make([]time.Duration, len(groups))
	for i := range groups {
		holds := r.Latency[Hold]
		if len(r.Plan.Classes) > 0 {
			if i >= len(r.Classes) {
				break
			}
			holds = r.Classes[i].Latency[Hold]
		}
		lasted[i] = Lasted(&groups[i].Load, holds)
	}
	return lasted
}
