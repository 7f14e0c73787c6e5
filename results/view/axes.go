package view

// The axes in which cells can differ.

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/spec"
)

// Axis is one thing in which cells can differ. That of a setting has the setting's name.
type Axis struct {
	Title string
	Load  bool // cells that differ in it are not compared
	Late  bool // only cells that are alike without it have it in their names
	text  func(c *results.Cell) string
	zero  string // stands for an empty text; "": the axis does not apply then, which is no difference
	usual string // goes without saying where cells share it
}

// Value returns what a has to say of c, "64 clients" or "renew on"; empty if it does not apply.
func (a Axis) Value(c *results.Cell) string { return cmp.Or(format.Line(a.text(c)), a.zero) }

// Axes are all axes, in the order in which names have them.
var Axes = slices.Concat(
	[]Axis{
		{Title: "side", zero: "no side", text: ofFirst("side", func(r *results.Record) string { return r.Side })},
		{Title: "revision", zero: "no revision", text: ofFirst("revision", func(r *results.Record) string {
			return r.Env.Revision
		})},
		{Title: "workload", zero: "no workload", Load: true, text: func(c *results.Cell) string {
			return c.Plan().Workload
		}},
	},
	settings,
	[]Axis{
		{Title: "partial", zero: "whole", text: func(c *results.Cell) string {
			return map[bool]string{true: "partial"}[c.Partial() != ""]
		}},
		{Title: "kind", Load: true, Late: true, text: ServerKind},
		{Title: "server", Late: true, text: func(c *results.Cell) string {
			return strings.TrimSpace(c.First().Server.Name + " " + c.First().Server.Version)
		}},
		{Title: "persistence", Late: true, text: ofFirst("persistence", func(r *results.Record) string {
			return r.Server.Persistence
		})},
		{Title: "at", Late: true, text: func(c *results.Cell) string { return titled("at", Server(c)) }},
		{Title: "classes", zero: "no classes", Load: true, Late: true, text: ofFirst("classes",
			func(r *results.Record) string { return Classes(&r.Plan) })},
		{Title: "trials", usual: "1 trial", Late: true, text: func(c *results.Cell) string {
			return format.Plural(len(c.Trials), "trial")
		}},
		{Title: "claims", zero: "no claims", Late: true, text: ofFirst("claims", func(r *results.Record) string {
			return Claims(r.Traits)
		})},
		{Title: "machine", Load: true, Late: true, text: ofFirst("machine", func(r *results.Record) string {
			return Machine(r.Env)
		})},
		{Title: "lockbench", Late: true, text: ofFirst("lockbench", func(r *results.Record) string {
			return r.Env.Lockbench
		})},
		{Title: "libraries", Late: true, text: ofFirst("libraries", func(r *results.Record) string {
			return Libraries(r.Env)
		})},
	},
)

// ofFirst returns what the first trial of a cell has, with a title.
func ofFirst(title string, text func(*results.Record) string) func(*results.Cell) string {
	return func(c *results.Cell) string { return titled(title, text(c.First())) }
}

// titled puts a title before what is not empty.
func titled(title, v string) string { return strings.TrimSuffix(title+" "+v, title+" ") }

// settings are the axes of settings, with values as people read them. Those that seldom differ are late.
var settings = settingAxes()

func settingAxes() (all []Axis) {
	for _, s := range spec.Recorded {
		load := s.Class || slices.Contains([]string{"keys", "reentry", "n", "probe", "durability"}, s.Name)
		a := Axis{Title: s.Name, Load: load, Late: s.Constant && !load,
			zero: written(s, s.Zero), usual: written(s, s.Default)}
		a.text = ofLoad(s.Name, func(p *spec.Plan, l *spec.Load) string { return written(s, s.Text(p, l)) })
		switch s.Name {
		case "nodes", "replicas", "acks", "arrival", "burst":
			continue // topology and rate have them
		case "wait":
			a.zero = "wait native"
		case "topology":
			a.text = func(c *results.Cell) string { return topology(c.Plan()) }
		case "driver": // these have no zero, and nothing goes without saying
			a.usual = ""
		case "clients": // those of all classes
			a.usual, a.text = "", func(c *results.Cell) string { return format.Plural(c.Plan().Clients, "client") }
		case "keys":
			a.usual, a.text = "", func(c *results.Cell) string { return format.Plural(c.Plan().Keys, "key") }
		case "hold":
			a.zero, a.usual = "", ""
			a.text = ofLoad(s.Name, func(_ *spec.Plan, l *spec.Load) string { return written(s, s.Typed(nil, l)) })
		case "rate":
			a.zero, a.usual, a.text = "", "", ofLoad(s.Name, arrivals)
		}
		all = append(all, a)
	}
	return all
}

