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

func set[T any](v *T, text string, parse func(string) (T, error)) error {
	got, err := parse(text)
	if err == nil {
		*v = got
	}
	return err
}

// name is a text; those of the values that a plan has without it are empty.
type name string

func (v *name) Set(text string) error {
	*v = name(ifSet(text != "default" && text != "single", text))
	return nil
}
func (v *name) String() string { return string(*v) }
func (v *name) Type() string   { return "NAME" }

type number int

func (v *number) Set(text string) error { return set((*int)(v), text, ParseInt) }
func (v *number) String() string        { return FormatInt(int(*v)) }
func (v *number) Type() string          { return "N" }

// fromOne is a number from 1, and 0 for the usual 1.
type fromOne int

func (v *fromOne) Set(text string) error {
	n, err := ParseInt(text)
	if err == nil && n < 1 {
		err = errors.New("must be 1 or more")
	}
	*v = fromOne(n)
	if n == 1 {
		*v = 0
	}
	return err
}
func (v *fromOne) String() string { return ifSet(*v != 1, FormatInt(int(*v))) }
func (v *fromOne) Type() string   { return "N" }

type ops int64

func (v *ops) Set(text string) error {
	n, err := ParseInt(text)
	*v = ops(n)
	return err
}
func (v *ops) String() string { return FormatInt(int(*v)) }
func (v *ops) Type() string   { return "OPS" }

type share float64

func (v *share) Set(text string) error { return set((*float64)(v), text, ParseShare) }
func (v *share) String() string        { return ifSet(*v != 0, FormatShare(float64(*v))) }
func (v *share) Type() string          { return "SHARE" }

// hertz is how often a second.
type hertz float64

func (v *hertz) Set(text string) error {
	f, err := strconv.ParseFloat(text, 64)
	if *v = hertz(f); err != nil {
		return errors.New("must be 0, or a number of requests a second")
	}
	return nil
}
func (v *hertz) String() string { return ifSet(*v != 0, strconv.FormatFloat(float64(*v), 'f', -1, 64)) }
func (v *hertz) Type() string   { return "HZ" }

// period is a fixed time.
type period time.Duration

func (v *period) Set(text string) error { return set((*time.Duration)(v), text, ParseTime) }
func (v *period) String() string        { return formatTime(time.Duration(*v)) }
func (v *period) Type() string          { return "TIME" }

// The values of a switch that takes a list.
const (
	Off = "off"
	On  = "on"
)

// onOff is a switch that takes a list.
type onOff bool

func (v *onOff) Set(text string) error {
	if *v = text == On || text == "true"; *v || text == Off || text == "false" {
		return nil
	}
	return errors.New("must be on, off, or both as in off,on")
}
func (v *onOff) String() string { return ifSet(bool(*v), On) }
func (v *onOff) Type() string   { return "" }

// unlessFalse is a switch that is usually on.
type unlessFalse bool

func (v *unlessFalse) Set(text string) error { return set((*bool)(v), text, ParseSwitch) }
func (v *unlessFalse) String() string        { return ifSet(!bool(*v), "false") }
func (v *unlessFalse) Type() string          { return "" }

// params are options of a library, NAME=VALUE+NAME=VALUE by name, so that a set has one spelling. A plus sign joins
// them: commas separate the values of a list, and a semicolon would end the shell's command.
type params string

func (v *params) Set(text string) error {
	words := strings.Split(text, "+")
	slices.Sort(words)
	for i, word := range words {
		name, value, _ := strings.Cut(word, "=")
		switch {
		case name == "" || value == "":
			return errors.New("must be NAME=VALUE, or several of them joined by a plus sign")
		case i > 0 && strings.HasPrefix(words[i-1], name+"="):
			return fmt.Errorf("must not set %s twice", name)
		}
	}
	*v = params(strings.Join(words, "+"))
	return nil
}
func (v *params) String() string { return string(*v) }
func (v *params) Type() string   { return "NAME=VALUE" }

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
	var times []*time.Duration
	switch {
	case words[0] == "poll" && len(words) == 2:
		times = []*time.Duration{v.Poll}
	case words[0] == "backoff" && len(words) == 3:
		times = []*time.Duration{v.Min, v.Max}
	}
	wrong := len(words) != 1+len(times) && len(words) > 1
	for i, d := range times {
		if *d, err = ParseTime(words[1+i]); err != nil {
			return err
		}
		wrong = wrong || *d < time.Microsecond || *d > MaxTime
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
		return formatTime(*v.Fixed)
	case TimesFile:
		return v.Drawn.String() // with a name that is not ours
	}
	return ascii(v.Drawn.String())
}
func (v times) Type() string { return "TIMES" }
