// The kinds of values: how each is read, and written as people type it.

package spec

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Value is a setting in a plan, as a flag has it (it is a pflag.Value): a pointer to the field, or a struct of
// pointers to the fields of which it is made.
type Value interface {
	Set(text string) error // the error completes a sentence, as in "must be on or off"
	String() string        // as it is typed; "" for the usual value
	Usual() string         // how that is typed, if it can be
	Type() string          // what stands for the value in the help; "" for a switch
}

// kind is how a value of one field is read and written. The usual one is what a plan has that says nothing.
type kind[T comparable] struct {
	stands, typed string // typed is the text of the usual value; "" if it cannot be typed
	usual         T
	parse         func(string) (T, error)
	format        func(T) string
}

// field is a value of one field of a plan.
type field[T comparable] struct {
	At *T
	kind[T]
}

func (k kind[T]) of(at *T) Value { return field[T]{at, k} }

func (f field[T]) Set(text string) error {
	v, err := f.parse(text)
	switch {
	case text == f.typed:
		*f.At = f.usual
		return nil
	case err == nil:
		*f.At = v
	}
	return err
}

func (f field[T]) String() string {
	if text := f.format(*f.At); *f.At != f.usual && text != f.typed {
		return text
	}
	return ""
}

func (f field[T]) Usual() string { return f.typed }
func (f field[T]) Type() string  { return f.stands }

// The values of a switch that takes a list.
const (
	Off = "off"
	On  = "on"
)

var (
	name     = kind[string]{"NAME", "", "", parseText, written}
	topology = kind[string]{"NAME", "single", "", parseText, written}
	release  = kind[string]{"NAME", "default", "", parseText, written}
	params   = kind[string]{"NAME=VALUE", "", "", parseParams, written}
	count    = kind[int]{"N", "", 0, ParseInt, strconv.Itoa}
	number   = kind[int]{"N", "0", 0, ParseInt, strconv.Itoa}
	fromOne  = kind[int]{"N", "1", 0, parseFromOne, strconv.Itoa}
	ops      = kind[int64]{"OPS", "0", 0, parseOps, func(n int64) string { return strconv.FormatInt(n, 10) }}
	share    = kind[float64]{"SHARE", "0%", 0, ParseShare, FormatShare}
	hertz    = kind[float64]{"HZ", "0", 0, parseHertz, plain}
	span     = kind[time.Duration]{"TIME", "", 0, ParseTime, formatTime}
	period   = kind[time.Duration]{"TIME", "0s", 0, ParseTime, formatTime}
	onOff    = kind[bool]{"", Off, false, parseSwitch, func(bool) string { return On }}
	usually  = kind[bool]{"", "true", true, parseSwitch, strconv.FormatBool}
	keys     = kind[Keys]{"KEYS", "uniform", Keys{}, ParseKeys, Keys.String}
	rate     = kind[Rate]{"RATE", "0", Rate{}, ParseRate, Rate.String}
)

func parseText(text string) (string, error) { return text, nil }
func written(text string) string            { return text }

func parseFromOne(text string) (int, error) {
	n, err := ParseInt(text)
	if err == nil && n < 1 {
		err = errors.New("must be 1 or more")
	}
	return n, err
}

func parseOps(text string) (int64, error) {
	n, err := ParseInt(text)
	return int64(n), err
}

func parseHertz(text string) (float64, error) { return parseDecimal(text, "") }

func parseSwitch(text string) (on bool, err error) {
	if on = text == On || text == "true"; !on && text != Off && text != "false" {
		err = errors.New("must be on, off, or both as in off,on")
	}
	return on, err
}

