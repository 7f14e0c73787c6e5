package capacity

import (
	"slices"
	"time"

	"github.com/lockbench/lockbench/results/spec"
)

// Analysis is what is known of a load without a server, if hand-offs are free. See keys.
type Analysis struct {
	Load       string        `json:"load"` // in words
	Hold       time.Duration `json:"hold_ns"`
	Hottest    float64       `json:"hottest_share"`
	Busy       float64       `json:"utilisation,omitempty"`     // of the hottest key at the rate asked for
	Stable     float64       `json:"stability_limit,omitempty"` // arrivals a second at which the hottest key is always busy
	Ceiling    float64       `json:"ceiling,omitempty"`         // level at which a FIFO lock meets the SLO, about
	Impossible Reason        `json:"impossible,omitzero"`

	// What would make an impossible rate possible, each by itself; 0: nothing of the kind would.
	FitsHold  time.Duration `json:"fits_hold_ns,omitempty"`
	FitsShare float64       `json:"fits_share,omitempty"` // of the hottest key
}

// model is a lock at its best: every key first-come-first-served, with free hand-offs.
type model struct {
	q     *Question
	p     *spec.Plan
	keys  keys    // with the arrivals that wait; none if nobody does
	hold  float64 // seconds
	scv   float64 // of the hold
	think float64 // seconds
}

func modelOf(q *Question, c *Candidate) model {
	m := model{q: q, p: &c.Plan, think: c.Plan.Think.Seconds()}
	m.hold, m.scv = holds(&c.Plan)
	if waits := waiting(&c.Plan); waits > 0 {
		shares := slices.Clone(c.Shares)
		for i := range shares {
			shares[i] *= waits
		}
		m.keys = newKeys(shares)
	}
	return m
}

// ceiling returns the highest level that meets the SLO, about; the highest of all if nothing is known that limits it.
func (m model) ceiling() float64 {
	most, hottest := float64(spec.MaxRate), m.keys.hottest()
	if m.q.Axis == Clients {
		most = m.q.Most
	}
	if m.hold == 0 || hottest == 0 {
		return most
	}
	for _, o := range m.q.SLO.Objectives {
		inTime := o.Limit.Seconds()/m.hold + 1 // of those that come together at a key
		switch every := m.p.Burst.Seconds(); {
		case m.q.Axis == Clients: // each of which is away for the think time
			most = min(most, (inTime+m.think/m.hold)/hottest)
		case every > 0:
			most = min(most, inTime/(hottest*every))
		default:
			most = min(most, m.keys.rate(m.hold, (1+m.scv)/2, o.Limit.Seconds(), o.Allowed()))
		}
	}
	return most
}

// Analyse says what is known of the load of c without a server. No load is called impossible that the utilisation law
// allows.
func Analyse(q *Question, c *Candidate) Analysis {
	m := modelOf(q, c)
	a := Analysis{Load: describe(&c.Plan), Hold: nanoseconds(m.hold), Hottest: c.Shares[0], Ceiling: m.ceiling()}
	hottest := m.keys.hottest()
	if m.hold == 0 || hottest == 0 || q.Axis == Clients {
		return a
	}
	a.Stable, a.Busy = 1/(hottest*m.hold), q.Asked*hottest*m.hold // utilisation law: Denning and Buzen 1978
	if a.Busy >= 1 && c.Traits.Exclusive {
		a.Impossible = Reason{Code: Impossible, Share: a.Busy}
		a.FitsHold, a.FitsShare = m.fits()
	}
	return a
}

// fits returns the longest mean hold with which the rate would meet the SLO, and the largest share of the arrivals that
// any key may have for it; 0 if there is none.
func (m model) fits() (hold time.Duration, share float64) {
	alone := m
	alone.keys = keys{{1, 1}}
	share = min(1, alone.ceiling()/m.q.Asked)
	longest := bisect(0, m.hold, 1e-9, func(hold float64) bool {
		m.hold = hold
		return m.ceiling() >= m.q.Asked
	})
	return nanoseconds(longest), share
}
