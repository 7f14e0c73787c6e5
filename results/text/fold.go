package text

// Tables of several services: what is true of each service is said once for each, not in a column of every row.

import (
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/view"
)

// facts are the axes about servers that follow from the driver, and a note for each driver.
type facts struct {
	titles []string
	notes  []note
}

// fold finds the facts about servers that differ between the services of a table and follow from its driver, and from
// the durability if that differs too. Tables of one service have none: what differs there is what was asked.
func fold(cells []*results.Cell) (f facts) {
	byDurability := differ(cells, "durability")
	owner := func(c *results.Cell) string {
		if p := c.Plan(); byDurability && p.Durability != "" {
			return p.Driver + " " + p.Durability
		}
		return c.Plan().Driver
	}
	if !severalServices(cells) {
		return f
	}
	for _, a := range view.Axes {
		if _, differs := a.Compare(cells); a.Server && differs && follows(cells, owner, a) {
			f.titles = append(f.titles, a.Title)
		}
	}
	if f.titles == nil {
		return f
	}
	var seen []string
	for _, c := range cells {
		if slices.Contains(seen, owner(c)) || view.ServerKind(c) == "in-process" {
			continue
		}
		seen = append(seen, owner(c))
		var parts []string
		for _, a := range view.Axes {
			switch v := a.Value(c); {
			case v == "" || !slices.Contains(f.titles, a.Title):
			case a.Title == "server":
				parts = append(parts, v)
			default:
				parts = append(parts, a.Title+format.Unbroken+v)
			}
		}
		f.notes = append(f.notes, note{format.Clean(owner(c)) + ":", format.Join(parts...)})
	}
	return f
}

// severalServices reports whether there are servers of different kinds, as they name themselves; those without a server do not count.
func severalServices(cells []*results.Cell) bool {
	first := ""
	for _, c := range cells {
		name := c.First().Server.Name
		if view.ServerKind(c) == "in-process" || name == "" {
			continue
		}
		if first == "" {
			first = name
		}
		if name != first {
			return true
		}
	}
	return false
}

func differ(cells []*results.Cell, title string) bool {
	i := slices.IndexFunc(view.Axes, func(a view.Axis) bool { return a.Title == title })
	_, differs := view.Axes[i].Compare(cells)
	return differs
}

// follows reports whether cells of the same owner have the same value.
func follows(cells []*results.Cell, owner func(*results.Cell) string, a view.Axis) bool {
	values := map[string]string{}
	for _, c := range cells {
		v := a.Value(c)
		if first, seen := values[owner(c)]; seen && first != v {
			return false
		}
		values[owner(c)] = v
	}
	return true
}

// holdsEnd explains how holds end without a release, where the rows differ in that.
func holdsEnd(cells []*results.Cell) string {
	var ways []string
	for _, way := range []struct {
		has  func(results.Traits) bool
		text string
	}{
		{func(t results.Traits) bool { return t.Expires }, "e after its TTL, though its holder lives"},
		{func(t results.Traits) bool { return t.Session }, "s when the service no longer hears its holder's session"},
		{func(t results.Traits) bool { return t.Exclusive && !t.Expires && !t.Session }, "with neither, never"},
	} {
		if slices.ContainsFunc(cells, func(c *results.Cell) bool { return way.has(c.First().Traits) }) {
			ways = append(ways, way.text)
		}
	}
	if len(ways) < 2 || !slices.ContainsFunc(cells, func(c *results.Cell) bool { return c.First().Traits.Session }) {
		return ""
	}
	return "What a dead client holds comes free: " + strings.Join(ways, "; ") + "."
}
