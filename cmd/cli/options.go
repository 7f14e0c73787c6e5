// The values of flags: how they are written, and what a variable or a file has in their place.

package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/lockbench/lockbench/workloads/file"
)

// normalise spells every flag with two dashes and in full, which is how pflag wants it, so that -driver x,
// -driver=x and --driver x all work. It leaves values alone, also those that begin with a dash (-keys -1), and
// everything after "--". A dash with several letters is always one long flag, as in Go: letters are not bundled.
func normalise(args []string) []string {
	out := slices.Clone(args)
	for i := 0; i < len(args) && args[i] != "--"; i++ {
		name, isFlag := flagName(args[i])
		if !isFlag {
			continue
		}
		_, value, assigned := strings.Cut(args[i], "=")
		def, known := findFlag(name)
		if known {
			name = def.name
		}
		out[i] = "--" + name
		if assigned {
			out[i] += "=" + value
		} else if known && !def.isSwitch() {
			i++
		}
	}
	return out
}

// flagName returns the name in an argument that is a flag. A lone dash and a number are not.
func flagName(arg string) (string, bool) {
	name := strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-")
	if len(name) == len(arg) || name == "" || name[0] == '-' || name[0] == '=' || '0' <= name[0] && name[0] <= '9' {
		return "", false
	}
	name, _, _ = strings.Cut(name, "=")
	return name, true
}

// findFlag finds a flag by its name or its letter.
func findFlag(name string) (flagDef, bool) {
	for _, f := range allFlags {
		if f.name == name || f.short == name {
			return f, true
		}
	}
	return flagDef{}, false
}

// source tells where a value comes from; a later one wins.
type source int

const (
	fromDefault source = iota
	fromFile           // -workload
	fromVariable
	fromBase // a flag of the base, of which the head has heard; it need not read it
	fromFlag
)

// option is one flag of one command line. It is a pflag.Value.
type option struct {
	flagDef
	text string
	from source

	where string // fromFile: the place, as errors begin
	again bool   // the flag may come twice: cobra parses a line that it completes more than once
}

// Set takes the value of the flag. A known flag in its place means that the value was forgotten, and a flag that
// comes twice is ambiguous: the second might replace the first or add to it.
func (o *option) Set(s string) error {
	if name, ok := flagName(s); ok && o.name != "vs" { // whose value is flags
		if f, known := findFlag(name); known && len(name) > 1 {
			return fmt.Errorf("needs a value, but the flag -%s follows", f.name)
		}
	}
	if o.from == fromFlag && !o.again {
		if o.axis {
			return errors.New("is given twice: several values go into one comma list")
		}
		return errors.New("is given twice")
	}
	o.text, o.from = s, fromFlag
	return nil
}

func (o *option) String() string { return o.text }
func (o *option) Type() string   { return o.value }

// written returns the option as its user wrote it: "-clients 0", "LOCKBENCH_CLIENTS=0", or "jobs.yaml:3: clients 0".
func (o *option) written() string {
	switch o.from {
	case fromFile:
		return o.where + o.name + " " + o.text
	case fromVariable:
		return o.variable() + "=" + o.text
	}
	return "-" + o.name + " " + cmp.Or(o.text, `""`)
}

// flagOrVariable returns where the value comes from.
func (o *option) flagOrVariable() string {
	if o.from == fromVariable {
		return o.variable()
	}
	return "-" + o.name
}

// options are all flags of one command line.
type options struct {
	list     []*option
	workload *file.Workload // nil without -workload; records call it by its name
	typed    string         // the command line, without secrets
}

// newOptions makes options of defs with their defaults and registers them in fs.
func newOptions(fs *pflag.FlagSet, defs []flagDef) *options {
	o := &options{}
	fs.SortFlags = false // the help has them in the table's order
	for _, def := range defs {
		opt := &option{flagDef: def, text: def.def}
		flag := fs.VarPF(opt, def.name, "", def.usage)
		if def.isSwitch() {
			flag.NoOptDefVal = def.bare()
		}
		o.list = append(o.list, opt)
	}
	return o
}

// fill takes the variables for those flags that the command line leaves out. An empty variable counts as unset. A workload
// comes after it, see readWorkload.
func (o *options) fill(env environ) error {
	for _, opt := range o.list {
		if v, _ := env.lookup(opt.variable()); v != "" && opt.from == fromDefault {
			opt.text, opt.from = v, fromVariable
		}
	}
	return o.check()
}

// check refuses switches that are neither on nor off, and flags with an empty value. Mostly that is a variable of a script
// that is not set, and to go on as if the flag were not there would measure another server, or let a gate pass that compares
// nothing. A head may be like the base, and a revision may be none, where there is no repository.
func (o *options) check() error {
	for _, opt := range o.list {
		switch empty := strings.TrimSpace(opt.text) == ""; {
		case opt.axis:
		case opt.isSwitch() && opt.text != "true" && opt.text != "false":
			return o.complain(opt, "must be true or false")
		case opt.from == fromFlag && empty && opt.name != "vs" && opt.name != "revision":
			return usageErrorf("%s: is empty: leave the flag out, or give it a value", opt.written())
		}
	}
	return nil
}

// isDefault reports whether the value of an option is its default.
func (o *option) isDefault() bool { return o.text == o.def }

// get finds an option. One that the command does not have, but a run has, has its default.
func (o *options) get(name string) *option {
	if opt := o.find(name); opt != nil {
		return opt
	}
	def, known := findFlag(name)
	if !known {
		panic("lockbench: no flag -" + name)
	}
	o.list = append(o.list, &option{flagDef: def, text: def.def})
	return o.find(name)
}

// find finds an option; nil if the command has no such flag.
func (o *options) find(name string) *option {
	for _, opt := range o.list {
		if opt.name == name {
			return opt
		}
	}
	return nil
}

func (o *options) text(name string) string { return o.get(name).text }
func (o *options) on(name string) bool     { return o.get(name).text == "true" }

// complain returns a usage error about an option that shows what was written, and where.
func (o *options) complain(opt *option, format string, args ...any) error {
	return usageErrorf("%s: %w", opt.written(), fmt.Errorf(format, args...))
}

// reader reads options and remembers the first that cannot be read.
type reader struct {
	o   *options
	err error
}

func scalar[T any](r *reader, name string, parse func(string) (T, error)) T {
	opt := r.o.get(name)
	v, err := parse(opt.text)
	if err != nil && r.err == nil {
		r.err = r.o.complain(opt, "%w", err)
	}
	return v
}

// list reads an option that is a comma list, or empty.
func list[T comparable](r *reader, name string, parse func(string) (T, error)) []T {
	if r.o.text(name) == "" {
		return nil
	}
	return scalar(r, name, func(text string) ([]T, error) { return parseList(text, parse) })
}

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
			return nil, err
		}
		if slices.Contains(list, v) {
			return nil, fmt.Errorf("must not name %s twice", part)
		}
		list = append(list, v)
	}
	return list, nil
}

func parseText(s string) (string, error) { return s, nil }

// within returns a parser that has bounds; nothing is 0.
func within[T int | time.Duration](parse func(string) (T, error), least, most T, must string) func(string) (T, error) {
	return func(text string) (T, error) {
		if text == "" {
			return 0, nil
		}
		v, err := parse(text)
		if err == nil && (v < least || v > most) {
			err = errors.New(must)
		}
		return v, err
	}
}
