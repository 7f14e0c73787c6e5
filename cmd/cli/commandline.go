// The command line that makes one cell again: it goes into the record.

package cli

import (
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/cmd/cli/deploy"
	"github.com/lockbench/lockbench/cmd/cli/shell"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads/file"
	"github.com/lockbench/lockbench/workloads/matrix"
)

// commandLine writes the flags in which c differs from the defaults. Passwords are left out, and so is an address
// that carries credentials; the reader has to supply those. Classes, for which there are no flags, are written out as a
// workload, so that the line does not depend on a file that may change.
func commandLine(o *options, c spec.Plan, t deploy.Targets) string {
	values := settings(c)
	if len(c.Classes) > 0 {
		for _, flag := range ofAClass {
			delete(values, flag)
		}
		values["workload"] = inlineWorkload(o, c)
	}
	if one := t.Of(c.Driver); one.Kind != matrix.InProcess {
		maps.Copy(values, flagsOf(one))
	}
	words := []string{"lockbench"}
	for _, opt := range o.list {
		if v, ok := values[opt.name]; ok && !opt.usual(c, v) {
			words = append(words, opt.assign(v))
		}
	}
	return strings.Join(words, " ")
}

// settings returns the values of the flags that make c again on whatever server, those that it does not read left out.
func settings(c spec.Plan) map[string]string {
	values := map[string]string{}
	for _, s := range spec.Settings {
		values[s.Name] = s.Typed(&c, &c.Load)
	}
	values["seed"] = strconv.FormatUint(c.Seed, 10)
	return values
}

// loadSettings returns the settings of the flags that a class can have for itself.
func loadSettings(l spec.Load) map[string]string {
	values := map[string]string{}
	for _, s := range spec.Settings {
		if s.Class {
			values[s.Name] = s.Typed(nil, &l)
		}
	}
	return values
}

// inlineWorkload writes the classes of c as a workload in braces. What they have in common goes with them, since a flag
// cannot replace what a class sets for itself.
func inlineWorkload(o *options, c spec.Plan) string {
	common := loadSettings(c.Load)
	delete(common, "clients") // there it is their sum
	w := file.Workload{Name: c.Workload}
	for _, flag := range ofAClass {
		if v, ok := common[flag]; ok && !o.get(flag).same(v) {
			w.Top.Add(flag, v)
		}
	}
	for _, class := range c.Classes {
		own, values := file.Class{Name: class.Name}, loadSettings(class.Load)
		for _, flag := range ofAClass {
			if v := values[flag]; v != "" && v != common[flag] {
				own.Add(flag, v)
			}
		}
		w.Classes = append(w.Classes, own)
	}
	return w.Inline()
}

// usual reports whether the flag's default makes v in c. With -n the default of -duration is none.
func (o *option) usual(c spec.Plan, v string) bool {
	return v == "" || o.same(v) && !(o.name == "duration" && c.Ops > 0)
}

// same reports whether v means the flag's default.
func (o *option) same(v string) bool {
	if v == o.def || v == "" {
		return true
	}
	a, err1 := time.ParseDuration(v)
	b, err2 := time.ParseDuration(o.def)
	return err1 == nil && err2 == nil && a == b
}

func (o *option) assign(v string) string {
	if o.isSwitch() {
		if v == o.bare() {
			return "-" + o.name
		}
		return "-" + o.name + "=" + v
	}
	return "-" + o.name + " " + shell.Quote(v)
}
