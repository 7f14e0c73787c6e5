package capacity

// The load of a candidate: what is known of it beforehand, and the plan that makes a given rate of it.

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/spec"
)

const (
	// minCycle stands for the cycle of a closed class that neither holds nor thinks, so that its share of the rate is finite.
	minCycle = time.Millisecond
	// spareClients are there for requests that happen to come together, and spareDeviations for as many times the deviation of
	// their number, which is that of a Poisson variable.
	spareClients    = 4
	spareDeviations = 4
	// maxClients of a class are more than any library or server in use serves well.
	maxClients = 4096
)

// arrivalShares returns the share of all arrivals that each group of clients makes, and 0 for a closed one that stays in
// the background of open ones. Without any open class all become open, in the proportions in which they would ask for locks
// if they never had to wait: opened tells that.
func arrivalShares(p *spec.Plan) (shares []float64, opened bool) {
	groups := p.Groups()
	shares = make([]float64, len(groups))
	opened = len(p.Classes) > 0 && !slices.ContainsFunc(groups, func(g spec.Class) bool { return g.Open() })
	sum := 0.0
	for i, g := range groups {
		switch {
		case len(p.Classes) == 0:
			shares[i] = 1
		case opened:
			cycle := max(minCycle, g.Hold+g.Think)
			shares[i] = float64(g.Clients) / cycle.Seconds()
		case g.Burst > 0:
			shares[i] = g.BurstRate()
		default:
			shares[i] = g.Rate.Mean(0)
		}
		sum += shares[i]
	}
	for i := range shares {
		shares[i] /= sum
	}
	return shares, opened
}

// ArrivalShares returns the share of all arrivals that each group of clients of p makes (spec.Plan.Groups); 0 for one that
// stays a closed loop.
func ArrivalShares(p *spec.Plan) []float64 {
	shares, _ := arrivalShares(p)
	return shares
}

// MostClients returns how many clients a trial of the candidate may have.
func (q *Question) MostClients(candidate int) int {
	rate := float64(spec.MaxRate)
	if q.MaxRate > 0 {
		rate = q.MaxRate
	}
	p := q.Candidates[candidate].at(rate, q.SLO.Strictest().Limit, maxMore, math.Ceil)
	return min(p.Clients, maxClients*len(p.Groups()))
}

// Allows reports whether a trial of the candidate may be p, as far as its rate and clients are concerned.
func (q *Question) Allows(candidate int, p *spec.Plan) bool {
	return p.Clients <= q.MostClients(candidate) && (q.MaxRate == 0 || !above(Offered(p), q.MaxRate))
}

// at returns the plan of c that makes the given rate, with clients for a response that takes the limit, times more. The clients
// of a burst are a whole number, for which whole rounds them.
func (c *Candidate) at(rate float64, limit time.Duration, more int, whole func(float64) float64) spec.Plan {
	p := c.Plan
	p.Ops = 0
	shares, opened := arrivalShares(&p)
	if len(p.Classes) == 0 {
		p.Load = c.opened(p.Load, rate, limit, more, p.Keys, whole)
		return p
	}
	p.Classes = slices.Clone(p.Classes)
	p.Clients = 0
	for i := range p.Classes {
		l := &p.Classes[i].Load
		if shares[i] > 0 {
			*l = c.opened(*l, rate*shares[i], limit, more, p.Keys, whole)
		}
		if opened {
			l.Think, l.ThinkDist = 0, spec.Times{}
		}
		p.Clients += l.Clients
	}
	return p
}

// opened returns l as an open loop with the given rate.
func (c *Candidate) opened(l spec.Load, rate float64, limit time.Duration, more, keys int, whole func(float64) float64) spec.Load {
	if l.Burst > 0 { // all its clients come at once
		clients := rate * l.Burst.Seconds()
		if n := math.Round(clients); equal(n, clients) {
			clients = n
		}
		l.Clients = max(1, int(whole(clients)))
		return l
	}
	l.Rate = rateOf(rate)
	if l.Arrival == "" {
		l.Arrival = spec.Poisson
	}
	l.Think, l.ThinkDist = 0, spec.Times{}
	if c.FixedClients {
		return l
	}
	// Little's law, for the longest response that is not late.
	busy := rate * (limit + l.Hold).Seconds()
	busy += spareDeviations*math.Sqrt(busy) + spareClients
	l.Clients = min(maxClients, int(math.Ceil(busy))*more)
	if l.KeyDist.Kind == spec.KeysOwn {
		l.Clients = min(l.Clients, keys)
	}
	return l
}

