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
	return f.group != groupServer && f.group != groupComparing && f.group != groupOutput && f.group != groupFleet && f.name != "workload"
}

// ofTheRun are the settings that hold for all cells together.
var ofTheRun = []string{"trials", "seed", "null"}

// ofAClass are the flags that a class of clients may have for itself.
var ofAClass = func() (names []string) {
	for _, s := range spec.Settings {
		if s.Class {
			names = append(names, s.Name)
		}
	}
	return names
}()

// vocabulary returns what may stand in a workload.
func vocabulary() file.Vocabulary {
	v := file.Vocabulary{MaxClasses: matrix.MaxClasses, RejectHint: rejectHint, Nearest: suggest.Nearest}
	for _, f := range runFlags {
		if f.inWorkload() {
			v.Fields = append(v.Fields, file.Field{
				Name: f.name, Axis: f.axis,
				Class: slices.Contains(ofAClass, f.name), Run: slices.Contains(ofTheRun, f.name),
			})
		}
	}
	return v
}

// rejectHint returns why something that a user may look for cannot stand in a workload.
func rejectHint(name string) string {
	switch strings.ToLower(name) {
	case "include", "includes", "import", "imports", "extends", "base", "from":
		return "a workload is one file, and includes no other"
	case "password", "pass", "secret", "token":
		return "no secret stands in a workload: set LOCKBENCH_PASSWORD, or use -password-file FILE"
	case "workload":
		return "a workload is one file, and names no other"
	}
	f, known := findFlag(name)
	switch {
	case !known:
		return ""
	case f.group == groupServer:
		return "what server it meets is no part of a workload: give -" + f.name
	}
	return "is no part of a workload: give -" + f.name
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
	w, err := file.Parse(source, text, vocabulary())
	if err != nil {
		return &usageError{err}
	}
	if err := checkSLO(w); err != nil {
		return err
	}
	o.workload = &workload{w, w.Name}
	if w.Name == "" && source != inlineSource && source != stdinSource {
		o.workload.label = file.Named(strings.TrimSuffix(filepath.Base(source), filepath.Ext(source)))
	}
	return o.adopt(o.workload)
}

// checkSLO reads what a workload says must be true of the arrivals, which lockbench plan looks for. A run measures at the
// rates that it is given, and only says what became of it: -fail-on judges.
func checkSLO(w *file.Workload) error {
	if w.SLO == nil {
		return nil
	}
	_, err := capacity.ParseSLO(w.SLO.Text())
	fault, ok := errors.AsType[*capacity.SLOError](err)
	if !ok {
		return err
	}
	at, before := w.SLO.Values[0].At, 0
	for _, v := range w.SLO.Values {
		if before+len(v.Text) >= fault.Column-1 {
			at = v.At
			break
		}
		before += len(v.Text) + len(",")
	}
	return &usageError{w.Fault(at, "slo %s: %s", w.SLO.Text(), fault.What)}
}

