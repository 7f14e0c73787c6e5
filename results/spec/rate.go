// Rates: how many arrivals a second there are, and how that changes in the course of a trial.

package spec

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// Rate is how many arrivals a second there are in the course of a trial. The zero value is none.
//
//	5000  5k  0.5          constant; k is a thousand, M a million
//	1k:50k:10s             from the opening of the measured window it rises (or falls) evenly from the one to the other
//	                       in that time, then stays
type Rate struct {
	From, To float64       // arrivals a second; the same if constant
	Over     time.Duration // that a ramp takes
}

// Kinds of arrivals.
const (
	Constant = "constant" // the same distance each (for that rate); schedules of different seeds begin at different phases
	Poisson  = "poisson"  // independent of one another: exponential distances
)

// The bounds of a rate, in arrivals a second: over the highest the harness alone has no time for it, so that it is a
// slip; the lowest is one in a quarter of an hour.
const (
	MaxRate = 10e6
	MinRate = 0.001
)

const rateForms = "must be arrivals a second such as 5000, 5k or 0.5 (0.001 to 10M), " +
	"or change from one rate to another in a time as in 1k:50k:10s"

// ParseRate reads a rate. The error does not repeat the text.
func ParseRate(text string) (r Rate, err error) {
	parts := strings.Split(text, ":")
	switch r.From = arrivals(parts[0]); len(parts) {
	case 1:
		r.To = r.From
	case 3:
		r.To = arrivals(parts[1])
		r.Over, err = time.ParseDuration(parts[2])
	}
	ramp := r.From != r.To && time.Millisecond <= r.Over && r.Over <= 7*MaxTime
	if err != nil || r.From == 0 || r.To == 0 || len(parts) == 3 && !ramp {
		return Rate{}, errors.New(rateForms)
	}
	return r, nil
}

// arrivals reads arrivals a second; 0 is none that are possible.
func arrivals(text string) float64 {
	number := strings.TrimRight(text, "kM")
	power, known := map[string]string{"": "", "k": "e3", "M": "e6"}[text[len(number):]]
	perSecond, err := parseDecimal(number, power)
	if err != nil || !known || perSecond < MinRate || perSecond > MaxRate {
		return 0
	}
	return perSecond
}

func plain(perSecond float64) string { return strconv.FormatFloat(perSecond, 'f', -1, 64) }

// String returns the canonical spelling, without k and M; empty for none.
func (r Rate) String() string {
	switch {
	case r.IsZero():
		return ""
	case r.Over > 0:
		return plain(r.From) + ":" + plain(r.To) + ":" + Brief(r.Over)
	}
	return plain(r.From)
}

func (r Rate) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

func (r *Rate) UnmarshalText(text []byte) (err error) {
	if len(text) > 0 { // as plans without a rate may have it
		*r, err = ParseRate(string(text))
	}
	return err
}

// IsZero reports whether there are no arrivals.
func (r Rate) IsZero() bool { return r == Rate{} }

// Max returns the highest rate that is reached in a window that is long enough, in arrivals a second.
func (r Rate) Max() float64 { return max(r.From, r.To) }

// Mean returns the mean rate over a measured window of that length, in arrivals a second; of one without an end (0)
// it is the rate that stays.
func (r Rate) Mean(window time.Duration) float64 {
	if window <= 0 || r.Over == 0 {
		return r.To
	}
	w, over := window.Seconds(), r.Over.Seconds()
	ramp := min(w, over)
	return r.To + (r.From-r.To)*(ramp-ramp*ramp/over/2)/w
}
