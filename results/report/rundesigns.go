package report

// What is true of designs and of servers, and not of single cells: what is wrong with each design, what it guarantees, and what
// it was measured on.

import (
	"cmp"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/view"
)

// told are the axes that tables tell in a way of their own: in the titles of their blocks, above or below them.
var told = []string{"driver", "lock", "wait", "topology", "load", "clients", "keys", "key dist", "hold", "think",
	"try-only", "crash", "overstay", "re-entry", "claims", "trials", "duration", "warm-up", "ops", "kind", "server", "mode", "persistence", "network", "replicas", "address", "machine", "lockbench", "libraries", "library"}

// shared returns what all cells share, the loads in the titles of the blocks apart: the design, how often and how long each ran,
// on which server and machine.
func (t *cellTable) shared() string {
	c := t.Cells[0]
	same := func(title string) bool { return !t.differ(title) }
	parts := []string{design(c, same)}
	waits := view.Waits(c.Plan())
	if !slices.ContainsFunc(t.Cells, func(c *results.Cell) bool { return view.Waits(c.Plan()) != waits }) {
		parts = append(parts, waits)
	}
	parts = append(parts, view.Common(t.Cells, func(a view.Axis) bool {
		return slices.Contains(told, a.Title) || a.Title == "ttl" && c.Plan().Crash > 0 || slices.ContainsFunc(t.Cells, func(c *results.Cell) bool { return a.Usual(a.Value(c)) })
	}))
	if same("trials") && same("duration") && same("ops") {
		parts = append(parts, format.Plural(len(c.Trials), "trial")+" of "+length(c.Plan()))
	}
	server := "servers"
	if text := view.ServerText(c); !slices.ContainsFunc(t.Cells, func(c *results.Cell) bool { return view.ServerText(c) != text }) {
		server = cmp.Or(text, server)
	}
	switch kind := view.ServerKind(c); {
	case same("kind") && kind == "in-process":
		server = kind
	case same("kind"):
		server = kind + " " + server
	}
	if server != "servers" {
		parts = append(parts, server)
	}
	if same("machine") {
		parts = append(parts, view.CPU(c.First().Env))
	}
	return format.Join(parts...)
}

// design returns the driver, the lock and the topology of c, as far as in tells.
func design(c *results.Cell, in func(title string) bool) string {
	p := c.Plan()
	var parts []string
	for _, part := range [][2]string{{"driver", p.Driver}, {"lock", p.Lock}, {"topology", p.Topology}} {
		if part[1] != "" && in(part[0]) && !slices.Contains(parts, part[1]) {
			parts = append(parts, part[1])
		}
	}
	return format.Clean(strings.Join(parts, " "))
}

// labels returns a short name of the design of each cell: its driver if no other design here has that, else what designs differ
// in.
func labels(cells []*results.Cell) map[*results.Cell]string {
	var designs view.Grouped[string, string] // of each driver
	for _, c := range cells {
		designs.Once(c.Plan().Driver, design(c, anyTitle))
	}
	all, differ := make(map[*results.Cell]string, len(cells)), view.Differing(cells)
	for _, c := range cells {
		if driver := c.Plan().Driver; len(designs.Keys) > 1 && len(designs.Of[driver]) == 1 {
			all[c] = format.Clean(driver)
			continue
		}
		all[c] = cmp.Or(design(c, differ), design(c, anyTitle))
	}
	return all
}

func anyTitle(string) bool { return true }

// rest returns the way of waiting of a design, if the names of the rows leave it out since it follows from what they say.
func (t *cellTable) rest(c *results.Cell) string {
	p := c.Plan()
	label, name := t.labels[c], t.names[c]
	if p.Wait != "" && t.differ("wait") && !strings.Contains(name, p.Wait) && !slices.ContainsFunc(t.Cells, func(other *results.Cell) bool {
		return t.labels[other] == label && other.Plan().Wait != p.Wait
	}) {
		return format.Clean(view.Waits(p))
	}
	return ""
}

