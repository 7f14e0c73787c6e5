package view

import (
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
)

// Where cells ran.

// Fact is what is known of one thing.
type Fact struct{ Label, Text string }

// Place returns what is known of where a cell ran, without what is made anew for each run.
func Place(c *results.Cell) []Fact {
	s, e := c.First().Server, c.First().Env
	kind := ServerKind(c)
	words := []string{strings.TrimSpace(s.Name + " " + s.Version), kind, s.Mode, s.Network}
	for _, fact := range [][2]string{{"durability", s.Durability}, {"persistence", s.Persistence}} {
		if fact[1] != "" {
			words = append(words, fact[0]+" "+fact[1])
		}
	}
	if s.Replicas > 0 {
		words = append(words, format.Plural(s.Replicas, "replica"))
	}
	if kind == "external" {
		words = append(words, s.Addr)
	}
	all := []Fact{{"server", format.Join(words...)}, {"machine", Machine(e)}, {"program", strings.TrimSpace("lockbench " + e.Lockbench)},
		{"libraries", Libraries(e)}}
	for i := range all {
		all[i].Text = format.Line(all[i].Text)
	}
	return slices.DeleteFunc(all, func(f Fact) bool { return f.Text == "" })
}

// ServerText returns what a cell's server is and how it was set up: "redis 7.0.15 (persistence none, unix)". It is empty if there
// is none.
func ServerText(c *results.Cell) string {
	s := c.First().Server
	if ServerKind(c) == "in-process" {
		return ""
	}
	var facts []string
	if s.Mode != "" && s.Mode != "standalone" {
		facts = append(facts, s.Mode)
	}
	if s.Persistence != "" {
		facts = append(facts, "persistence "+s.Persistence)
	}
	if s.Replicas > 0 {
		facts = append(facts, format.Plural(s.Replicas, "replica"))
	}
	if s.Network != "" {
		facts = append(facts, s.Network)
	}
	if ServerKind(c) == "external" {
		facts = append(facts, s.Addr)
	}
	text := strings.TrimSpace(s.Name + " " + s.Version)
	if facts != nil {
		text += " (" + strings.Join(facts, ", ") + ")"
	}
	return format.Clean(strings.TrimSpace(text))
}
