// Rates: how many arrivals a second there are, and how that changes in the course of a trial.

package spec

import (
	"errors"
	"fmt"
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

// MaxRate is the highest rate, in arrivals a second: over this the harness alone has no time for it, so that it is a slip.
const MaxRate = 10e6

// MinRate is the lowest: one in a quarter of an hour.
const MinRate = 0.001

const maxRamp = 7 * 24 * time.Hour // the longest trial

// The examples that errors show.
const (
	likeRates = "5000, 5k, 0.5 or 1k:50k:10s"
	likeRate  = "5000, 5k or 0.5"
)

// ParseRate reads a rate. The error says what is wrong and what would be right, without the flag's name.
func ParseRate(text string) (Rate, error) {
	if text == "" {
		return Rate{}, errors.New("is empty: arrivals a second are written like " + likeRates)
	}
	parts := strings.Split(text, ":")
	if len(parts) > 1 {
		return parseRamp(parts)
	}
	perSecond, err := parseNumber(text)
	if err != nil {
		return Rate{}, err
	}
	return Rate{from: perSecond, to: perSecond}, nil
}

func parseRamp(parts []string) (Rate, error) {
	if len(parts) != 3 {
		return Rate{}, fmt.Errorf("has %d parts: a rate that rises has three, from, to and the time that it takes, "+
			"like 1k:50k:10s", len(parts))
	}
	from, to, err := parseRange(parts[0], parts[1])
	if err != nil {
		return Rate{}, err
	}
	over, err := time.ParseDuration(parts[2])
	switch {
	case err != nil:
		return Rate{}, fmt.Errorf("%q is no time: the last part is how long the rate rises, like 10s or 1m30s", parts[2])
	case over < time.Millisecond || over > maxRamp:
		return Rate{}, fmt.Errorf("the rate rises in %v: that takes from 1ms to %s", over, Brief(maxRamp))
	}
	return Rate{from: from, to: to, over: over}, nil
}

func parseRange(first, last string) (from, to float64, err error) {
	if from, err = parseNumber(first); err != nil {
		return 0, 0, err
	}
	if to, err = parseNumber(last); err != nil {
		return 0, 0, err
	}
	if from == to {
		return 0, 0, fmt.Errorf("goes from %s to the same rate: write just %s, or two different ones", first, first)
	}
	return from, to, nil
}

// parseNumber reads arrivals a second: decimal digits, perhaps with a fraction and with k or M at the end.
func parseNumber(text string) (float64, error) {
	number, exponent := text, ""
	switch {
	case strings.HasSuffix(text, "k"):
		number, exponent = text[:len(text)-1], "e3"
	case strings.HasSuffix(text, "M"):
		number, exponent = text[:len(text)-1], "e6"
	}
	whole, fraction, dotted := strings.Cut(number, ".")
	if !digits(whole) || dotted && !digits(fraction) {
		if strings.HasSuffix(text, "/s") {
			return 0, fmt.Errorf("%q is no number: rates are a second anyway, without /s: %s", text, likeRate)
		}
		return 0, fmt.Errorf("%q is no number of arrivals a second: they are written like %s", text, likeRate)
	}
	// The unit goes into the exponent, so that 0.57k is 570 and not the float beside it.
	perSecond, err := strconv.ParseFloat(number+exponent, 64)
	if err != nil || perSecond < MinRate || perSecond > MaxRate {
		return 0, fmt.Errorf("%s arrivals a second are out of range: from %v to %s are possible",
			text, MinRate, formatNumber(MaxRate))
	}
	return perSecond, nil
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

func formatNumber(perSecond float64) string { return strconv.FormatFloat(perSecond, 'f', -1, 64) }

// Brief writes 1h0m0s as 1h, as a user would.
func Brief(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// String returns the canonical spelling, without k and M; empty for none.
func (r Rate) String() string {
	switch {
	case r.written != "":
		return r.written
	case r.over > 0:
		return formatNumber(r.from) + ":" + formatNumber(r.to) + ":" + Brief(r.over)
	case r.from > 0:
		return formatNumber(r.from)
	}
	return ""
}

func (r Rate) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

func (r *Rate) UnmarshalText(text []byte) (err error) {
	*r = Rate{}
	switch parts := strings.Split(string(text), ":"); {
	case len(text) == 0:
	case len(parts) == 4 && (parts[0] == "steps" || parts[0] == "ladder"):
		r.from, r.to, err = parseRange(parts[1], parts[2])
		r.written = string(text)
	default:
		*r, err = ParseRate(string(text))
	}
	return unread(err, "rate must be written like "+likeRates)
}

// IsZero reports whether there are no arrivals.
func (r Rate) IsZero() bool { return r == Rate{} }

// Max returns the highest rate that is reached in a window that is long enough, in arrivals a second.
func (r Rate) Max() float64 { return max(r.from, r.to) }

// Changes reports whether the rate is not the same all the time.
func (r Rate) Changes() bool { return r.from != r.to }

// Ramp returns how long the rate rises or falls evenly from the opening of the measured window on; 0 for the other forms.
func (r Rate) Ramp() time.Duration { return r.over }

// First returns the rate before the measured window opens, and of a ramp until then, in arrivals a second.
func (r Rate) First() float64 { return r.from }

// At returns what a constant rate or a ramp has reached when the measured window has been open for that long, in arrivals a second.
func (r Rate) At(since time.Duration) float64 {
	if since >= r.over {
		return r.to
	}
	return r.from + (r.to-r.from)*since.Seconds()/r.over.Seconds()
}

// Mean returns the mean rate over a measured window of that length, in arrivals a second; of one without an end (0) it is
// the rate that stays.
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
