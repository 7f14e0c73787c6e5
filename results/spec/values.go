// The kinds of values: how each is read, and written as people type it.

package spec

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Value is a setting in a plan, as a flag has it (it is a pflag.Value): a pointer to the field, or a struct of
// pointers to the fields of which it is made.
type Value interface {
	Set(text string) error // the error completes a sentence, as in "must be on or off"
	String() string        // as it is typed; "" for what a plan has without it
	Type() string          // what stands for the value in the help; "" for a switch
}

// kind is how a value of one field is read and written. usual is what the value of a plan that does not set it is
// written as; Text leaves that out.
type kind[T any] struct {
	stands, usual string
	parse         func(string) (T, error)
	format        func(T) string
}

// field is a value of one field of a plan.
type field[T any] struct {
	At *T
	kind[T]
}

func (k kind[T]) of(at *T) Value { return field[T]{at, k} }

func (f field[T]) Set(text string) error {
	v, err := f.parse(text)
	if err == nil {
		*f.At = v
	}
	return err
}

func (f field[T]) String() string {
	text := f.format(*f.At)
	return ifSet(text != f.usual, text)
}

func (f field[T]) Type() string { return f.stands }

// The values of a switch that takes a list.
const (
	Off = "off"
	On  = "on"
)

var (
	name    = kind[string]{"NAME", "", parseName, written}
	number  = kind[int]{"N", "0", ParseInt, strconv.Itoa}
	fromOne = kind[int]{"N", "1", parseFromOne, func(n int) string { return strconv.Itoa(cmp.Or(n, 1)) }}
	ops     = kind[int64]{"OPS", "0", parseOps, func(n int64) string { return strconv.FormatInt(n, 10) }}
	share   = kind[float64]{"SHARE", "0%", ParseShare, FormatShare}
	hertz   = kind[float64]{"HZ", "0", parseHertz, plain}
	period  = kind[time.Duration]{"TIME", "0s", ParseTime, formatTime}
	onOff   = kind[bool]{"", "", parseOnOff, func(on bool) string { return ifSet(on, On) }}
	usually = kind[bool]{"", "true", parseSwitch, strconv.FormatBool}
	params  = kind[string]{"NAME=VALUE", "", parseParams, written}
	keys    = kind[Keys]{"KEYS", "", ParseKeys, Keys.String}
	rate    = kind[Rate]{"RATE", "", parseTypedRate, Rate.String}
)

func written(text string) string { return text }

// parseName reads a text; those of the values that a plan has without it are empty.
func parseName(text string) (string, error) {
	return ifSet(text != "default" && text != "single", text), nil
}

// parseFromOne reads a number from 1, where 0 stands for the usual 1.
func parseFromOne(text string) (int, error) {
	n, err := ParseInt(text)
	if err == nil && n < 1 {
		err = errors.New("must be 1 or more")
	}
	if n == 1 {
		n = 0
	}
	return n, err
}

func parseOps(text string) (int64, error) {
	n, err := ParseInt(text)
	return int64(n), err
}

func parseHertz(text string) (float64, error) {
	f, err := strconv.ParseFloat(text, 64)
	return f, unread(err, "must be 0, or a number of requests a second")
}

func parseOnOff(text string) (on bool, err error) {
	if on = text == On || text == "true"; !on && text != Off && text != "false" {
		err = errors.New("must be on, off, or both as in off,on")
	}
	return on, err
}

func parseSwitch(text string) (on bool, err error) {
	if on = text == "true"; !on && text != "false" {
		err = errors.New("must be true or false")
	}
	return on, err
}

// parseParams reads options of a library, NAME=VALUE+NAME=VALUE, and sorts them by name, so that a set has one spelling.
// A plus sign joins them: commas separate the values of a list, and a semicolon would end the shell's command.
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

func (v way) Set(text string) (err error) {
	words := strings.Split(text, ":")
	*v.Name, *v.Poll, *v.Min, *v.Max = words[0], 0, 0, 0
	if len(words) == 1 {
		return nil
	}
	times := map[string][]*time.Duration{"poll": {v.Poll}, "backoff": {v.Min, v.Max}}[words[0]]
	wrong := len(words) != 1+len(times)
	for i := 0; i < len(times) && !wrong; i++ {
		if *times[i], err = ParseTime(words[1+i]); err != nil {
			return err
		}
		wrong = *times[i] < time.Microsecond || *times[i] > MaxTime
	}
	if wrong || *v.Min > *v.Max {
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
func (v way) Type() string { return "NAME" }

// mode is a way to share connections, and of auto for how long the library collects commands: off, auto:100us.
type mode struct {
	Name  *string
	Delay *time.Duration
}

func (v mode) Set(text string) (err error) {
	name, after, collects := strings.Cut(text, ":")
	*v.Name, *v.Delay = ifSet(name != "default", name), 0
	if collects {
		*v.Delay, err = ParseTime(after)
	}
	if err == nil && collects && (name != "auto" || *v.Delay < 0 || *v.Delay > time.Second) {
		err = errors.New("must be a name, or auto:TIME with a time from 0s to 1s")
	}
	return err
}

func (v mode) String() string {
	if *v.Delay != 0 { // without a name in records of before, of rueidis, whose default is auto
		return "auto:" + formatTime(*v.Delay)
	}
	return *v.Name
}
func (v mode) Type() string { return "MODE" }

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
func (v times) Type() string { return "TIMES" }
