package view

// The axes in which cells can differ.

import (
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
	Title  string
	Value  func(c *results.Cell) string // "" if it does not apply
	Load   bool                         // cells that differ in it are not compared
	Server bool                         // a fact about the server
	Wide   bool                         // too long for a name, or about the result
	some   bool                         // applies to some cells only: that it does not to others is no difference
	plain  bool                         // its values say what they are of
	zero   string                       // what an empty value means
	usual  string                       // the value that need not be mentioned of cells that share it
	quiet  bool                         // no value need be mentioned of those
}

// Usual reports whether a value need not be mentioned of cells that share it: it is empty, the default, or follows from
// another.
func (a Axis) Usual(v string) bool { return a.quiet || v == "" || v == a.usual }

// Axes are all axes, in the order in which names have them.
var Axes = slices.Concat(
	[]Axis{
		{Title: "side", Value: func(c *results.Cell) string { return c.First().Side }},
		{Title: "revision", Value: func(c *results.Cell) string { return c.First().Env.Revision }},
		{Title: "workload", Load: true, plain: true, Value: func(c *results.Cell) string { return c.Plan().Workload }},
	},
	settings,
	[]Axis{
		{Title: "classes", Load: true, Wide: true, Value: func(c *results.Cell) string { return Classes(c.Plan()) }},
		{Title: "trials", Wide: true, usual: "1", Value: func(c *results.Cell) string {
			return strconv.Itoa(len(c.Trials))
		}},
		{Title: "partial", plain: true, zero: "whole", Value: func(c *results.Cell) string {
			if c.Partial() == "" {
				return ""
			}
			return "partial"
		}},
		{Title: "kind", Load: true, Server: true, plain: true, Value: ServerKind},
		{Title: "server", Server: true, some: true, plain: true, Value: func(c *results.Cell) string {
			return strings.TrimSpace(c.First().Server.Name + " " + c.First().Server.Version)
		}},
		{Title: "persistence", Server: true, some: true, Value: func(c *results.Cell) string {
			return c.First().Server.Persistence
		}},
		{Title: "at", Server: true, some: true, Wide: true, Value: Server},
		{Title: "claims", Wide: true, Value: func(c *results.Cell) string { return Claims(c.First().Traits) }},
		{Title: "machine", Load: true, Wide: true, Value: func(c *results.Cell) string {
			return Machine(c.First().Env)
		}},
		{Title: "lockbench", Wide: true, Value: func(c *results.Cell) string { return c.First().Env.Lockbench }},
		{Title: "libraries", Wide: true, Value: func(c *results.Cell) string { return Libraries(c.First().Env) }},
	},
)

// settings are the axes of settings, with values as people read them.
var settings = settingAxes()

func settingAxes() (all []Axis) {
	for _, s := range spec.Recorded {
		if slices.Contains([]string{"nodes", "replicas", "acks", "arrival", "burst"}, s.Name) {
			continue // topology and rate show them
		}
		a := Axis{
			Title: s.Name, Load: slices.Contains(loads, s.Name), some: s.Zero == "", plain: s.Speaks,
			zero: pretty(s, s.Zero), usual: pretty(s, s.Default), quiet: s.Constant && s.Default == "",
			Value: func(c *results.Cell) string { return pretty(s, s.Text(c.Plan(), nil)) },
		}
		if s.Class {
			a.Value = ofClasses(func(l spec.Load) string { return pretty(s, s.Text(nil, &l)) })
		}
		switch s.Name {
		case "driver", "clients", "keys":
			a.usual = ""
		case "wait": // that a design waits in its own way goes without saying
			a.some, a.zero = false, "native"
			a.Value = func(c *results.Cell) string { return strings.TrimSuffix(s.Text(c.Plan(), nil), "native") }
		case "topology":
			a.Value = func(c *results.Cell) string { return topology(c.Plan()) }
		case "rate":
			a.usual, a.plain, a.Value = "", true, ofClasses(arrivals)
		case "hold":
			a.usual, a.Value = "", ofClasses(func(l spec.Load) string { return pretty(s, s.Typed(nil, &l)) })
		case "oracle":
			a.Wide = true
		}
		if s.Name == "clients" { // those of all classes
			a.Value = func(c *results.Cell) string { return format.Count(int64(c.Plan().Clients)) }
		}
		all = append(all, a)
	}
	return all
}

// loads are the settings of the load.
var loads = []string{
	"clients", "keys", "key-dist", "hold", "think", "ttl", "timeout", "try-only", "crash", "overstay", "rate",
	"max-queue", "reentry", "n", "probe", "durability",
}

// words returns a value with its title, if it takes one.
func (a Axis) words(v string) string {
	switch v = format.Line(v); {
	case v == "" || a.plain && v != "none":
		return v
	case a.Title != "clients" && a.Title != "keys":
		return a.Title + " " + v
	case v == "1":
		return "1 " + strings.TrimSuffix(a.Title, "s")
	}
	return v + " " + a.Title
}

// pretty writes what is typed as people read it: 10,000 and 5 ms.
func pretty(s spec.Setting, typed string) string {
	switch {
	case typed == "":
		return ""
	case s.Value == "HZ":
		return typed + "/s"
	}
	switch s.Value {
	case "N", "OPS":
		if n, err := spec.ParseInt(typed); err == nil {
			return format.Count(n)
		}
	case "TIME", "TIMES", "TIME|auto":
		if d, err := time.ParseDuration(typed); err == nil {
			return format.Exact(d)
		}
	case "SHARE":
		if f, err := spec.ParseShare(typed); err == nil {
			return format.Percent(f)
		}
	}
	return typed
}

// topology returns how the servers belong together and how many they are, as "redlock 5": what it does not name is the
// user's own.
func topology(p *spec.Plan) string {
	switch {
	case p.Topology == "replicated" && p.Replicas > 0:
		return fmt.Sprintf("replicated %d/%d", p.Acks, p.Replicas)
	case p.Topology == "replicated":
		return fmt.Sprintf("replicated %d", p.Acks)
	case p.Nodes+p.Replicas > 0:
		return fmt.Sprintf("%s %d", p.Topology, p.Nodes+p.Replicas)
	}
	return p.Topology
}

// arrivals returns what makes clients ask for locks: "open, Poisson 5,000/s".
func arrivals(l spec.Load) string {
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

// byClass stands for a setting in which classes differ.
const byClass = "by class"

// ofClasses returns a setting of a plan's load, or byClass if its classes do not agree in it.
func ofClasses(get func(spec.Load) string) func(*results.Cell) string {
	return func(c *results.Cell) string {
		groups := c.Plan().Groups()
		for _, g := range groups[1:] {
			if get(g.Load) != get(groups[0].Load) {
				return byClass
			}
		}
		return get(groups[0].Load)
	}
}

// Compare reports whether cells differ in a, and returns the value of the first one that it applies to.
func (a Axis) Compare(cells []*results.Cell) (first string, differs bool) {
	for i, c := range cells {
		v := a.Value(c)
		switch {
		case i == 0 || a.some && first == "":
			first = v
		case v != first && !(a.some && v == ""):
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
	return func(title string) bool {
		return slices.ContainsFunc(axes, func(a Axis) bool { return a.Title == title })
	}
}

// Common returns the values in which cells agree, but for those that are usual, and of axes that are left out.
func Common(cells []*results.Cell, leftOut func(Axis) bool) string {
	var shared []string
	for _, a := range Axes {
		if first, differs := a.Compare(cells); !differs && !a.Usual(first) && !leftOut(a) {
			shared = append(shared, a.words(first))
		}
	}
	return format.Join(shared...)
}