// equal reports whether two rates differ by rounding alone, as that of a plan does which is a sum over its classes.
func equal(a, b float64) bool { return math.Abs(a-b) <= 1e-9*a }

// above reports whether a rate is above another one by more than rounding.
func above(a, b float64) bool { return a > b && !equal(a, b) }

// rateOf returns a rate as plans write it, or the lowest that a class can have.
func rateOf(rate float64) spec.Rate {
	rate = max(spec.MinRate, rate)
	return spec.Must(spec.ParseRate(strconv.FormatFloat(rate, 'f', -1, 64)))
}

// threeDigits returns a rate with three significant digits, for people to read, of which the function rounds the last one.
func threeDigits(rate float64, round func(float64) float64) float64 {
	if rate <= 0 {
		return 0
	}
	places := 2 - int(math.Floor(math.Log10(rate)))
	if places < 0 {
		unit := math.Pow10(-places)
		return round(rate/unit) * unit
	}
	unit := math.Pow10(places)
	return round(rate*unit) / unit // a division by a whole number is exact to the last digit
}

// Offered returns the arrivals a second that a plan asks for; 0 if all of its clients are in closed loops.
func Offered(p *spec.Plan) (rate float64) {
	for _, g := range p.Groups() {
		if g.Burst > 0 {
			rate += g.BurstRate()
		} else if g.Open() {
			rate += g.Rate.Mean(0)
		}
	}
	return rate
}

// longestBurst returns the longest time from one burst to the next of a class; 0 if there are no bursts.
func longestBurst(p *spec.Plan) (longest time.Duration) {
	for _, g := range p.Groups() {
		longest = max(longest, g.Burst)
	}
	return longest
}

// service is how long a lock occupies its key, without what queueing adds.
type service struct {
	mean    float64 // seconds
	scv     float64 // squared coefficient of variation
	guessed bool    // part of it is read from a file, which counts as exponential
}

// waiting returns the share of the arrivals that wait if their key is taken. The others have their answer at once, whatever
// it is, and no queue is longer for them.
func waiting(p *spec.Plan) (share float64) {
	shares, _ := arrivalShares(p)
	for i, g := range p.Groups() {
		share += shares[i] * (1 - g.TryOnly)
	}
	return share
}

// queues returns the shares of the places where arrivals of c queue: the keys, or if nobody waits for one the server alone.
func (c *Candidate) queues() []float64 {
	if waiting(&c.Plan) == 0 {
		return []float64{1}
	}
	return c.Shares
}

// holds returns how long the holds of the arrivals take, over all groups.
func holds(p *spec.Plan) service {
	shares, _ := arrivalShares(p)
	first, second := 0.0, 0.0
	guessed := false
	for i, g := range p.Groups() {
		mean := g.Hold.Seconds()
		_, scv := g.HoldDist.Moments()
		if g.HoldDist.Kind == spec.TimesFile {
			scv, guessed = 1, true
		}
		first += shares[i] * mean
		second += shares[i] * mean * mean * (1 + scv)
	}
	s := service{mean: first, guessed: guessed}
	if first > 0 {
		s.scv = max(0, second/(first*first)-1)
	}
	if s.scv < 1e-9 { // rounding
		s.scv = 0
	}
	return s
}

// plus returns the service that is longer by a fixed time.
func (s service) plus(seconds float64) service {
	if mean := s.mean + seconds; mean > 0 {
		s.scv *= s.mean * s.mean / (mean * mean)
		s.mean = mean
	}
	return s
}

// describe returns the load of p in words: "zipf:1.1 on 100 keys, hold 5 ms".
func describe(p *spec.Plan) string {
	keys := format.Plural(p.Keys, "key")
	if p.Keys > 1 {
		keys = cmp.Or(p.KeyDist.String(), "uniform") + " on " + keys
	}
	if len(p.Classes) > 0 {
		mean := time.Duration(holds(p).mean * 1e9)
		return fmt.Sprintf("%d classes on %s, mean hold %s", len(p.Classes), format.Plural(p.Keys, "key"), format.Duration(mean))
	}
	hold := format.Exact(p.Hold)
	if p.HoldDist != (spec.Times{}) {
		hold = p.HoldDist.String()
	}
	if p.Burst > 0 {
		hold += ", bursts each " + format.Exact(p.Burst)
	}
	if waiting(p) == 0 {
		hold += ", nobody waits"
	}
	return fmt.Sprintf("%s, hold %s", keys, hold)
}
