package compare

// What decides whether two cells belong together: their plans, flag by flag.

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
)

// flags are all settings of a plan, and what its workload calls the classes of clients. Plans may differ in the seed, the
// command line and the workload's name.
//
// Duration, warm-up and number of operations are among them: a trial of a second scatters more than one of ten, has
// another p99.9 and maximum, and fewer violations to find, so that the two are not observations of one thing.
var flags = append(slices.Clone(spec.Settings), spec.Derived("workload", func(p *spec.Plan) string {
	var names []string
	for _, c := range p.Classes {
		names = append(names, c.Name)
	}
	return strings.Join(names, "/")
}))

// settings are the values of a plan by flag, as they are read: "64", "1ms", or for classes "1ms/5ms". A flag that is not
// set has none.
type settings map[string]string

// plans remembers the plans that it has seen: of thousands of trials there are a few.
type plans map[string]known

// known is a plan with its key.
type known struct {
	settings
	whole string
}

func (ps plans) read(p spec.Plan) (known, error) {
	p.Seed, p.Command, p.Workload = 0, "", ""
	text, err := json.Marshal(p)
	if err != nil {
		return known{}, fmt.Errorf("plan: %w", err)
	}
	if k, seen := ps[string(text)]; seen {
		return k, nil
	}
	s := settingsOf(&p)
	k := known{s, s.key(nil)}
	ps[string(text)] = k
	return k, nil
}

func settingsOf(p *spec.Plan) settings {
	s := settings{}
	for _, f := range flags {
		s[f.Name] = f.Typed(p, &p.Load)
		if !f.Class || len(p.Classes) == 0 {
			continue
		}
		var values []string
		for i := range p.Classes {
			values = append(values, f.Typed(p, &p.Classes[i].Load))
		}
		if s[f.Name] = values[0]; len(slices.Compact(slices.Clone(values))) > 1 {
			s[f.Name] = strings.Join(values, "/")
		}
	}
	return s
}

// key is equal for plans that agree in all but the flags in but.
func (s settings) key(but map[string]bool) string {
	var b strings.Builder
	for _, f := range flags {
		if !but[f.Name] {
			fmt.Fprintf(&b, "%s=%q ", f.Name, s[f.Name])
		}
	}
	return b.String()
}

// differing returns the flags in which plans differ.
func differing(plans []settings) (names []string) {
	for _, f := range flags {
		for _, s := range plans {
			if s[f.Name] != plans[0][f.Name] {
				names = append(names, f.Name)
				break
			}
		}
	}
	return names
}

// kindOf returns the kind of server that was measured, or that was asked for if the record does not say.
func kindOf(r *results.Record) string {
	if r.Server.Kind != "" {
		return r.Server.Kind
	}
	return r.Plan.Server
}

// orNone returns a value as it stands in a sentence.
func orNone(v string) string {
	if v == "" {
		return "none"
	}
	return v
}
