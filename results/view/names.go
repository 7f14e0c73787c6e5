package view

// Labels: the name of a cell where it has no row with columns.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
)

// plainAxes are the axes whose values need no title beside them, unless the value is "none".
var plainAxes = []string{"driver", "lock", "topology", "workload", "load", "kind", "durability", "server"}

// Labels are names for cells that stand side by side: the axes in which they differ, as the table of a run has them. One
// cell alone has none (""). No two are alike: the server, and then what is too long for a name, is said if nothing else
// tells two cells apart, and in the end they are numbered.
func Labels(cells []*results.Cell) []string {
	labels := make([]string, len(cells))
	if len(cells) < 2 {
		return labels
	}
	axes := differing(cells)
	add := func(in func(a Axis) bool) {
		had, cellsOf := slices.Clone(labels), counts(labels)
		for _, a := range axes {
			for i, c := range cells {
				if in(a) && cellsOf[had[i]] > 1 {
					labels[i] = joined(labels[i], a, format.Line(a.Value(c)))
				}
			}
		}
	}
	asked := func(a Axis) bool { return a.names() && !a.Server }
	add(asked)
	for i := range labels {
		if labels[i] == "" {
			labels[i] = usual(slices.DeleteFunc(slices.Clone(axes), func(a Axis) bool { return !asked(a) }))
		}
	}
	add(func(a Axis) bool { return a.names() && a.Server })
	add(func(a Axis) bool { return !a.names() })
	cellsOf := counts(labels)
	numbered := map[string]int{}
	for i, label := range labels {
		if cellsOf[label] > 1 {
			numbered[label]++
			labels[i] = strings.TrimSpace(fmt.Sprintf("%s #%d", label, numbered[label]))
		}
	}
	return labels
}

// usual returns the name of a cell that has no value in any of the axes: "renew off · lockers 1".
func usual(axes []Axis) (name string) {
	for _, a := range axes {
		if a.Zero == "" {
			name = strings.TrimPrefix(name+" · no "+a.Title, " · ")
			continue
		}
		name = joined(name, a, a.Zero)
	}
	return name
}

// names reports whether a is short enough for the name of a cell, and is about what was asked or where.
func (a Axis) names() bool { return !a.Wide && a.Title != "trials" && a.Title != "claims" }

// joined returns the label with the value of one more axis.
func joined(label string, a Axis, v string) string {
	switch {
	case v == "" && a.Absent == "":
		return label
	case v == "":
		v = a.Absent
	}
	if v == "none" || !slices.Contains(plainAxes, a.Title) {
		v = a.Title + " " + v
	}
	if label == "" {
		return v
	}
	return label + " · " + v
}

// counts returns how often each text is in a list.
func counts(list []string) map[string]int {
	n := make(map[string]int, len(list))
	for _, s := range list {
		n[s]++
	}
	return n
}

// Names are cells by the axes in which they differ, without those that the others tell already, and what they have in common
// but for what Place says. A single cell goes by its driver, lock and way of waiting, and a partial one is called so. No
// two names are alike.
func Names(cells []*results.Cell) (names []string, common string) {
	return whole(shortest(cells, differing(cells)), cells), format.Line(Common(cells, func(a Axis) bool {
		return slices.Contains(placed, a.Title) || a.Title == "claims" && a.Value(cells[0]) == ""
	}))
}

// NamesBut are the names of cells without the axis of one title, such as those of lines over it, unless nothing else
// distinguishes two cells.
func NamesBut(cells []*results.Cell, title string) []string {
	axes := slices.DeleteFunc(differing(cells), func(a Axis) bool { return a.Title == title })
	return whole(shortest(cells, axes), cells)
}

// whole names the cells that have nothing particular by their design, and calls partial ones so.
func whole(names []string, cells []*results.Cell) []string {
	for i, c := range cells {
		if names[i] == "" {
			p := c.Plan()
			parts := slices.DeleteFunc([]string{p.Driver, p.Lock, Waits(p)}, func(s string) bool { return s == "" || s == "wait "+ownWait })
			names[i] = format.Clean(strings.Join(parts, " · "))
		}
		if c.Partial() != "" {
			names[i] += " · partial"
		}
	}
	return names
}

// placed are the axes that Place speaks of.
var placed = []string{
	"kind", "server", "mode", "persistence", "replicas", "network", "address", "machine", "lockbench", "libraries", "library",
}

// namingAxes stay in a name even if cells could be told apart without them.
var namingAxes = []string{"side", "revision", "driver", "lock", "wait", "topology", "release", "renew", "workload", "params"}

// ownWait is the way of waiting of designs that have one of their own, which need not be mentioned.
const ownWait = "native"

