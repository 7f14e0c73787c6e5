// -workload: settings from a file, a preset, the command line or standard input. Variables and flags come after them.

package cli

import (
	"cmp"
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
	"github.com/lockbench/lockbench/workloads/presets"
	"github.com/lockbench/lockbench/workloads/shape"
)

// inWorkload reports whether a flag may stand in a workload: what the load is, how it is measured, and which lock it
// meets. Where that lock is, who may see it and where the figures go is up to the user who runs it.
func (f flagDef) inWorkload() bool {
	groups := []string{groupServer, groupComparing, groupOutput, groupFleet}
	return !slices.Contains(groups, f.group) && f.name != "workload"
}

// workloadFields are the flags that may stand in a workload.
var workloadFields = func() (fields []file.Field) {
	for _, f := range runFlags {
		if s, _ := spec.Find(f.name); f.inWorkload() {
			fields = append(fields, file.Field{Name: f.name, List: f.axis, Class: s.Class})
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

const (
	inlineSource = "-workload"
	stdinSource  = "standard input"
)

// readWorkload reads what -workload names, and gives its values to the options that neither a flag nor a variable sets.
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
	if w.Name == "" && source != inlineSource && source != stdinSource {
		w.Name = file.Named(strings.TrimSuffix(filepath.Base(source), filepath.Ext(source)))
	}
	return o.adopt(w)
}

// openWorkload finds a workload: written out in braces, - for standard input, a preset, or else a file.
func openWorkload(opt *option, stdin io.Reader) (source string, text []byte, err error) {
	name := opt.text
	if strings.HasPrefix(strings.TrimSpace(name), "{") {
		return inlineSource, []byte(name), nil
	}
	if text, ok := presets.Find(name); ok {
		return name, text, nil
	}
	source, in := stdinSource, stdin
	if name != "-" {
		f, err := os.Open(name)
		switch {
		case errors.Is(err, fs.ErrNotExist) && !strings.ContainsAny(name, "/.\\"):
			return "", nil, usageErrorf("%s: no such preset%s, nor a file; there are %s", opt.written(),
				suggest.DidYouMean("", name, presets.Names()), strings.Join(presets.Names(), ", "))
		case err != nil:
			return "", nil, usageErrorf("%s: %w", opt.written(), errors.Unwrap(err))
		}
		defer f.Close()
		source, in = name, f
	}
	if text, err = io.ReadAll(io.LimitReader(in, file.MaxSize+1)); err != nil {
		err = usageErrorf("%s: %w", opt.written(), cmp.Or(errors.Unwrap(err), err)) // without the path once more
	}
	return source, text, err
}

// adopt gives the values of a workload to the options that nothing else has set. A flag or a variable that a class would
// not heed is refused: whether it should replace all of theirs, or none, is not for us to guess.
func (o *options) adopt(w *file.Workload) error {
	o.workload = w
	for _, s := range w.Top {
		if opt := o.get(s.Field); opt.from == fromDefault {
			opt.text, opt.from, opt.where = s.Text, fromFile, o.place(s)
		}
		lacks := func(c file.Class) bool { return c.Find(s.Field) == nil }
		if w.Classes != nil && !slices.ContainsFunc(w.Classes, lacks) {
			return usageErrorf("%s%s %s: no class has it from there, since each sets its own", o.place(s), s.Field, s.Text)
		}
	}
	for _, c := range w.Classes {
		for _, s := range c.Settings {
			if opt := o.get(s.Field); opt.from > fromFile {
				return usageErrorf("%s: class %s of %s sets its own: change it there", opt.written(), c.Name, w.Source)
			}
		}
	}
	return o.check()
}

// place returns where a setting stands, as errors begin.
func (o *options) place(s file.Setting) string {
	return fmt.Sprintf("%s:%d: ", o.workload.Source, s.Line)
}

// ofClass returns the option of a setting that a class has.
func (o *options) ofClass(c file.Class, s file.Setting) *option {
	return &option{flagDef: o.get(s.Field).flagDef, text: s.Text, from: fromFile, where: o.place(s) + "class " + c.Name + ": "}
}

// classes resolves the workload's classes against what the cell has at its top.
func (o *options) classes(top spec.Load) (list []spec.Class, err error) {
	if o.workload == nil {
		return nil, nil
	}
	for _, c := range o.workload.Classes {
		p := spec.Plan{Load: top}
		for _, s := range c.Settings {
			setting, _ := spec.Find(s.Field)
			if err := set(&p, setting, s.Text); err != nil {
				return nil, o.complain(o.ofClass(c, s), "%w", err)
			}
		}
		list = append(list, spec.Class{Name: c.Name, Load: p.Load})
	}
	return list, nil
}

// set reads the text of a setting into a plan, with the file of times that it may name.
func set(p *spec.Plan, s spec.Setting, text string) error {
	if err := s.Set(p, text); err != nil {
		return err
	}
	return shape.Fill(&p.Load)
}
