// What makes an experiment again: -dry-run prints it as a workload, with what people want to know beside it as comments, and a
// record has the command line of its cell.

package cli

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/cmd/cli/progress"
	"github.com/lockbench/lockbench/cmd/cli/shell"
	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads/file"
	"github.com/lockbench/lockbench/workloads/matrix"
	"github.com/lockbench/lockbench/workloads/target"
)

// print writes the options as a workload, below comments that tell what they come to.
func (e experiment) print(w io.Writer) error {
	var b strings.Builder
	base, head := e, experiment{}
	if len(e.sides) > 0 {
		base, head = e.sides[0].experiment, e.sides[1].experiment
	}
	e.printServers(&b)
	fmt.Fprintf(&b, "# %s, %s of each, at least %s\n", e.size(), format.Plural(e.Trials, "trial"), progress.Seconds(e.Length(0)))
	if len(e.Order) > 1 {
		fmt.Fprintf(&b, "# order of the cells: %s\n", e.orderText())
	}
	for i := range base.Cells {
		for _, line := range base.notes(i, head) {
			fmt.Fprintf(&b, "# %s\n", line)
		}
	}
	for _, s := range e.Skipped {
		fmt.Fprintf(&b, "# skipped: %s\n", oneLine(s.String()))
	}
	if len(e.sides) > 0 {
		fmt.Fprintf(&b, "# This is the base; for the head give -vs %s again.\n", oneLine(shell.Quote(e.vsText())))
	}
	fmt.Fprintf(&b, "\n%s", base.workload())
	_, err := io.WriteString(w, b.String())
	return err
}

// printServers writes where the cells run, and if the sides differ in that, which of them where.
func (e experiment) printServers(b *strings.Builder) {
	lines := e.Targets[e.Cells[0].Side].Lines()
	if len(e.sides) > 0 {
		head := e.Targets[e.sides[1].name].Lines()
		if !slices.Equal(lines, head) {
			for i := range lines {
				lines[i] = e.sides[0].name + ": " + lines[i]
			}
			for _, line := range head {
				lines = append(lines, e.sides[1].name+": "+line)
			}
		}
	}
	for _, line := range lines {
		fmt.Fprintf(b, "# server: %s\n", oneLine(line))
	}
}

// size returns how many cells there are, or pairs of them.
func (e experiment) size() string {
	if len(e.sides) > 0 {
		return format.Plural(int64(len(e.Cells)/2), "pair") + " of cells"
	}
	return format.Plural(len(e.Cells), "cell")
}

// alwaysShown are the fields that a workload shows though they have their default values.
var alwaysShown = []string{"driver", "clients", "keys", "hold", "ttl", "duration", "warmup", "trials", "seed"}

// workload returns the options that some cell reads as a workload.
func (e experiment) workload() *file.Workload {
	w, r := &file.Workload{}, reader{o: e.options}
	if from := e.options.workload; from != nil {
		w.Name, w.About, w.SLO, w.Classes = from.Name, from.About, from.SLO, e.classes()
	}
	for _, f := range workloadFields {
		opt := e.options.get(f.Name)
		s, isSetting := spec.Find(f.Name)
		switch {
		case opt.text == "", opt.from == fromDefault && !slices.Contains(alwaysShown, f.Name):
			continue
		case f.Name == "duration" && e.Cells[0].Plan.Duration == 0, !e.reads(f.Name), e.options.workload.overridden(f.Name):
			continue
		case !isSetting:
			w.Top.Add(f.Name, opt.text)
			continue
		}
		var texts []string
		for _, p := range r.values(s) {
			texts = append(texts, s.Typed(&p, &p.Load))
		}
		w.Top.Add(f.Name, strings.Join(texts, ","))
	}
	return w
}

// classes returns those of the workload with what each sets for itself, in the canonical spelling.
func (e experiment) classes() (list []file.Class) {
	for _, c := range e.options.workload.Classes {
		load, err := e.options.classLoad(c, spec.Load{})
		if err != nil {
			continue // experimentOn has read it
		}
		values, own := loadSettings(load), file.Class{Name: c.Name}
		for _, flag := range ofAClass {
			if c.Find(flag) != nil {
				own.Add(flag, values[flag])
			}
		}
		list = append(list, own)
	}
	return list
}

// notes returns what there is to say about a cell, and about the head's if there is one.
func (e experiment) notes(i int, head experiment) []string {
	number := ""
	if len(e.Cells) > 1 {
		number = fmt.Sprintf("cell %d: ", i+1)
	}
	lines := cellNotes(e.Cells[i], number, "  ")
	if i < len(head.Cells) {
		lines = append(lines, cellNotes(head.Cells[i], "  head: ", "    ")...)
	}
	return lines
}

// unstarted is what a dry run says of an adapter.
const unstarted = "not started here, so that its locks are not known"

func cellNotes(c matrix.Cell, first, more string) []string {
	notes := []string{fmt.Sprintf("%s %s -wait %s", c.Plan.Driver, c.Plan.Lock, c.Plan.Wait), where(c.Plan)}
	if drivers.Unstarted(c.Plan.Driver) {
		notes = []string{c.Plan.Driver + ": " + unstarted}
		if drivers.IsCommand(c.Plan.Driver) {
			notes[0] += "; to run this file, give -driver as well"
		}
	}
	if n := len(c.Plan.Classes); n > 0 {
		notes = append(notes, format.Plural(c.Plan.Clients, "client")+" in "+classes(n))
	}
	if c.Plan.Renew {
		notes = append(notes, fmt.Sprintf("renewed every %v", (c.Plan.TTL/3).Round(time.Microsecond)))
	}
	lines := []string{first + oneLine(c.Plan.Command), more + strings.Join(notes, ", ")}
	for _, text := range warnings(c) {
		lines = append(lines, more+"warning: "+oneLine(text))
	}
	return lines
}

func classes(n int) string {
	if n == 1 {
		return "one class"
	}
	return fmt.Sprintf("%d classes", n)
}

func where(c spec.Plan) string {
	switch c.Server {
	case matrix.Private:
		text := "on a private server"
		if c.Topology != "" {
			text = "on private servers, " + target.Deployment(c)
		}
		if c.Durability == string(servers.Strict) {
			text += ", each change fsynced"
		}
		return text
	case matrix.InProcess:
		return "without a server"
	}
	return "on an " + c.Server + " server"
}

// orderText writes the cells in the order in which they run, the rounds set apart: 2h is the head of the second pair.
func (e experiment) orderText() string {
	var rounds []string
	for first := 0; first < len(e.Order); first += len(e.Cells) {
		var cells []string
		for _, t := range e.Order[first : first+len(e.Cells)] {
			if len(e.sides) == 0 {
				cells = append(cells, fmt.Sprint(t.Cell+1))
				continue
			}
			c := e.Cells[t.Cell]
			cells = append(cells, fmt.Sprintf("%d%c", c.Pair+1, c.Side[0]))
		}
		rounds = append(rounds, strings.Join(cells, " "))
	}
	return strings.Join(rounds, " | ")
}

// commandLine writes the flags in which c differs from the defaults. Passwords are left out, and so is an address
// that carries credentials; the reader has to supply those. Classes, for which there are no flags, are written out as a
// workload, so that the line does not depend on a file that may change.
func commandLine(o *options, c spec.Plan, t target.Targets) string {
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
