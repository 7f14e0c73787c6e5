// -workload: where a workload comes from, what may stand in it, and how its values meet those of flags and variables.

package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/cmd/cli/suggest"
	"github.com/lockbench/lockbench/results/capacity"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads/file"
	"github.com/lockbench/lockbench/workloads/matrix"
	"github.com/lockbench/lockbench/workloads/presets"
)

// workload is what -workload names.
type workload struct {
	*file.Workload
	label string // what records call it; empty for one that is written into the command line and has no name
}

// inWorkload reports whether a flag may stand in a workload: what the load is, how it is measured, and which lock it
// meets. Where that lock is, who may see it and where the figures go is up to the user who runs it.
func (f flagDef) inWorkload() bool {
	groups := []string{groupServer, groupComparing, groupOutput, groupFleet}
	return !slices.Contains(groups, f.group) && f.name != "workload"
}

// ofAClass are the flags that a class of clients may have for itself.
var ofAClass = func() (names []string) {
	for _, s := range spec.Settings {
		if s.Class {
			names = append(names, s.Name)
		}
	}
	return names
}()

// workloadFields are the flags that may stand in a workload.
var workloadFields = func() (fields []file.Field) {
	for _, f := range runFlags {
		if f.inWorkload() {
			fields = append(fields, file.Field{Name: f.name, List: f.axis, Class: slices.Contains(ofAClass, f.name)})
		}
	}
	return fields
}()

// unknownField returns what to do about a field that no workload or class has.
func unknownField(name string) string {
	f, known := findFlag(name)
	switch {
	case slices.Contains(forPassword, name):
		return ": " + passwordRemedy
	case known && f.inWorkload():
		return ": it stands at the top of a workload, not in a class"
	case known:
		return ": give the flag -" + f.name
	}
	var names []string
	for _, f := range workloadFields {
		names = append(names, f.Name)
	}
	return meant(name, names)
}

// readWorkload reads what -workload names, and gives its values to the options that neither a flag nor a variable has set.
func (o *options) readWorkload(stdin io.Reader) error {
	opt := o.get("workload")
	if opt.text == "" {
		return nil
	}
	source, text, err := openWorkload(opt, stdin)
	if err != nil {
		return err
	}
	w, err := file.Parse(source, text, workloadFields, unknownField)
	if err != nil {
		return &usageError{err}
	}
	if w.SLO != "" { // lockbench plan looks for it; a run only says what became of it
		if _, err := capacity.ParseSLO(w.SLO); err != nil {
			return usageErrorf("%s: slo %s: %w", source, w.SLO, err)
		}
	}
	label := w.Name
	if label == "" && source != inlineSource && source != stdinSource {
		label = file.Named(strings.TrimSuffix(filepath.Base(source), filepath.Ext(source)))
	}
	return o.adopt(&workload{w, label})
}

// adopt gives the values of a workload to the options that nothing else has set. A flag or a variable that a class would
// not heed is refused: whether it should replace all of theirs, or none, is not for us to guess.
func (o *options) adopt(w *workload) error {
	o.workload = w
	for _, s := range w.Top {
		if opt := o.get(s.Field); opt.from == fromDefault {
			opt.text, opt.from = s.Text, fromFile
		}
	}
	for _, c := range w.Classes {
		for _, s := range c.Settings {
			if opt := o.get(s.Field); opt.from > fromFile {
				return usageErrorf("%s: class %s of %s sets its own: change it there", opt.written(), c.Name, w.Source)
			}
		}
	}
	return o.checkSwitches()
}

const (
	inlineSource = "-workload"
	stdinSource  = "standard input"
)

// openWorkload finds a workload: written out in braces, - for standard input, a preset, or else a file.
func openWorkload(opt *option, stdin io.Reader) (source string, text []byte, err error) {
	name := opt.text
	if strings.HasPrefix(strings.TrimSpace(name), "{") {
		return inlineSource, []byte(name), nil
	}
	if name == "-" {
		if text, err = io.ReadAll(io.LimitReader(stdin, file.MaxSize+1)); err != nil {
			return "", nil, fmt.Errorf("%s: %w", opt.written(), err)
		}
		return stdinSource, text, nil
	}
	if text, ok := presets.Find(name); ok {
		return name, text, nil
	}
	text, err = readLimited(name)
	fault, ok := errors.AsType[*fs.PathError](err)
	switch {
	case err == nil:
		return name, text, nil
	case errors.Is(err, fs.ErrNotExist) && !strings.ContainsAny(name, "/.\\"):
		return "", nil, usageErrorf("%s: no such preset%s, nor a file; there are %s", opt.written(),
			suggest.DidYouMean("", name, presets.Names()), strings.Join(presets.Names(), ", "))
	case ok:
		err = fault.Err
	}
	return "", nil, usageErrorf("%s: %w", opt.written(), err)
}

// readLimited reads a file as far as a workload may be long.
func readLimited(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, file.MaxSize+1))
}

// changed returns o with copies in place of the options that change changes, which it reports.
func (o *options) changed(change func(opt *option) bool) *options {
	changed := *o
	changed.list = slices.Clone(o.list)
	for i, opt := range o.list {
		if one := *opt; change(&one) {
			changed.list[i] = &one
		}
	}
	return &changed
}

// of returns o with the settings of a class in place.
func (o *options) of(c file.Class) *options {
	return o.changed(func(opt *option) bool {
		s := c.Find(opt.name)
		if s != nil {
			opt.text, opt.from, opt.class = s.Text, fromFile, c.Name
		}
		return s != nil
	})
}

// driverNames returns the drivers, each once.
func (o *options) driverNames() (names []string, err error) {
	list, err := parseList(o.text("driver"), parseText)
	for _, name := range list {
		if name, _, _ = matrix.CutTopology(name); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, err
}

// overridden reports whether every class sets a field for itself, so that nothing reads the top's.
func (w *workload) overridden(name string) bool {
	return w != nil && len(w.Classes) > 0 &&
		!slices.ContainsFunc(w.Classes, func(c file.Class) bool { return c.Find(name) == nil })
}

// classes resolves the workload's classes against what the cell has at its top.
func (o *options) classes(top spec.Load) (list []spec.Class, err error) {
	if o.workload == nil {
		return nil, nil
	}
	for _, c := range o.workload.Classes {
		load, err := o.classLoad(c, top)
		if err != nil {
			return nil, err
		}
		if load.Open() && c.Find("think") == nil {
			load.Think, load.ThinkDist = 0, spec.Times{} // the top's is for those who have time to
		}
		list = append(list, spec.Class{Name: c.Name, Load: load})
	}
	return list, nil
}

// classLoad returns the top with what a class sets in place.
func (o *options) classLoad(c file.Class, top spec.Load) (spec.Load, error) {
	r := reader{o: o.of(c)}
	p := spec.Plan{Load: top}
	for _, a := range r.axes(func(s spec.Setting) bool { return c.Find(s.Name) != nil }) {
		if r.err == nil {
			a.Setting.Copy(&p, &a.Values[0])
		}
	}
	return p.Load, r.err
}

// complain returns a usage error about an option that shows what was written, and in which file.
func (o *options) complain(opt *option, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	if opt.from == fromFile {
		return usageErrorf("%s: %s: %w", o.workload.Source, opt.written(), err)
	}
	return usageErrorf("%s: %w", opt.written(), err)
}
