package render

// The parts of a page for formats that lay it out themselves, such as the HTML report: the same words and figures as on
// the terminal, without its lines.

import (
	"cmp"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
)

// Safety says in a sentence how many violations there were, or how rare none among the watched grants lets them be.
func Safety(s results.Safety) string { return safetyLine(s) }

// Witnesses tells what the oracle's other witnesses saw, lost updates for one; empty if nothing.
func Witnesses(s results.Safety) string { return otherWitnesses(s) }

// Marks are the words that mark a cell's figures as not to be believed as they stand, "saturated" for one, and for each a
// sentence that explains it.
func Marks(c *results.Cell) (words, means []string) {
	for _, m := range marks {
		if word := m.word(c); word != "" {
			words, means = append(words, word), append(means, format.Line(m.means))
		}
	}
	return words, means
}

// Guarantees are what a cell's design claims, without its mere abilities, in words.
func Guarantees(c *results.Cell) string {
	var words []string
	for _, t := range traitNames {
		if t.letter != "" && t.has(c.First().Traits) {
			words = append(words, t.name)
		}
	}
	return cmp.Or(strings.Join(words, ", "), "nothing")
}

// Names are cells by the axes in which they differ, without those that the others tell already, and what they have in common
// but for what Place says. A single cell goes by its driver, lock and way of waiting, and a partial one is called so. No
// two names are alike.
func Names(cells []*results.Cell) (names []string, common string) {
	names = shortest(cells)
	for i, c := range cells {
		if names[i] == "" {
			p := plan(c)
			parts := slices.DeleteFunc([]string{p.Driver, p.Lock, p.Wait}, func(s string) bool { return s == "" })
			names[i] = format.Clean(strings.Join(parts, " · "))
		}
		if c.Partial() != "" {
			names[i] += " · partial"
		}
	}
	for _, a := range axes {
		switch first, differs := a.compare(cells); {
		case differs || first == "" || first == a.unsaid || slices.Contains(placed, a.title):
		case a.title == "load":
			common = format.Join(loadLine(plan(cells[0])), common)
		case a.title == "claims":
			common = format.Join(common, "claims: "+traitWords(cells[0].First().Traits))
		default:
			common = format.Join(common, a.title+format.Unbroken+first)
		}
	}
	return names, format.Line(common)
}

// placed are the axes that Place speaks of.
var placed = []string{
	"kind", "server", "mode", "persistence", "replicas", "network", "address", "machine", "lockbench", "libraries",
}

// namingAxes stay in a name even if cells could be told apart without them.
var namingAxes = []string{"side", "revision", "driver", "lock", "wait", "topology", "release", "renew", "workload", "params"}

// shortest are Labels without the axes that tell no two cells apart that are alike otherwise: where each driver has a server
// of its own, the server's version only makes names longer.
func shortest(cells []*results.Cell) []string {
	var kept []axis
	for _, a := range axes {
		if _, differs := a.compare(cells); differs && !a.wide && a.title != "trials" && a.title != "claims" {
			kept = append(kept, a)
		}
	}
	names := namesBy(kept, cells)
	if distinct(names) < len(cells) {
		return Labels(cells)
	}
	if slices.ContainsFunc(kept, func(a axis) bool { return a.title == "side" }) {
		return names // what the other side has different is what a reader wants to know
	}
	for i := len(kept) - 1; i >= 0; i-- {
		if slices.Contains(namingAxes, kept[i].title) {
			continue
		}
		fewer := slices.Delete(slices.Clone(kept), i, i+1)
		if shorter := namesBy(fewer, cells); distinct(shorter) == len(cells) {
			kept, names = fewer, shorter
		}
	}
	return names
}

func namesBy(kept []axis, cells []*results.Cell) []string {
	names := make([]string, len(cells))
	for i, c := range cells {
		for _, a := range kept {
			names[i] = named(names[i], a, c)
		}
	}
	return names
}

