// The kinds of settings: how the value of each is read and written as people type it.

package spec

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// value is a field of a plan. Set reads what was typed; its error completes a sentence, as in "must be on or off". String
// returns the value as it is typed, and "" for the one that Clear sets.
type value interface {
	String() string
	Set(text string) error
	Clear()
	copy(from value) // of the same setting
}

type field[T any] struct {
	of     *T
	parse  func(string) (T, error)
	format func(T) string
	zero   T
}

func (f field[T]) String() string { return f.format(*f.of) }
func (f field[T]) Clear()         { *f.of = f.zero }
func (f field[T]) copy(v value)   { *f.of = *v.(field[T]).of }

func (f field[T]) Set(text string) error {
	v, err := f.parse(text)
	if err == nil {
		*f.of = v
	}
	return err
}

// name is any text: others know which there are.
func name(of *string) value {
	return field[string]{of: of, parse: func(text string) (string, error) { return text, nil }, format: same}
}

func same(text string) string { return text }

// number is any whole number: the engine knows which are possible.
func number(of *int) value { return field[int]{of: of, parse: ParseInt, format: FormatInt} }

// count returns a number of 64 bits.
func count(of *int64) value {
	return field[int64]{
		of:     of,
		parse:  func(text string) (int64, error) { n, err := ParseInt(text); return int64(n), err },
		format: func(n int64) string { return FormatInt(int(n)) },
	}
}

// besides returns a number that is not shown if it is the usual one.
func besides(of *int, usual int) value {
	return field[int]{of: of, parse: ParseInt, format: func(n int) string { return ifSet(n != usual, FormatInt(n)) }}
}

// fromOne returns a number from 1, and 0 for the usual 1.
func fromOne(of *int) value {
	return field[int]{of: of, parse: parseFromOne, format: func(n int) string { return ifSet(n > 1, strconv.Itoa(n)) }}
}

func parseFromOne(text string) (int, error) {
	n, err := ParseInt(text)
	switch {
	case err == nil && n < 1:
		err = errors.New("must be 1 or more")
	case n == 1:
		n = 0
	}
	return n, err
}

// share is 10% or 0.1.
func share(of *float64) value {
	return field[float64]{of: of, parse: ParseShare, format: func(f float64) string { return ifSet(f != 0, FormatShare(f)) }}
}

// hertz returns how often a second.
func hertz(of *float64) value {
	return field[float64]{of: of, parse: parseHertz, format: func(f float64) string { return ifSet(f != 0, strconv.FormatFloat(f, 'f', -1, 64)) }}
}

func parseHertz(text string) (float64, error) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, errors.New("must be 0, or a number of requests a second")
	}
	return f, nil
}

// period returns a fixed time.
func period(of *time.Duration) value {
	return field[time.Duration]{of: of, parse: ParseTime, format: FormatTime}
}

// The times of a way of waiting that does not give its own.
const (
	DefaultPoll       = 10 * time.Millisecond
	DefaultBackoffMin = time.Millisecond
	DefaultBackoffMax = 100 * time.Millisecond
)

// way is a way of waiting, with times of its own if they are not the default: queue, poll:5ms, backoff:1ms:2s.
type way struct {
	name           *string
	poll, min, max *time.Duration
}

func (v way) String() string {
	poll, low, high := cmp.Or(*v.poll, DefaultPoll), cmp.Or(*v.min, DefaultBackoffMin), cmp.Or(*v.max, DefaultBackoffMax)
	switch {
	case *v.name == "poll" && poll != DefaultPoll:
		return "poll:" + FormatTime(poll)
	case *v.name == "backoff" && (low != DefaultBackoffMin || high != DefaultBackoffMax):
		return "backoff:" + FormatTime(low) + ":" + FormatTime(high)
	}
	return *v.name
}

func (v way) Clear() { *v.name, *v.poll, *v.min, *v.max = "", 0, 0, 0 }

func (v way) copy(from value) {
	f := from.(way)
	*v.name, *v.poll, *v.min, *v.max = *f.name, *f.poll, *f.min, *f.max
}

func (v way) Set(text string) error {
	words := strings.Split(text, ":")
	var times []time.Duration
	for _, word := range words[1:] {
		d, err := ParseTime(word)
		switch {
		case err != nil:
			return err
		case d < time.Microsecond || d > 24*time.Hour:
			return errors.New("must have times from 1us to 24h")
		}
		times = append(times, d)
	}
	v.Clear()
	switch *v.name = words[0]; {
	case len(times) == 0:
	case words[0] == "poll" && len(times) == 1:
		*v.poll = times[0]
	case words[0] == "backoff" && len(times) == 2 && times[0] <= times[1]:
		*v.min, *v.max = times[0], times[1]
	default:
		return errors.New("must be a way of waiting, poll:TIME, or backoff:MIN:MAX with the shorter bound first")
	}
	return nil
}

// mode is a way to share connections, and of auto for how long the library collects commands: off, auto:100us.
type mode struct {
	name  *string
	delay *time.Duration
}

func (v mode) String() string {
	if *v.delay != 0 { // without a name in records of before, of rueidis, whose default is auto
		return "auto:" + FormatTime(*v.delay)
	}
	return *v.name
}

func (v mode) Clear() { *v.name, *v.delay = "", 0 }

func (v mode) copy(from value) {
	*v.name, *v.delay = *from.(mode).name, *from.(mode).delay
}

