// From the text of options to the cells of a matrix.

package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads/matrix"
)

// reader reads options and remembers the first that cannot be read.
type reader struct {
	o   *options
	err error
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

// cells returns one for every combination of the options' values.
func (r *reader) cells(seed uint64) []spec.Plan {
	axes := r.axes(func(spec.Setting) bool { return true })
	if r.err == nil {
		if err := matrix.CheckNames(axes); err != nil {
			r.err = r.o.explain(err)
		}
	}
	if r.err != nil {
		return nil
	}
	cells, err := matrix.Expand(spec.Plan{Seed: seed}, axes, maxCells)
	if err != nil {
		r.err = usageErrorf("%w", err)
	}
	for i := range cells {
		if c := &cells[i]; c.Ops > 0 && r.o.get("duration").from == fromDefault {
			c.Duration = 0 // it takes as long as it takes
		}
	}
	return cells
}

// axes reads the values of some settings. A setting that nobody sets and that has no default has no values.
func (r *reader) axes(wanted func(spec.Setting) bool) (axes []matrix.Axis) {
	for _, s := range spec.Settings {
		if opt := r.o.get(s.Name); wanted(s) && (opt.text != "" || opt.from != fromDefault) {
			axes = append(axes, matrix.Axis{Setting: s, Values: r.values(s)})
		}
	}
	return axes
}

// values reads those of a setting, with the files of times that they name.
func (r *reader) values(s spec.Setting) (values []spec.Plan) {
	read := func(text string) (string, error) {
		var p spec.Plan
		err := s.Set(&p, text)
		if err == nil {
			err = r.o.replays.Fill(&p.Load)
		}
		values = append(values, p)
		return cmp.Or(s.Typed(&p, &p.Load), text), err // in one spelling, by which values are told apart
	}
	if s.Axis {
		list(r, s.Name, read)
	} else {
		scalar(r, s.Name, read)
	}
	return values
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
