// From the text of options to the plans of a matrix.

package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results/spec"
)

// reader reads options and remembers the first that cannot be read.
type reader struct {
	o    *options
	only map[string]bool // the axes that matrix reads; nil: all
	err  error
}

func (r *reader) fail(opt *option, err error) {
	if r.err == nil {
		r.err = r.o.complain(opt, "%w", err)
	}
}

func scalar[T any](r *reader, name string, parse func(string) (T, error)) T {
	opt := r.o.get(name)
	v, err := parse(opt.text)
	if err != nil {
		r.fail(opt, err)
	}
	return v
}

// set reads the value number i of an option into p, and the file of times that it names.
func (r *reader) set(p *spec.Plan, s spec.Setting, i int, text string) {
	err := s.Set(p, text)
	if err == nil {
		err = r.o.replays.fill(&p.Load)
	}
	if err != nil && r.err == nil {
		r.err = r.o.complainOf(r.o.get(s.Name), i, err)
	}
}

// base is what the cells of a matrix have in common.
func (r *reader) base(seed uint64) spec.Plan {
	p := spec.Plan{Seed: seed}
	for _, s := range spec.Settings {
		if !s.Axis {
			r.set(&p, s, 0, r.o.text(s.Name))
		}
	}
	if p.Ops > 0 && r.o.get("duration").from == fromDefault {
		p.Duration = 0 // it takes as long as it takes
	}
	return p
}

// matrix is base with every combination of the lists, the first setting turning slowest. Values that are the only ones of
// their settings are read once.
func (r *reader) matrix(base spec.Plan) []spec.Plan {
	lists := map[string][]string{}
	for _, s := range spec.Settings {
		if !s.Axis || r.only != nil && !r.only[s.Name] {
			continue
		}
		values := r.values(s)
		if len(values) == 1 {
			r.set(&base, s, 0, values[0])
		}
		if r.err != nil {
			return nil
		}
		lists[s.Name] = values
	}
	plans := []spec.Plan{base}
	for _, s := range spec.Settings {
		if values := lists[s.Name]; len(values) > 1 {
			plans = r.cross(plans, s, values)
		}
	}
	return plans
}

// values are those of a setting, as they are typed. There are none if nobody sets it and it has no default.
func (r *reader) values(s spec.Setting) []string {
	if opt := r.o.get(s.Name); opt.text == "" && opt.from == fromDefault {
		return nil
	}
	return list(r, s.Name, func(text string) (string, error) {
		var p spec.Plan
		if err := s.Set(&p, text); err != nil {
			return "", err
		}
		return cmp.Or(s.Typed(&p, &p.Load), text), nil // in one spelling, by which values are told apart
	})
}

// cross returns for each plan one for every value of a setting.
func (r *reader) cross(plans []spec.Plan, s spec.Setting, values []string) []spec.Plan {
	if len(plans)*len(values) > maxCells {
		r.err = usageErrorf("-%s: the lists make a matrix of more than %d cells", s.Name, maxCells)
	}
	if r.err != nil {
		return nil
	}
	crossed := make([]spec.Plan, 0, len(plans)*len(values))
	for _, p := range plans {
		for i, text := range values {
			r.set(&p, s, i, text)
			crossed = append(crossed, p)
		}
	}
	return crossed
}

// list reads the comma list of an option.
func list[T comparable](r *reader, name string, parse func(string) (T, error)) []T {
	opt := r.o.get(name)
	all, err := parseList(opt.text, parse)
	var part *partError
	switch {
	case errors.As(err, &part) && r.err == nil:
		r.err = r.o.complainOf(opt, part.index, err)
	case err != nil:
		r.fail(opt, err)
	}
	return all
}

// partError is the fault of one value of a list.
type partError struct {
	index int
	err   error
}

func (e *partError) Error() string { return e.err.Error() }
func (e *partError) Unwrap() error { return e.err }

// parseList reads a comma list. An empty part or one that is given twice is more likely a slip than a wish.
func parseList[T comparable](s string, parse func(string) (T, error)) ([]T, error) {
	var list []T
	for part := range strings.SplitSeq(s, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			return nil, errors.New("must not have an empty part")
		}
		v, err := parse(part)
		if err != nil {
			return nil, &partError{len(list), err}
		}
		if slices.Contains(list, v) {
			return nil, &partError{len(list), fmt.Errorf("must not name %s twice", part)}
		}
		list = append(list, v)
	}
	return list, nil
}

func parseText(s string) (string, error) { return s, nil }