func (v mode) Set(text string) error {
	name, after, collects := strings.Cut(text, ":")
	var delay time.Duration
	if collects {
		var err error
		if delay, err = ParseTime(after); err != nil {
			return err
		}
		if name != "auto" || delay < 0 || delay > time.Second {
			return errors.New("must be a name, or auto:TIME with a time from 0s to 1s")
		}
	}
	v.Clear()
	*v.name, *v.delay = name, delay
	return nil
}

// The values of a switch that a list can have.
const (
	Off = "off"
	On  = "on"
)

// onOff returns a switch that a list can have.
func onOff(of *bool) value {
	return field[bool]{of: of, parse: parseOnOff, format: func(on bool) string { return ifSet(on, On) }}
}

// parseOnOff reads the spelling of other switches too.
func parseOnOff(text string) (bool, error) {
	switch text {
	case On, "true":
		return true, nil
	case Off, "false":
		return false, nil
	}
	return false, errors.New("must be on, off, or both as in off,on")
}

// unlessFalse returns a switch that is on.
func unlessFalse(of *bool) value {
	return field[bool]{of: of, parse: ParseSwitch, format: func(on bool) string { return ifSet(!on, "false") }, zero: true}
}

// ParseSwitch reads true or false.
func ParseSwitch(text string) (bool, error) {
	switch text {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, errors.New("must be true or false")
}

func keys(of *Keys) value { return field[Keys]{of: of, parse: ParseKeys, format: Keys.String} }

func rate(of *Rate) value {
	return field[Rate]{of: of, parse: ParseRate, format: func(r Rate) string { return typed(r.String()) }}
}

// params are options of a library.
func params(of *string) value { return field[string]{of: of, parse: parseParams, format: same} }

// parseParams reads NAME=VALUE+NAME=VALUE: a plus sign joins, because commas separate the values of a list and a semicolon
// would end the shell's command. It returns them in alphabetical order, so that a set has one spelling.
func parseParams(text string) (string, error) {
	given := map[string]bool{}
	var words []string
	for word := range strings.SplitSeq(text, "+") {
		name, value, ok := strings.Cut(word, "=")
		switch {
		case !ok || name == "" || value == "":
			return "", errors.New("must be NAME=VALUE, or several of them joined by a plus sign")
		case given[name]:
			return "", fmt.Errorf("must not set %s twice", name)
		}
		given[name] = true
		words = append(words, word)
	}
	slices.Sort(words)
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

// times are fixed, or drawn and then fixed is their mean.
type times struct {
	fixed *time.Duration
	drawn *Times
}

func (v times) String() string { return FormatTimes(timesOf(*v.fixed, *v.drawn)) }
func (v times) Clear()         { *v.fixed, *v.drawn = 0, Times{} }
func (v times) copy(from value) {
	*v.fixed, *v.drawn = *from.(times).fixed, *from.(times).drawn
}

// Set does not read the file that a distribution names: its mean is unknown until then.
func (v times) Set(text string) error {
	t, err := ParseTimes(text)
	if err != nil {
		return err
	}
	*v.drawn = t
	*v.fixed, _ = t.Moments()
	if t.Kind == "" {
		*v.drawn = Times{}
	}
	return nil
}

// ParseInt reads a whole number, which may be grouped (1_000) and carry k or M for thousands and millions (10k). The error
// says what would be right, without the setting's name.
func ParseInt(text string) (int, error) {
	digits, factor := strings.TrimRight(text, "kKM"), 1
	switch text[len(digits):] {
	case "k", "K":
		factor = 1_000
	case "M":
		factor = 1_000_000
	default:
		digits = text // whose letters, if there are any, are no number
	}
	plain, ok := ungroup(digits)
	n, err := strconv.Atoi(plain)
	switch {
	case errors.Is(err, strconv.ErrRange) || ok && err == nil && (n > math.MaxInt/factor || n < math.MinInt/factor):
		return 0, errors.New("too large a number")
	case err != nil || !ok:
		return 0, errors.New("must be a whole number such as 64, 1_000 or 10k")
	}
	return n * factor, nil
}

// ParseSeed reads a seed: any number of 64 bits.
func ParseSeed(text string) (uint64, error) {
	plain, ok := ungroup(text)
	n, err := strconv.ParseUint(plain, 0, 64)
	if err != nil || !ok {
		return 0, errors.New("must be a number from 0 to 2^64-1")
	}
	return n, nil
}

// ungroup takes the underscores out of 1_000; they may only stand between digits.
func ungroup(text string) (plain string, ok bool) {
	digit := func(i int) bool { return 0 <= i && i < len(text) && '0' <= text[i] && text[i] <= '9' }
	for i := range len(text) {
		if text[i] == '_' && !(digit(i-1) && digit(i+1)) {
			return "", false
		}
	}
	return strings.ReplaceAll(text, "_", ""), true
}

// ParseTime reads a time as Go writes it. A number without a unit is refused: it means seconds to some and milliseconds to
// others. The error says what would be right, without the setting's name.
func ParseTime(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err == nil {
		return d, nil
	}
	if _, numeric := strconv.ParseFloat(text, 64); numeric == nil {
		return 0, fmt.Errorf("must have a unit, as in %ss or %sms", text, text)
	}
	return 0, errors.New("must be a time such as 250us, 1.5ms, 30s or 2m")
}
