package capacity

// The load of a candidate, and the plan that makes a given level of it.

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results/spec"
)

const (
	minRate = 0.1 // of a trial, in arrivals a second

	// minCycle stands for the cycle of a closed class that neither holds nor thinks, so that its share is finite.
	minCycle = time.Millisecond
	// spareClients are there for requests that happen to come together, and spareDeviations for as many times the
	// deviation of their number, which is that of a Poisson variable.
	spareClients    = 4
	spareDeviations = 4
	// maxClients of a class are more than any library or server in use serves well; of a burst, more than can be sent.
	maxClients = 4096
	maxBurst   = 1 << 16
)

// arrivalShares returns the share of all arrivals that each group of clients makes, and 0 for a closed one that stays
// in the background of open ones. Without any open class all become open, in the proportions in which they would ask
// for locks if they never had to wait: opened tells that.
func arrivalShares(p *spec.Plan) (shares []float64, opened bool) {
	groups := p.Groups()
	opened = len(p.Classes) > 0 && !slices.ContainsFunc(groups, func(g spec.Class) bool { return g.Open() })
	sum := 0.0
	for _, g := range groups {
		rate := cmp.Or(g.BurstRate(), g.Rate.Mean(0))
		if opened {
			rate = float64(g.Clients) / max(minCycle, g.Hold+g.Think).Seconds()
		} else if len(p.Classes) == 0 {
			rate = 1
		}
		shares = append(shares, rate)
		sum += rate
	}
	for i := range shares {
		shares[i] /= sum
	}
	return shares, opened
}

// ArrivalShares returns the share of all arrivals that each group of clients of p makes (spec.Plan.Groups); 0 for one
// that stays a closed loop.
func ArrivalShares(p *spec.Plan) []float64 {
	shares, _ := arrivalShares(p)
	return shares
}

// load returns the load, as the plan of any candidate has it.
func (q *Question) load() *spec.Plan { return &q.Candidates[0].Plan }

// MostClients returns how many clients a trial may have.
func (q *Question) MostClients() int {
	return q.at(*q.load(), cmp.Or(q.Most, spec.MaxRate)).Clients
}

// Allows reports whether a trial may be p, as far as its level and clients are concerned.
func (q *Question) Allows(p *spec.Plan) bool {
	return p.Clients <= q.MostClients() && (q.Most == 0 || !above(q.Level(p), q.Most))
}

// at returns p with the load at a level.
func (q *Question) at(p spec.Plan, level float64) spec.Plan {
	p.Ops = 0
	if q.Axis == Clients {
		p.Clients = max(1, int(level))
		return p
	}
	shares, opened := arrivalShares(&p)
	if len(p.Classes) == 0 {
		p.Load = q.opened(p.Load, level)
		return p
	}
	p.Classes = slices.Clone(p.Classes)
	p.Clients = 0
	for i := range p.Classes {
		l := &p.Classes[i].Load
		if shares[i] > 0 {
			*l = q.opened(*l, level*shares[i])
		}
		if opened {
			l.Think, l.ThinkDist = 0, spec.Times{}
		}
		p.Clients += l.Clients
	}
	return p
}

// opened returns l as an open loop with a rate, and with clients for a response that takes the longest limit. Those of
// a burst all come at once: as many as the rate asks for at the least, unless that is more than any trial may have.
func (q *Question) opened(l spec.Load, rate float64) spec.Load {
	if l.Burst > 0 {
		clients := rate * l.Burst.Seconds()
		whole := math.Ceil(clients * (1 - 1e-9))
		if q.Most > 0 && whole > q.Most*l.Burst.Seconds()*(1+1e-9) {
			whole--
		}
		l.Clients = min(maxBurst, max(1, int(whole)))
		return l
	}
	text := strconv.FormatFloat(max(spec.MinRate, rate), 'f', -1, 64)
	l.Rate = spec.Must(spec.ParseRate(text))
	l.Arrival = cmp.Or(l.Arrival, spec.Poisson)
	l.Think, l.ThinkDist = 0, spec.Times{}
	if q.FixedClients {
		return l
	}
	busy := rate * (q.SLO.Strictest().Limit + l.Hold).Seconds() // Little's law
	busy += spareDeviations*math.Sqrt(busy) + spareClients
	l.Clients = min(maxClients, int(math.Ceil(busy)))
	if l.KeyDist.Kind == spec.KeysOwn {
		l.Clients = min(l.Clients, q.load().Keys)
	}
	return l
}

