// A lock library's own options, as parameters of its driver.

package drivers

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Parametrised is a Driver whose library has options of its own.
type Parametrised interface {
	// Params lists the options. It needs no server.
	Params() []Param
}

// Param is one option of a library. Its value is text, as in Config.Params.
type Param struct {
	Name    string                   `json:"param"`
	Default string                   `json:"default"` // the library's own, unless Text says otherwise
	Text    string                   `json:"text"`    // one line of help
	Check   func(value string) error `json:"-"`
}

// IntParam returns an option that is a whole number, at least low.
func IntParam(name, def string, low int, text string) Param {
	return Param{name, def, text, func(value string) error {
		if n, err := strconv.Atoi(value); err != nil || n < low {
			return fmt.Errorf("must be a whole number from %d", low)
		}
		return nil
	}}
}

// TimeParam returns an option that is a time, 0 or longer.
func TimeParam(name, def, text string) Param {
	return Param{name, def, text, func(value string) error {
		if d, err := time.ParseDuration(value); err != nil || d < 0 {
			return errors.New("must be a time such as 250us, 20ms or 1s, and not negative")
		}
		return nil
	}}
}

// ShareParam returns an option that is a fraction from 0 to 1.
func ShareParam(name, def, text string) Param {
	return Param{name, def, text, func(value string) error {
		if f, err := strconv.ParseFloat(value, 64); err != nil || !(f >= 0 && f <= 1) {
			return errors.New("must be a number from 0 to 1")
		}
		return nil
	}}
}

// SwitchParam returns an option that is on or off.
func SwitchParam(name, def, text string) Param { return ChoiceParam(name, def, text, "true", "false") }

// ChoiceParam returns an option that is one of the choices.
func ChoiceParam(name, def, text string, choices ...string) Param {
	return Param{name, def, text, func(value string) error {
		if !slices.Contains(choices, value) {
			return fmt.Errorf("must be one of %s", strings.Join(choices, ", "))
		}
		return nil
	}}
}

// AgainParam returns the option of a library that gives up (ErrGaveUp).
func AgainParam() Param {
	return SwitchParam("again", "false", "call the library again when it has given up, as an application may do, until -timeout")
}

// ParamsOf lists the options of d; it has none unless it is Parametrised.
func ParamsOf(d Driver) []Param {
	if p, ok := d.(Parametrised); ok {
		return p.Params()
	}
	return nil
}

// ParamValues are the checked values of all options of a library, so that reading one cannot fail.
type ParamValues map[string]string

// ReadParams returns the given options with the defaults of d filled in. The error names the option and what is
// allowed.
func ReadParams(d Driver, given map[string]string) (ParamValues, error) {
	known := ParamsOf(d)
	values, names := ParamValues{}, make([]string, len(known))
	for i, p := range known {
		values[p.Name], names[i] = p.Default, p.Name
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		i := slices.Index(names, name)
		switch {
		case len(known) == 0:
			return nil, fmt.Errorf("unknown parameter %q; there are none", name)
		case i < 0:
			return nil, fmt.Errorf("unknown parameter %q; there are %s", name, strings.Join(names, ", "))
		}
		if err := known[i].Check(given[name]); err != nil {
			return nil, fmt.Errorf("parameter %s=%s: %w", name, given[name], err)
		}
		values[name] = given[name]
	}
	return values, nil
}

// Int, Time, Share and On return the value of an option of their kind.
func (v ParamValues) Int(name string) int {
	n, _ := strconv.Atoi(v[name])
	return n
}

func (v ParamValues) Time(name string) time.Duration {
	d, _ := time.ParseDuration(v[name])
	return d
}

func (v ParamValues) Share(name string) float64 {
	f, _ := strconv.ParseFloat(v[name], 64)
	return f
}

func (v ParamValues) On(name string) bool { return v[name] == "true" }