// parseParams reads options of a library, NAME=VALUE+NAME=VALUE, and sorts them by name, so that a set has one
// spelling. A plus sign joins them: commas separate the values of a list, and a semicolon ends the shell's command.
func parseParams(text string) (string, error) {
	words := strings.Split(text, "+")
	slices.Sort(words)
	for i, word := range words {
		name, value, _ := strings.Cut(word, "=")
		switch {
		case name == "" || value == "":
			return "", errors.New("must be NAME=VALUE, or several of them joined by a plus sign")
		case i > 0 && strings.HasPrefix(words[i-1], name+"="):
			return "", fmt.Errorf("must not set %s twice", name)
		}
	}
	return strings.Join(words, "+"), nil
}

// ParamMap returns the library's options by name.
func (p *Plan) ParamMap() map[string]string {
	if p.Params == "" {
		return nil
	}
	all := map[string]string{}
	for word := range strings.SplitSeq(p.Params, "+") {
		name, value, _ := strings.Cut(word, "=")
		all[name] = value
	}
	return all
}

// The times of a way of waiting that does not give its own.
const (
	DefaultPoll       = 10 * time.Millisecond
	DefaultBackoffMin = time.Millisecond
	DefaultBackoffMax = 100 * time.Millisecond
)

// way is a way of waiting, with times of its own if they are not the default: queue, poll:5ms, backoff:1ms:2s.
type way struct {
	Name           *string
	Poll, Min, Max *time.Duration
}

func (v way) Set(text string) error {
	words := strings.Split(text, ":")
	*v.Name, *v.Poll, *v.Min, *v.Max = words[0], 0, 0, 0
	times := map[string][]*time.Duration{"poll": {v.Poll}, "backoff": {v.Min, v.Max}}[words[0]]
	fits := len(words) == 1 || len(words) == 1+len(times)
	for i := 1; i < len(words) && fits; i++ {
		t, err := ParseTime(words[i])
		*times[i-1], fits = t, err == nil && time.Microsecond <= t && t <= MaxTime
	}
	if !fits || *v.Min > *v.Max {
		return errors.New("must be a way of waiting, poll:TIME, or backoff:MIN:MAX with the shorter bound first (1us to 24h)")
	}
	return nil
}

func (v way) String() string {
	poll, low, high := cmp.Or(*v.Poll, DefaultPoll), cmp.Or(*v.Min, DefaultBackoffMin), cmp.Or(*v.Max, DefaultBackoffMax)
	switch {
	case *v.Name == "poll" && poll != DefaultPoll:
		return "poll:" + formatTime(poll)
	case *v.Name == "backoff" && (low != DefaultBackoffMin || high != DefaultBackoffMax):
		return "backoff:" + formatTime(low) + ":" + formatTime(high)
	}
	return *v.Name
}
func (v way) Usual() string { return "" }
func (v way) Type() string  { return "NAME" }

// mode is a way to share connections, and of auto for how long the library collects commands: off, auto:100us.
type mode struct {
	Name  *string
	Delay *time.Duration
}

func (v mode) Set(text string) (err error) {
	name, after, collects := strings.Cut(text, ":")
	if *v.Delay = 0; collects {
		*v.Delay, err = ParseTime(after)
	}
	if err != nil || collects && name != "auto" || *v.Delay < 0 || *v.Delay > time.Second {
		return errors.New("must be a name, or auto:TIME with a time from 0s to 1s")
	}
	if *v.Name = name; name == v.Usual() {
		*v.Name = ""
	}
	return nil
}

func (v mode) String() string {
	if *v.Delay != 0 {
		return "auto:" + formatTime(*v.Delay)
	}
	return *v.Name
}
func (v mode) Usual() string { return "default" }
func (v mode) Type() string  { return "MODE" }

// times are fixed, or drawn and then fixed is their mean.
type times struct {
	Fixed *time.Duration
	Drawn *Times
}

// Set does not read the file that a distribution names: its mean is unknown until then.
func (v times) Set(text string) error {
	t, err := ParseTimes(text)
	*v.Fixed, _ = t.Moments()
	if *v.Drawn = t; t.Kind == "" {
		*v.Drawn = Times{}
	}
	return err
}
func (v times) String() string {
	switch v.Drawn.Kind {
	case "":
		return period.of(v.Fixed).String()
	case TimesFile:
		return v.Drawn.String() // with a name that is not ours
	}
	return ascii(v.Drawn.String())
}
func (v times) Usual() string { return "0s" }
func (v times) Type() string  { return "TIMES" }