// named is joined, but for counts of clients and keys, which read better before what they count.
func named(name string, a axis, c *results.Cell) string {
	v := format.Clean(a.value(c))
	if a.title != "clients" && a.title != "keys" {
		return joined(name, a, v)
	}
	if v += " " + a.title; v == "1 "+a.title {
		v = strings.TrimSuffix(v, "s")
	}
	return strings.TrimPrefix(name+" · "+v, " · ")
}

func distinct(names []string) int {
	names = slices.Sorted(slices.Values(names))
	return len(slices.Compact(names))
}

// loadAxes are what is asked of a lock, where all the others are what answers: cells that differ in one of these are no
// rivals.
var loadAxes = []string{"workload", "load", "max queue", "classes", "clients", "keys", "key dist", "hold", "think", "ttl",
	"timeout", "try-only", "crash", "overstay", "re-entry", "ops", "probe", "kind", "durability", "machine"}

// Loads sorts cells into those of the same load, on servers of the same kind: by index, in the order of the first of each.
// Its title says what is particular to a load; with a single one it is empty.
func Loads(cells []*results.Cell) (titles []string, members [][]int) {
	var differing []axis
	for _, a := range newTable(cells).axes {
		if slices.Contains(loadAxes, a.title) {
			differing = append(differing, a)
		}
	}
	for _, a := range axes { // the wide ones are in no table
		if _, differs := a.compare(cells); a.wide && differs && slices.Contains(loadAxes, a.title) {
			differing = append(differing, a)
		}
	}
	places := map[string]int{} // in titles
	for i, c := range cells {
		title := ""
		for _, a := range differing {
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

// Sheet is a table before it takes a form.
type Sheet struct {
	Head  []string
	Right []bool // columns that are aligned right
	Rows  [][]string
	Cells []int    // the place of each row's cell; classes have rows of their own below it
	Notes []string // what stands below the table
}

// Full is the table of all cells with every column.
func Full(cells []*results.Cell) Sheet {
	t := newTable(cells)
	g := t.grid()
	s := Sheet{Head: g.head, Right: g.right, Rows: g.rows}
	for i := range s.Head {
		s.Head[i] = oneLine(s.Head[i])
	}
	for _, r := range s.Rows {
		for i := range r {
			r[i] = format.Line(r[i])
		}
	}
	for _, r := range t.rows() {
		s.Cells = append(s.Cells, r.cell)
	}
	for _, n := range t.below() {
		s.Notes = append(s.Notes, format.Line(strings.TrimSpace(n.mark+" "+n.text)))
	}
	return s
}

// Item is a fact about a cell.
type Item struct {
	Label string
	Lines []string
	Alarm bool // something is wrong
}

// Facts are what the detailed view of a cell says, figures that have a table of their own apart.
func Facts(c *results.Cell) []Item {
	p := &page{width: defaultWidth, items: &[]Item{}}
	p.asked(c)
	p.throughput(c)
	p.outcomes(c)
	p.safety(c)
	p.costs(c)
	p.generator(c)
	return slices.DeleteFunc(*p.items, func(i Item) bool { return i.Label == "course" })
}

// collect takes an item instead of writing it; one without a label goes on with the last.
func (p *page) collect(color, label, text string) {
	text, wrong := format.Line(text), color == red || color == yellow
	if n := len(*p.items); label == "" && n > 0 {
		last := &(*p.items)[n-1]
		last.Lines, last.Alarm = append(last.Lines, text), last.Alarm || wrong
		return
	}
	*p.items = append(*p.items, Item{label, []string{text}, wrong})
}

// Place says where a cell ran, without what is made anew for each run.
func Place(c *results.Cell) []Item {
	s, e := c.First().Server, c.First().Env
	kind := serverKind(c)
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
		{Label: "machine", Lines: []string{format.Line(machine(e))}},
		{Label: "program", Lines: []string{format.Line(strings.TrimSpace("lockbench " + e.Lockbench))}},
		{Label: "libraries", Lines: []string{format.Line(libraries(e))}},
	}
}
