// Rates: how many arrivals a second there are, and how that changes in the course of a trial.

package spec

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

// Rate is how many arrivals a second there are in the course of a trial. The zero value is none.
//
//	5000  5k  0.5          constant; k is a thousand, M a million
//	1k:50k:10s             from the opening of the measured window it rises (or falls) evenly from the one to the other
//	                       in that time, then stays
//	steps:1k:50k:10        10 steps of the same length over the measured window, up (or down)
//	ladder:1k:50k:10       those steps shuffled, then the same backwards: a step that differs from its mirror image shows
//	                       hysteresis
type Rate struct {
	form     form
	from, to float64       // arrivals a second; the same if constant
	over     time.Duration // that a ramp takes
	steps    int           // up; a ladder has twice as many
}

// Kinds of arrivals.
const (
	Constant = "constant" // the same distance each (for that rate); schedules of different seeds begin at different phases
	Poisson  = "poisson"  // independent of one another: exponential distances
)

// streamLadder is the stream of random numbers of a seed that shuffles a ladder.
const streamLadder uint64 = 0x6172726a

type form int

const (
	none form = iota
	constant
	ramp
	steps
	ladder
)

// MaxRate is the highest rate, in arrivals a second: over this the harness alone has no time for it, so that it is a slip.
const MaxRate = 10e6

// MinRate is the lowest: one in a quarter of an hour.
const MinRate = 0.001

const (
	maxSteps = 1000
	maxRamp  = 7 * 24 * time.Hour // the longest trial
)

// The examples that errors show.
const (
	likeRates = "5000, 5k or 0.5, 1k:50k:10s, steps:1k:50k:10 or ladder:1k:50k:10"
	likeRate  = "5000, 5k or 0.5"
)

// ParseRate reads a rate. The error says what is wrong and what would be right, without the flag's name.
func ParseRate(text string) (Rate, error) {
	if text == "" {
		return Rate{}, errors.New("is empty: arrivals a second are written like " + likeRates)
	}
	parts := strings.Split(text, ":")
	switch word := parts[0]; {
	case word == "steps":
		return parseSteps(steps, word, parts[1:])
	case word == "ladder":
		return parseSteps(ladder, word, parts[1:])
	case len(parts) > 1:
		return parseRamp(parts)
	}
	perSecond, err := parseNumber(text)
	if err != nil {
		return Rate{}, err
	}
	return Rate{form: constant, from: perSecond, to: perSecond}, nil
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
	return Rate{form: ramp, from: from, to: to, over: over}, nil
}

func parseSteps(f form, word string, parts []string) (Rate, error) {
	if len(parts) != 3 {
		return Rate{}, fmt.Errorf("has %d parts after %s: there are three, the lowest rate, the highest and how many "+
			"steps, like %s:1k:50k:10", len(parts), word, word)
	}
	from, to, err := parseRange(parts[0], parts[1])
	if err != nil {
		return Rate{}, err
	}
	n, err := strconv.Atoi(parts[2])
	if err != nil || n < 2 || n > maxSteps || !digits(parts[2]) {
		return Rate{}, fmt.Errorf("%q steps: how many has to be a whole number from 2 to %d", parts[2], maxSteps)
	}
	return Rate{form: f, from: from, to: to, steps: n}, nil
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
	from, to := formatNumber(r.from), formatNumber(r.to)
	switch r.form {
	case constant:
		return from
	case ramp:
		return from + ":" + to + ":" + Brief(r.over)
	case steps, ladder:
		return map[form]string{steps: "steps:", ladder: "ladder:"}[r.form] + from + ":" + to + ":" + strconv.Itoa(r.steps)
	}
	return ""
}

func (r Rate) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

func (r *Rate) UnmarshalText(text []byte) (err error) {
	if *r = (Rate{}); len(text) > 0 {
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

// Stepped reports whether the rate goes in steps, for which the measured window has to have a length.
func (r Rate) Stepped() bool { return r.form == steps || r.form == ladder }

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
	case r.Stepped():
		return (r.from + r.to) / 2
	case r.form == ramp && window > 0:
		rising := min(r.over, window).Seconds()
		return ((r.from+r.At(window))/2*rising + r.to*(window.Seconds()-rising)) / window.Seconds()
	}
	return r.to
}

// Step is one step of a rate that goes in steps; times are since the measured window opened.
type Step struct {
	From, To time.Duration
	Rate     float64 // arrivals a second
}

// Steps returns the steps within a window of that length, in the order in which they come; none if the rate has none, or
// the window no end. seed shuffles a ladder; it has to be the one that Arrivals gets.
func (r Rate) Steps(window time.Duration, seed uint64) []Step {
	if !r.Stepped() || window <= 0 {
		return nil
	}
	order := make([]int, r.steps)
	for i := range order {
		order[i] = i
	}
	if r.form == ladder {
		rng := rand.New(rand.NewPCG(seed, streamLadder))
		rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		for i := r.steps - 1; i >= 0; i-- {
			order = append(order, order[i])
		}
	}
	list := make([]Step, len(order))
	for i, level := range order {
		list[i] = Step{
			From: fraction(window, i, len(order)),
			To:   fraction(window, i+1, len(order)),
			Rate: r.from + (r.to-r.from)*float64(level)/float64(r.steps-1),
		}
	}
	return list
}

// fraction is i/n of the window, in whole numbers that don't overflow.
func fraction(window time.Duration, i, n int) time.Duration {
	whole, rest := window/time.Duration(n), window%time.Duration(n)
	return whole*time.Duration(i) + rest*time.Duration(i)/time.Duration(n)
}