// adopt gives the values of a workload to the options that nothing else has set.
func (o *options) adopt(w *workload) error {
	o.workload = w
	for i := range w.Top {
		s := &w.Top[i]
		if opt := o.get(s.Field); opt.from == fromDefault {
			opt.take(s)
		}
	}
	if err := o.checkSwitches(); err != nil {
		return err
	}
	return o.checkOverridden()
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
		text, err = io.ReadAll(io.LimitReader(stdin, file.MaxSize+1))
		if err != nil {
			return "", nil, fmt.Errorf("%s: %w", opt.written(), err)
		}
		return stdinSource, text, nil
	}
	if text, ok := presets.Find(name); ok {
		return name, text, nil
	}
	text, err = readLimited(name)
	var fault *fs.PathError
	switch {
	case err == nil:
		return name, text, nil
	case errors.Is(err, fs.ErrNotExist) && !strings.ContainsAny(name, "/.\\"):
		return "", nil, usageErrorf("%s: no such preset%s, nor a file; there are %s", opt.written(),
			meant(name, presets.Names()), strings.Join(presets.Names(), ", "))
	case errors.As(err, &fault):
		return "", nil, usageErrorf("%s: %w", opt.written(), fault.Err)
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

// take gives an option the value that a file has for it.
func (o *option) take(s *file.Setting) { o.text, o.from, o.setting = s.Text(), fromFile, s }

// checkOverridden refuses a flag or a variable that a class or a cell would not heed: whether it should replace all of
// theirs, or none, is not for us to guess.
func (o *options) checkOverridden() error {
	for _, c := range o.workload.Classes {
		if err := o.checkSettings(c.Settings, "class "+c.Name+" sets"); err != nil {
			return err
		}
	}
	for _, c := range o.workload.Cells {
		if err := o.checkSettings(c.Settings, "its cells set"); err != nil {
			return err
		}
	}
	return nil
}

func (o *options) checkSettings(settings file.Settings, who string) error {
	for _, s := range settings {
		if opt := o.get(s.Field); opt.from > fromFile {
			return usageErrorf("%s: would replace what stands at the top of %s, but %s %s (line %d)",
				opt.written(), o.workload.Source, who, s.Field, s.At.Line)
		}
	}
	return nil
}

// with returns o with the settings of a cell or of a class in place.
func (o *options) with(settings file.Settings, class string) *options {
	return o.changed(func(opt *option) bool {
		s := settings.Find(opt.name)
		if s != nil {
			opt.take(s)
			opt.class = class
		}
		return s != nil
	})
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

// scenarios returns the options of each cell that the workload lists, or o alone. Each is a matrix of its own.
func (o *options) scenarios() []*options {
	if o.workload == nil || len(o.workload.Cells) == 0 {
		return []*options{o}
	}
	var list []*options
	for _, c := range o.workload.Cells {
		list = append(list, o.with(c.Settings, ""))
	}
	return list
}

// driverNames returns the drivers of all scenarios, each once.
func (o *options) driverNames() ([]string, error) {
	var names []string
	for _, scenario := range o.scenarios() {
		list, err := parseList(scenario.text("driver"), parseText)
		if err != nil {
			return nil, err
		}
		for _, name := range list {
			if name, _, _ = matrix.CutTopology(name); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names, nil
}

// overridden reports whether every class sets a field for itself, so that nothing reads the top's.
func (w *workload) overridden(name string) bool {
	if w == nil || len(w.Classes) == 0 {
		return false
	}
	return !slices.ContainsFunc(w.Classes, func(c file.Class) bool { return c.Find(name) == nil })
}

// classes resolves the workload's classes against what the cell has at its top.
func (o *options) classes(top spec.Load) ([]spec.Class, error) {
	if o.workload == nil {
		return nil, nil
	}
	var list []spec.Class
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
	r := reader{o: o.with(c.Settings, c.Name)}
	axes := r.axes(func(s spec.Setting) bool { return c.Find(s.Name) != nil })
	if r.err != nil {
		return top, r.err
	}
	cells, err := matrix.Expand(spec.Plan{Load: top}, axes, 1)
	if err != nil {
		return top, usageErrorf("%w", err)
	}
	return cells[0].Load, nil
}

// inFile returns a value of the option as a file sets it.
func (o *option) inFile(value string) string {
	text := o.name + " " + value
	if o.class != "" {
		text = "class " + o.class + ": " + text
	}
	return text
}

// complain returns a usage error about an option. It shows what was written, and its place if that is in a file.
func (o *options) complain(opt *option, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	if opt.from != fromFile {
		return usageErrorf("%s: %w", opt.written(), err)
	}
	return &usageError{o.workload.Fault(opt.setting.Values[0].At, "%s: %v", opt.written(), err)}
}

// complainOf is complain for one value of a list.
func (o *options) complainOf(opt *option, i int, err error) error {
	if opt.from != fromFile || i < 0 || i >= len(opt.setting.Values) {
		return o.complain(opt, "%w", err)
	}
	v := opt.setting.Values[i]
	return &usageError{o.workload.Fault(v.At, "%s: %v", opt.inFile(v.Text), err)}
}
