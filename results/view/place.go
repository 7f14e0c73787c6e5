package view

import (
	"strings"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
)

// Where cells ran.

// Item is a fact about a cell.
type Item struct {
	Label string
	Lines []string
	Alarm bool // something is wrong
}

// Place returns where a cell ran, without what is made anew for each run.
func Place(c *results.Cell) []Item {
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
	return []Item{
		{Label: "server", Lines: []string{format.Line(format.Join(words...))}},
		{Label: "machine", Lines: []string{format.Line(Machine(e))}},
		{Label: "program", Lines: []string{format.Line(strings.TrimSpace("lockbench " + e.Lockbench))}},
		{Label: "libraries", Lines: []string{format.Line(Libraries(e))}},
	}
}
