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
		{Title: "side", zero: "no side", text: func(c *results.Cell) string { return headed("side", c.First().Side) }},
		{Title: "revision", zero: "no revision", text: func(c *results.Cell) string {
			return headed("revision", c.First().Env.Revision)
		}},
		{Title: "workload", zero: "no workload", Load: true, text: func(c *results.Cell) string {
			return c.Plan().Workload
		}},
	},
	settings,
	[]Axis{
		{Title: "partial", zero: "whole", text: func(c *results.Cell) string {
			return map[bool]string{true: "partial"}[c.Partial() != ""]
		}},
		{Title: "kind", Load: true, Late: true, text: serverKind},
		{Title: "server", Late: true, text: func(c *results.Cell) string {
			return strings.TrimSpace(c.First().Server.Name + " " + c.First().Server.Version)
		}},
		{Title: "at", Late: true, text: func(c *results.Cell) string { return headed("at", Server(c)) }},
		{Title: "classes", zero: "no classes", Load: true, Late: true, text: func(c *results.Cell) string {
			return headed("classes", Classes(c.Plan()))
		}},
		{Title: "machine", Load: true, Late: true, text: func(c *results.Cell) string {
			return headed("machine", Machine(c.First().Env))
		}},
		{Title: "lockbench", Late: true, text: func(c *results.Cell) string {
			return headed("lockbench", c.First().Env.Lockbench)
		}},
		{Title: "libraries", Late: true, text: func(c *results.Cell) string {
			return headed("libraries", Libraries(c.First().Env))
		}},
	},
)

// headed puts a title before what is not empty.
func headed(title, v string) string { return strings.TrimSuffix(title+" "+v, title+" ") }

// settings are the axes of settings, with values as people read them. Those that seldom differ are late.
var settings = settingAxes()

// byClass ends the text of a setting in which classes differ.
const byClass = " by class"

func settingAxes() (all []Axis) {
	for _, s := range spec.Settings {
		load := s.Class || slices.Contains([]string{"keys", "reentry", "n", "probe", "durability"}, s.Name)
		text := func(p *spec.Plan, l *spec.Load) string { return written(s, s.Typed(p, l)) }
		a := Axis{Title: s.Name, Load: load, Late: s.Constant && !load,
			zero: written(s, s.Usual()), usual: written(s, s.Default)}
		switch s.Name {
		case "nodes", "replicas", "acks", "arrival", "burst":
			continue // topology and rate have them
		case "driver", "hold": // which never go without saying
			a.zero, a.usual = "", ""
		case "wait":
			a.zero = "wait native"
		case "handover":
			a.usual = written(s, "release")
		case "topology":
			text = topology
		case "rate":
			text = arrivals
		case "clients": // those of all classes
			text = func(p *spec.Plan, _ *spec.Load) string { return format.Plural(p.Clients, "client") }
		case "keys":
			text = func(p *spec.Plan, _ *spec.Load) string { return format.Plural(p.Keys, "key") }
		}
		a.text = func(c *results.Cell) string {
			groups := c.Plan().Groups()
			first := text(c.Plan(), &groups[0].Load)
			if slices.ContainsFunc(groups, func(g spec.Class) bool { return text(c.Plan(), &g.Load) != first }) {
				return s.Name + byClass
			}
			return first
		}
		all = append(all, a)
	}
	return all
}

// written returns a value of a setting as people read it, "keys 10,000" and "hold 5 ms", without the setting's name if
// it speaks for itself.
func written(s spec.Setting, typed string) string {
	if typed == "" || s.Speaks && typed != "none" {
		return typed
	}
	v := typed
	if n, err := spec.ParseInt(typed); err == nil {
		v = format.Count(n)
	} else if d, err := time.ParseDuration(typed); err == nil {
		v = format.Exact(d)
	} else if f, err := spec.ParseShare(typed); err == nil {
		v = format.Percent(f)
	}
	if s.Type() == "HZ" {
		v += "/s"
	}
	return s.Name + " " + v
}

// topology returns how the servers belong together and how many they are, as "redlock 5": what it does not name is the
// user's own.
func topology(p *spec.Plan, _ *spec.Load) string {
	if p.Topology == "replicated" {
		return strings.TrimSuffix(fmt.Sprintf("replicated %d/%d", p.Acks, p.Replicas), "/0")
	}
	return strings.TrimSuffix(fmt.Sprintf("%s %d", p.Topology, p.Nodes+p.Replicas), " 0")
}

// arrivals returns what makes clients ask for locks: "open, Poisson 5,000/s".
func arrivals(_ *spec.Plan, l *spec.Load) string {
	rate := l.Rate.String()
	if n, err := strconv.Atoi(rate); err == nil {
		rate = format.Count(n)
	}
	switch {
	case rate != "":
		return "open, " + strings.Replace(l.Arrival, "poisson", "Poisson", 1) + " " + rate + "/s"
	case l.Burst > 0:
		return "open, all at once every " + format.Exact(l.Burst)
	}
	return "closed loop"
}

// compare reports whether cells differ in a, and returns the value of the first one that it applies to.
func (a Axis) compare(cells []*results.Cell) (first string, differs bool) {
	for _, c := range cells {
		v := a.Value(c)
		if first = cmp.Or(first, v); v != "" && v != first {
			return first, true
		}
	}
	return first, false
}

// Differing returns whether cells differ in the axis of a title.
func Differing(cells []*results.Cell) func(title string) bool {
	differ := map[string]bool{}
	for _, a := range Axes {
		_, differ[a.Title] = a.compare(cells)
	}
	return func(title string) bool { return differ[title] }
}

// without returns axes but for some.
func without(axes []Axis, some func(Axis) bool) []Axis {
	return slices.DeleteFunc(slices.Clone(axes), some)
}

// Common returns the values in which cells agree, but for those that are usual, and of axes that are left out.
func Common(cells []*results.Cell, leftOut func(Axis) bool) string {
	return format.Join(shared(cells, func(a Axis, usual bool) bool { return !usual && !leftOut(a) })...)
}

// shared returns the values that are wanted of those in which cells agree, but for zeros.
func shared(cells []*results.Cell, wanted func(a Axis, usual bool) bool) (all []string) {
	for _, a := range Axes {
		v, differs := a.compare(cells)
		if !differs && v != a.zero && !strings.HasSuffix(v, byClass) && wanted(a, v == a.usual) {
			all = append(all, v)
		}
	}
	return all
}