// Must returns v, and panics if err is not nil: it is for values that are written into a program.
func Must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

var grouped = regexp.MustCompile(`^[+-]?[0-9]+(_[0-9]+)*$`)

// ParseInt reads a whole number, which may be grouped (1_000) and carry k or M for thousands and millions (10k). The
// error says what would be right, without the setting's name.
func ParseInt(text string) (int, error) {
	digits := strings.TrimRight(text, "kKM")
	factor := map[string]int{"": 1, "k": 1_000, "K": 1_000, "M": 1_000_000}[text[len(digits):]]
	if factor == 0 || !grouped.MatchString(digits) {
		return 0, errors.New("must be a whole number such as 64, 1_000 or 10k")
	}
	n, err := strconv.Atoi(strings.ReplaceAll(digits, "_", ""))
	if err != nil || n*factor/factor != n {
		return 0, errors.New("too large a number")
	}
	return n * factor, nil
}

// ParseSeed reads a seed: any number of 64 bits.
func ParseSeed(text string) (uint64, error) {
	n, err := strconv.ParseUint(text, 0, 64)
	if err != nil {
		return 0, errors.New("must be a number from 0 to 2^64-1")
	}
	return n, nil
}

var decimal = regexp.MustCompile(`^([0-9]+(_[0-9]+)*)?\.?[0-9]*$`)

// parseDecimal reads a number in digits, which may be grouped, and a point, times a power of ten such as e3. The two
// are read as one, so that 0.57k is 570, and not the float beside it.
func parseDecimal(number, power string) (float64, error) {
	n, err := strconv.ParseFloat(strings.ReplaceAll(number, "_", "")+power, 64)
	if err != nil || !decimal.MatchString(number) {
		return 0, errors.New("must be a number such as 5 or 0.5")
	}
	return n, nil
}

// ParseTime reads a time as Go writes it. A number without a unit is refused: it means seconds to some and
// milliseconds to others. The error says what would be right, without the setting's name.
func ParseTime(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, errors.New("must be a time with its unit such as 250us, 1.5ms, 30s or 2m")
	}
	return d, nil
}

var zeroParts = regexp.MustCompile(`([hm])(0m)?0s$`)

// Brief writes 1h0m0s as 1h, as a user would.
func Brief(d time.Duration) string { return zeroParts.ReplaceAllString(d.String(), "$1") }

// formatTime writes a time as it is typed: brief, and in ASCII.
func formatTime(d time.Duration) string { return ascii(Brief(d)) }

func ascii(time string) string { return strings.ReplaceAll(time, "µs", "us") }

// ParseShare reads a share of a whole, 80% or 0.8, as 0.8. A number of 1 or more needs its percent sign, since 1 might
// be all of it or a hundredth. The error says what would be right, without the flag's name.
func ParseShare(text string) (float64, error) {
	number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	power := map[bool]string{true: "e-2"}[percent]
	share, err := parseDecimal(strings.TrimSpace(number), power)
	if err != nil || share > 1 || share == 1 && !percent {
		return 0, errors.New("must be 0% to 100%, with the percent sign, or less than 1 such as 0.1")
	}
	return share, nil
}

// FormatShare returns the canonical spelling of a share: 80%. ParseShare reads the same share from it again. It moves
// the digits, so that nothing is rounded.
func FormatShare(share float64) string {
	whole, rest, _ := strings.Cut(strconv.FormatFloat(share, 'f', -1, 64), ".")
	rest += "00"
	number := cmp.Or(strings.TrimLeft(whole+rest[:2], "0"), "0") + "." + strings.TrimRight(rest[2:], "0")
	return strings.TrimSuffix(number, ".") + "%"
}
