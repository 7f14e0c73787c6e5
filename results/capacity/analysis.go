package capacity

import (
	"fmt"
	"slices"
	"time"

	"github.com/lockbench/lockbench/results/capacity/queue"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/spec"
)

// model is a lock at its best: every key first-come-first-served, with a hand-off of one round trip.
type model struct {
	keys  queue.Keys // with the arrivals that wait; none if nobody does
	hold  service
	trip  float64 // seconds of a round trip, of which each hand-off takes one
	burst float64 // seconds from one burst of arrivals to the next; 0: they come one by one, at random
	rough string  // why the tail is an approximation for this load; empty if it is a theorem
}

func modelOf(c *Candidate, rtt time.Duration) model {
	m := model{hold: holds(&c.Plan), trip: rtt.Seconds()}
	waits := waiting(&c.Plan)
	m.burst = c.Plan.Burst.Seconds()
	m.rough = approximates(&c.Plan, m.hold, waits)
	if waits > 0 {
		shares := slices.Clone(c.Shares)
		for i := range shares {
			shares[i] *= waits
		}
		m.keys = queue.NewKeys(shares)
	}
	return m
}

// approximates returns why the formulas are no theorem for a load: they are for holds of a fixed time or exponential ones, and
// arrivals that come one by one, each for a random key.
func approximates(p *spec.Plan, hold service, waits float64) string {
	has := func(is func(l *spec.Load) bool) bool {
		return slices.ContainsFunc(p.Groups(), func(g spec.Class) bool { return is(&g.Load) })
	}
	of := func(kind string) func(l *spec.Load) bool {
		return func(l *spec.Load) bool { return l.KeyDist.Kind == kind }
	}
	shares, _ := arrivalShares(p)
	switch {
	case slices.Contains(shares, 0):
		return "clients in closed loops hold keys, too"
	case has(of(spec.KeysOwn)):
		return "clients have keys of their own, where no two of them meet"
	case has(func(l *spec.Load) bool { return l.Burst > 0 }):
		return "arrivals come in bursts"
	case waits < 1:
		return "some arrivals do not wait"
	case has(of(spec.KeysSequential)):
		return "keys come in a fixed order"
	case has(func(l *spec.Load) bool { return l.Crash > 0 }):
		return "dead holders keep their key for as long as the lock lets them"
	case hold.guessed || hold.scv != 0 && hold.scv != 1:
		return "holds are neither fixed nor exponential"
	case has(func(l *spec.Load) bool { return l.Arrival == spec.Constant }):
		return "arrivals are not random"
	}
	return ""
}

// occupied returns for how long a lock occupies its key.
func (m model) occupied() service { return m.hold.plus(m.trip) }

// tail returns the distribution of the wait.
func (s service) tail() queue.Tail {
	if s.scv == 0 {
		return queue.MD1
	}
	return queue.Kingman((1 + s.scv) / 2)
}

// wait returns for how long an arrival may wait in line, in seconds: its own answer takes a round trip too.
func (m model) wait(o Objective) float64 { return o.Limit.Seconds() - m.trip }

// ceiling returns the most arrivals a second that meet the SLO.
func (m model) ceiling(slo SLO) float64 {
	s := m.occupied()
	most := float64(spec.MaxRate)
	if s.mean == 0 || len(m.keys) == 0 {
		return most
	}
	for _, o := range slo.Objectives {
		wait := m.wait(o)
		most = min(most, queue.Rate(s.tail(), m.keys, s.mean, wait, o.Allowed()))
		if m.burst > 0 { // the last of those that want the hottest key is just in time
			most = min(most, max(0, wait/s.mean+1)/(m.keys.Hottest()*m.burst))
		}
	}
	return most
}

func (m model) meets(slo SLO, rate float64) bool {
	if m.burst > 0 {
		return rate <= m.ceiling(slo)
	}
	s := m.occupied()
	for _, o := range slo.Objectives {
		if wait := m.wait(o); wait < 0 || s.mean > 0 && m.keys.Late(s.tail(), rate, s.mean, wait) > o.Allowed() {
			return false
		}
	}
	return true
}

// Analyse says what is known of the load of c without a server, or with no more than the round trip to one; 0 if it is not
// known. Formulas for other holds than fixed and exponential ones are approximations, by which no load is called impossible
// that the utilisation law allows.
func Analyse(q *Question, c *Candidate, rtt time.Duration) Analysis {
	m := modelOf(c, rtt)
	s := m.occupied()
	a := Analysis{
		Load: describe(&c.Plan), Hold: nanoseconds(m.hold.mean), RoundTrip: rtt, Hottest: c.Shares[0],
		Stable: spec.MaxRate, Ceiling: m.ceiling(q.SLO), Rough: m.rough,
	}
	if hottest := m.keys.Hottest(); s.mean > 0 && hottest > 0 {
		a.Stable = min(a.Stable, queue.Capacity(hottest, s.mean))
		a.Busy = queue.Utilisation(q.Rate, hottest, s.mean)
	}
	a.Impossible = m.impossible(q, &a)
	if a.Impossible != "" && q.Rate > 0 {
		a.FitsHold, a.FitsShare = m.fits(q)
	}
	return a
}

// impossible returns why no lock can do what is asked; empty if one might.
func (m model) impossible(q *Question, a *Analysis) string {
	for _, o := range q.SLO.Objectives {
		if m.wait(o) <= 0 {
			return fmt.Sprintf("a round trip takes %s, and %s leaves no time for one", format.Duration(a.RoundTrip), o)
		}
	}
	switch {
	case q.Rate == 0:
		return ""
	case a.Busy >= 1:
		return fmt.Sprintf("the hottest key gets %s of the arrivals and would have to be held for %s of the time",
			format.Percent(a.Hottest), format.Percent(a.Busy))
	case q.Rate > a.Ceiling && m.rough == "":
		return fmt.Sprintf("the hottest key gets %s of the arrivals and would be held for %s of the time: its queue meets %s up to %s/s, "+
			"if it is first come, first served and a hand-off takes no longer than a round trip",
			format.Percent(a.Hottest), format.Percent(a.Busy), q.SLO, format.Three(a.Ceiling))
	}
	return ""
}

// fits returns the longest mean hold with which the rate would meet the SLO, and the largest share of the arrivals that any
// key may have for it; 0 if there is none.
func (m model) fits(q *Question) (hold time.Duration, share float64) {
	low, high := 0.0, m.hold.mean
	for range 40 {
		shorter := m
		shorter.hold.mean = (low + high) / 2
		if shorter.meets(q.SLO, q.Rate) {
			low = shorter.hold.mean
		} else {
			high = shorter.hold.mean
		}
	}
	alone := m
	alone.keys = queue.Keys{{Share: 1, Count: 1}}
	return nanoseconds(low), min(1, alone.ceiling(q.SLO)/q.Rate)
}

func nanoseconds(seconds float64) time.Duration { return time.Duration(seconds*1e9 + 0.5) }
