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
	from, to float64       // arrivals a second; the same if constant
	over     time.Duration // that a ramp takes
	written  string        // of an old record, in steps between the two: nothing else can make such arrivals
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

const rateForms = "must be arrivals a second such as 5000, 5k or 0.5 (0.001 to 10M), or rise in a time as in 1k:50k:10s"

// ParseRate reads a rate. The error does not repeat the text.
func ParseRate(text string) (r Rate, err error) {
	parts := strings.Split(text, ":")
	switch r.from = parseNumber(parts[0]); len(parts) {
	case 1:
		r.to = r.from
	case 3:
		r.to = parseNumber(parts[1])
		r.over, err = time.ParseDuration(parts[2])
	}
	ramp := r.from != r.to && time.Millisecond <= r.over && r.over <= 7*MaxTime
	if err != nil || r.from == 0 || r.to == 0 || len(parts) == 3 && !ramp {
		return Rate{}, errors.New(rateForms)
	}
	return r, nil
}

// parseNumber reads arrivals a second; 0 is none that are possible. The unit becomes an exponent, so that 0.57k is
// 570 and not the float beside it.
func parseNumber(text string) float64 {
	perSecond, err := strconv.ParseFloat(strings.NewReplacer("k", "e3", "M", "e6").Replace(text), 64)
	if err != nil || !(MinRate <= perSecond && perSecond <= MaxRate) {
		return 0
	}
	return perSecond
}

func plain(perSecond float64) string { return strconv.FormatFloat(perSecond, 'f', -1, 64) }

// String returns the canonical spelling, without k and M; empty for none.
func (r Rate) String() string {
	switch {
	case r.written != "":
		return r.written
	case r.over > 0:
		return plain(r.from) + ":" + plain(r.to) + ":" + Brief(r.over)
	case r.from > 0:
		return plain(r.from)
	}
	return ""
}

func (r Rate) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

func (r *Rate) UnmarshalText(text []byte) error {
	parts := strings.Split(string(text), ":")
	if len(parts) != 4 || parts[0] != "steps" && parts[0] != "ladder" {
		return unread(r.Set(string(text)), "rate "+rateForms)
	}
	*r = Rate{from: parseNumber(parts[1]), to: parseNumber(parts[2]), written: string(text)}
	if r.from == 0 || r.to == 0 {
		return errors.New("rate " + rateForms)
	}
	return nil
}

// Set reads a rate as it is typed, where 0 and the empty text are none.
func (r *Rate) Set(text string) (err error) {
	if *r = (Rate{}); text != "0" && text != "" {
		*r, err = ParseRate(text)
	}
	return err
}

func (r *Rate) Type() string { return "RATE" }

// IsZero reports whether there are no arrivals.
func (r Rate) IsZero() bool { return r == Rate{} }

// Max returns the highest rate that is reached in a window that is long enough, in arrivals a second.
func (r Rate) Max() float64 { return max(r.from, r.to) }

// Changes reports whether the rate is not the same all the time.
func (r Rate) Changes() bool { return r.from != r.to }

// Ramp returns how long the rate rises or falls evenly from the opening of the measured window on; 0 for the other
// forms.
func (r Rate) Ramp() time.Duration { return r.over }

// First returns the rate before the measured window opens, and of a ramp until then, in arrivals a second.
func (r Rate) First() float64 { return r.from }

// At returns what a constant rate or a ramp has reached when the measured window has been open for that long, in
// arrivals a second.
func (r Rate) At(since time.Duration) float64 {
	if since >= r.over {
		return r.to
	}
	return r.from + (r.to-r.from)*since.Seconds()/r.over.Seconds()
}

// Mean returns the mean rate over a measured window of that length, in arrivals a second; of one without an end (0)
// it is the rate that stays.
func (r Rate) Mean(window time.Duration) float64 {
	switch {
	case r.written != "":
		return (r.from + r.to) / 2
	case r.over > 0 && window > 0:
		rising := min(r.over, window).Seconds()
		return ((r.from+r.At(window))/2*rising + r.to*(window.Seconds()-rising)) / window.Seconds()
	}
	return r.to
}