// listed sorts the designs by a text that is true of each: those of the same text are together, in the order of their first cells.
func (t *cellTable) listed(of func(*results.Cell) string) (labels view.Grouped[string, string]) {
	for _, c := range t.Cells {
		if text := of(c); text != "" {
			labels.Once(text, t.labels[c])
		}
	}
	return labels
}

// risks returns what is wrong with each design, if the records tell.
func (t *cellTable) risks() Block {
	labels := t.listed(view.Risk)
	if texts := labels.Keys; len(texts) == 1 && len(labels.Of[texts[0]]) == 1 {
		return Paragraph{Text: "What is wrong with " + labels.Of[texts[0]][0] + ": " + texts[0]}
	}
	var list List
	for _, text := range labels.Keys {
		list = append(list, Item{Mark: strings.Join(labels.Of[text], ", ") + ":", Text: text})
	}
	return section("", "What is wrong with each design", list)
}

// designs returns what the names of the rows leave out of each design, and on which server it was measured if they differ in that.
func (t *cellTable) designs() Paragraph {
	servers := slices.ContainsFunc(t.Cells, func(c *results.Cell) bool { return view.ServerText(c) != view.ServerText(t.Cells[0]) })
	labels := t.listed(func(c *results.Cell) string {
		parts := []string{t.rest(c)}
		if servers || t.differ("kind") {
			parts = append(parts, view.ServerText(c))
		}
		return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", ")
	})
	var all []string
	for _, text := range labels.Keys {
		all = append(all, strings.Join(labels.Of[text], ", ")+format.Unbroken+"– "+text)
	}
	return sentence("Designs: ", all)
}

// persistence returns what is on disk when the lock of each design is granted. Where many keep nothing, those that do are
// named.
func (t *cellTable) persistence() string {
	labels := t.listed(func(c *results.Cell) string {
		text := format.Clean(view.Persistence(c))
		if durability := c.Plan().Durability; text != "" && durability != "" && t.differ("durability") {
			text += " (" + durability + ")"
		}
		return text
	})
	var all []string
	others := ""
	for _, text := range labels.Keys {
		if text == "none" && len(labels.Keys) > 1 && len(labels.Of[text]) > view.NamedCells {
			others = "all others" + format.Unbroken + "– none"
			continue
		}
		all = append(all, strings.Join(labels.Of[text], ", ")+format.Unbroken+"– "+text)
	}
	if others != "" {
		all = append(all, others)
	}
	return strings.Join(all, "; ")
}

// guarantees returns which designs have the guarantees that not all of them have.
func (t *cellTable) guarantees() Paragraph {
	var all []string
	for _, trait := range view.Guarantees {
		labels := t.listed(func(c *results.Cell) string {
			return map[bool]string{true: "yes", false: "no"}[trait.Has(c)]
		})
		if len(labels.Keys) > 1 {
			all = append(all, trait.Name+format.Unbroken+"– "+strings.Join(labels.Of["yes"], ", "))
		}
	}
	return sentence("Guarantees differ: ", all)
}

// sentence returns a paragraph of some items; an empty one if there are none.
func sentence(lead string, items []string) Paragraph {
	if len(items) == 0 {
		return Paragraph{}
	}
	return Paragraph{Text: lead + strings.Join(items, "; ") + "."}
}

// particular returns in what a cell differs from others that has no place in names and titles.
func (t *cellTable) particular(c *results.Cell) string {
	var parts []string
	for _, a := range view.Axes {
		if v := a.Value(c); a.Wide && v != "" && t.differ(a.Title) && (!slices.Contains(told, a.Title) || slices.Contains([]string{"lockbench", "libraries", "library"}, a.Title)) {
			parts = append(parts, a.Title+" "+v)
		}
	}
	if t.differ("trials") || t.differ("duration") || t.differ("ops") {
		parts = append(parts, format.Plural(len(c.Trials), "trial")+" of "+length(c.Plan()))
	}
	return format.Join(parts...)
}