// written returns a value of a setting as people read it, "keys 10,000" and "hold 5 ms", without the setting's name if
// it speaks for itself.
func written(s spec.Setting, typed string) string {
	v := typed
	switch s.Value {
	case "HZ":
		v += "/s"
	case "N", "OPS":
		if n, err := spec.ParseInt(typed); err == nil {
			v = format.Count(n)
		}
	case "TIME", "TIMES":
		if d, err := time.ParseDuration(typed); err == nil {
			v = format.Exact(d)
		}
	case "SHARE":
		if f, err := spec.ParseShare(typed); err == nil {
			v = format.Percent(f)
		}
	}
	if typed == "" || s.Speaks && v != "none" {
		return typed
	}
	return s.Name + " " + v
}

// topology returns how the servers belong together and how many they are, as "redlock 5": what it does not name is the
// user's own.
func topology(p *spec.Plan) string {
	if p.Topology == "replicated" {
		return strings.TrimSuffix(fmt.Sprintf("replicated %d/%d", p.Acks, p.Replicas), "/0")
	}
	return strings.TrimSuffix(fmt.Sprintf("%s %d", p.Topology, p.Nodes+p.Replicas), " 0")
}

// arrivals returns what makes clients ask for locks: "open, Poisson 5,000/s".
func arrivals(_ *spec.Plan, l *spec.Load) string {
	switch rate := l.Rate.String(); {
	case rate != "":
		if n, err := strconv.ParseInt(rate, 10, 64); err == nil {
			rate = format.Count(n)
		}
		return "open, " + strings.TrimSpace(strings.Replace(l.Arrival, "poisson", "Poisson", 1)+" "+rate) + "/s"
	case l.Burst > 0:
		return "open, all at once every " + format.Exact(l.Burst)
	}
	return "closed loop"
}

// byClass ends the text of a setting in which classes differ.
const byClass = " by class"

// ofLoad returns the text of a plan's load, or its title and byClass if classes do not agree in it.
func ofLoad(title string, text func(*spec.Plan, *spec.Load) string) func(*results.Cell) string {
	return func(c *results.Cell) string {
		groups := c.Plan().Groups()
		first := text(c.Plan(), &groups[0].Load)
		if slices.ContainsFunc(groups, func(g spec.Class) bool { return text(c.Plan(), &g.Load) != first }) {
			return title + byClass
		}
		return first
	}
}

// Compare reports whether cells differ in a, and returns the value of the first one that it applies to.
func (a Axis) Compare(cells []*results.Cell) (first string, differs bool) {
	for _, c := range cells {
		v := a.Value(c)
		if first = cmp.Or(first, v); v != "" && v != first {
			return first, true
		}
	}
	return first, false
}

// differing returns the axes in which cells differ.
func differing(axes []Axis, cells []*results.Cell) []Axis {
	return slices.DeleteFunc(slices.Clone(axes), func(a Axis) bool {
		_, differs := a.Compare(cells)
		return !differs
	})
}

// Differing returns whether cells differ in the axis of a title.
func Differing(cells []*results.Cell) func(title string) bool {
	axes := differing(Axes, cells)
	return func(title string) bool { return slices.ContainsFunc(axes, Axis{Title: title}.is) }
}

func (a Axis) is(other Axis) bool { return a.Title == other.Title }

// Common returns the values in which cells agree, but for those that are usual, and of axes that are left out.
func Common(cells []*results.Cell, leftOut func(Axis) bool) string {
	var shared []string
	for _, a := range Axes {
		if v, differs := a.Compare(cells); !differs && v != a.zero && v != a.usual && !leftOut(a) {
			shared = append(shared, v)
		}
	}
	return format.Join(shared...)
}
