package capacity

import (
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
	Impossible Reason        `json:"impossible,omitzero"`       // for a lock that excludes

	FitsHold time.Duration `json:"fits_hold_ns,omitempty"` // longest mean hold with which an impossible rate meets the SLO
}

// Analyse says what is known of the load without a server. No load is called impossible that the utilisation law allows.
func Analyse(q *Question) Analysis {
	hold, scv := holds(q.load())
	k := newKeys(q.Shares)
	for i := range k {
		k[i].share *= waiting(q.load())
	}
	a := Analysis{Load: describe(q.load()), Hold: nanoseconds(hold), Hottest: q.Shares[0], Ceiling: q.ceiling(k, hold, scv)}
	if k.hottest() == 0 || hold == 0 || q.Axis == Clients {
		return a
	}
	a.Stable, a.Busy = 1/(k.hottest()*hold), q.Asked*k.hottest()*hold // utilisation law: Denning and Buzen 1978
	if a.Busy >= 1 {
		a.Impossible = Reason{Code: Impossible, Share: a.Busy}
		longest := bisect(0, hold, 1e-9, func(hold float64) bool { return q.ceiling(k, hold, scv) >= q.Asked })
		a.FitsHold = nanoseconds(longest)
	}
	return a
}

// ceiling returns the highest level that meets the SLO, about, if every key is first-come-first-served with free
// hand-offs; the highest of all if nothing is known that limits it. The hold is in seconds, with its squared
// coefficient of variation.
func (q *Question) ceiling(k keys, hold, scv float64) float64 {
	most, hottest := float64(spec.MaxRate), k.hottest()
	if q.Axis == Clients {
		most = q.Most
	}
	if hold == 0 || hottest == 0 {
		return most
	}
	for _, o := range q.SLO.Objectives {
		inTime := o.Limit.Seconds()/hold + 1 // of those that come together at a key
		switch every := q.load().Burst.Seconds(); {
		case q.Axis == Clients: // each of which is away for the think time
			most = min(most, (inTime+q.load().Think.Seconds()/hold)/hottest)
		case every > 0:
			most = min(most, inTime/(hottest*every))
		default:
			most = min(most, k.rate(hold, (1+scv)/2, o.Limit.Seconds(), o.Allowed()))
		}
	}
	return most
}