// shortest are names by axes, or else Labels, without the axes that tell no two cells apart that are alike otherwise: where each driver has a server
// of its own, the server's version only makes names longer.
func shortest(cells []*results.Cell, axes []Axis) []string {
	names := shortened(cells, axes, namingAxes, allDistinct)
	if names == nil {
		return Labels(cells)
	}
	return names
}

func allDistinct(names []string) bool { return distinct(names) == len(names) }

// shortened returns names by the axes that are necessary to distinguish cells, as apart reports, and by those that stay anyway;
// nil if all of the axes do not suffice.
func shortened(cells []*results.Cell, axes []Axis, stay []string, apart func(names []string) bool) []string {
	kept := slices.DeleteFunc(axes, func(a Axis) bool { return !a.names() })
	names := namesBy(kept, cells)
	if !apart(names) {
		return nil
	}
	if i := slices.IndexFunc(kept, func(a Axis) bool { return a.Title == "wait" }); i >= 0 {
		value := kept[i].Value
		kept[i].Value = func(c *results.Cell) string { return strings.TrimSuffix(value(c), ownWait) }
		if plain := namesBy(kept, cells); apart(plain) && !slices.Contains(plain, "") {
			names = plain
		} else {
			kept[i].Value = value
		}
	}
	if slices.ContainsFunc(kept, func(a Axis) bool { return a.Title == "side" }) {
		return names // what the other side has different is what a reader wants to know
	}
	for i := len(kept) - 1; i >= 0; i-- {
		if slices.Contains(stay, kept[i].Title) {
			continue
		}
		fewer := slices.Delete(slices.Clone(kept), i, i+1)
		if shorter := namesBy(fewer, cells); apart(shorter) {
			kept, names = fewer, shorter
		}
	}
	for i, name := range names {
		if name == "" && len(kept) > 0 {
			names[i] = usual(kept)
		}
	}
	return names
}

func namesBy(kept []Axis, cells []*results.Cell) []string {
	names := make([]string, len(cells))
	for i, c := range cells {
		for _, a := range kept {
			names[i] = named(names[i], a, c)
		}
	}
	return names
}

// named is joined, but for counts of clients and keys, which read better before what they count.
func named(name string, a Axis, c *results.Cell) string {
	v := format.Line(a.Value(c))
	if a.Title != "clients" && a.Title != "keys" {
		return joined(name, a, v)
	}
	if v += " " + a.Title; v == "1 "+a.Title {
		v = strings.TrimSuffix(v, "s")
	}
	return strings.TrimPrefix(name+" · "+v, " · ")
}

func distinct(names []string) int {
	names = slices.Sorted(slices.Values(names))
	return len(slices.Compact(names))
}

// loadAxes are the settings of the load. Cells of different loads are not compared.
var loadAxes = []string{"workload", "load", "max queue", "classes", "clients", "keys", "key dist", "hold", "think", "ttl",
	"timeout", "try-only", "crash", "overstay", "re-entry", "ops", "probe", "kind", "durability", "machine"}

// Loads sorts cells into those of the same load, on servers of the same kind: by index, in the order of the first of each.
// Its title says what is particular to a load; with a single one it is empty.
func Loads(cells []*results.Cell) (titles []string, members [][]int) {
	ofLoad := slices.DeleteFunc(differing(cells), func(a Axis) bool { return !slices.Contains(loadAxes, a.Title) })
	places := map[string]int{} // in titles
	for i, c := range cells {
		title := ""
		for _, a := range ofLoad {
			title = named(title, a, c)
		}
		at, seen := places[title]
		if !seen {
			at, titles, members = len(titles), append(titles, title), append(members, nil)
			places[title] = at
		}
		members[at] = append(members[at], i)
	}
	return titles, members
}

// InCommon returns what all cells were asked for alike, and the kind of server and the machine if those are alike.
func InCommon(cells []*results.Cell) string {
	return Common(cells, func(a Axis) bool { return slices.Contains(changing, a.Title) || a.Server && a.Title != "address" })
}

// Common returns the axes in which cells agree with their values, but for those that are left out: the load first, on which
// everything else depends.
func Common(cells []*results.Cell, leftOut func(Axis) bool) string {
	var shared []string
	for _, a := range Axes {
		switch first, differs := a.Compare(cells); {
		case differs || leftOut(a):
		case a.Title == "load":
			shared = append([]string{LoadLine(cells[0].Plan())}, shared...)
		case a.Title == "claims":
			shared = append(shared, "claims: "+TraitWords(cells[0].First().Traits))
		case first != "" && first != a.Unsaid:
			shared = append(shared, a.Title+format.Unbroken+first)
		}
	}
	return format.Join(shared...)
}

// changing are the axes that belong to points, not to series.
var changing = []string{"claims", "trials", "side", "revision", "lockbench", "libraries", "library"}