// equal reports whether two levels differ by rounding alone, as that of a plan does which is a sum over its classes.
func equal(a, b float64) bool { return math.Abs(a-b) <= 1e-9*a }

// above reports whether a level is above another one by more than rounding.
func above(a, b float64) bool { return a > b && !equal(a, b) }

// threeDigits returns a level with three significant digits that is no higher, for people to read.
func threeDigits(level float64) float64 {
	if level <= 0 {
		return 0
	}
	unit := math.Pow10(int(math.Floor(math.Log10(level))) - 2)
	n := math.Floor(level/unit + 1e-9)
	if unit < 1 {
		return n / math.Round(1/unit) // a division by a whole number is exact to the last digit
	}
	return n * unit
}

// Level returns the level of a plan.
func (q *Question) Level(p *spec.Plan) float64 {
	if q.Axis == Clients {
		return float64(p.Clients)
	}
	return Offered(p)
}

// Offered returns the arrivals a second that a plan asks for; 0 if all of its clients are in closed loops.
func Offered(p *spec.Plan) (rate float64) {
	for _, g := range p.Groups() {
		rate += cmp.Or(g.BurstRate(), g.Rate.Mean(0))
	}
	return rate
}

// Of spec.Plan.Longest.
func burst(l *spec.Load) time.Duration   { return l.Burst }
func timeout(l *spec.Load) time.Duration { return l.Timeout }

// waiting returns the share of the arrivals that wait if their key is taken. The others have their answer at once,
// whatever it is, and no queue is longer for them.
func waiting(p *spec.Plan) (share float64) {
	shares, _ := arrivalShares(p)
	for i, g := range p.Groups() {
		share += shares[i] * (1 - g.TryOnly)
	}
	return share
}

// queues returns the shares of the places where arrivals queue: the keys, or if nobody waits for one the server alone.
func (q *Question) queues() []float64 {
	if waiting(q.load()) == 0 {
		return []float64{1}
	}
	return q.Shares
}

// holds returns the mean hold of the arrivals in seconds, over all groups, and the squared coefficient of variation.
func holds(p *spec.Plan) (mean, scv float64) {
	shares, _ := arrivalShares(p)
	second := 0.0
	for i, g := range p.Groups() {
		_, of := g.HoldDist.Moments()
		if g.HoldDist.Kind == spec.TimesFile {
			of = 1 // nobody has read it yet
		}
		mean += shares[i] * g.Hold.Seconds()
		second += shares[i] * g.Hold.Seconds() * g.Hold.Seconds() * (1 + of)
	}
	if mean > 0 {
		scv = max(0, second/(mean*mean)-1)
	}
	return mean, scv
}

// describe returns the load of p as it is typed: "keys 100, key-dist zipf:1.1, hold 5ms".
func describe(p *spec.Plan) string {
	if len(p.Classes) > 0 {
		return fmt.Sprintf("keys %d, %d classes", p.Keys, len(p.Classes))
	}
	var words []string
	for _, name := range []string{"keys", "key-dist", "hold", "burst"} {
		if s, _ := spec.Find(name); s.Text(p, &p.Load) != "" {
			words = append(words, name+" "+s.Text(p, &p.Load))
		}
	}
	return strings.Join(words, ", ")
}

func nanoseconds(seconds float64) time.Duration { return time.Duration(seconds*1e9 + 0.5) }
