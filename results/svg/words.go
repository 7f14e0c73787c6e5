package svg

// What a chart says in words: the load and the server above it, doubts below it, and its result for those who do not see it.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/view"
)

// about says what the load and the servers of groups were.
func about(v *view.Run, groups []block) string {
	cells := cellsOfGroups(groups)
	load := view.LoadWords(cells)
	if len(groups) > 1 {
		load = view.LoadWords(v.Cells)
	}
	return sentence(load, cells)
}

// aboutCells says what the load and the servers of cells were.
func aboutCells(cells []*results.Cell) string { return sentence(view.LoadWords(cells), cells) }

func sentence(load string, cells []*results.Cell) string {
	var servers []string
	for _, c := range cells {
		s := c.First().Server
		name := strings.TrimSpace(s.Name + " " + s.Version)
		if view.ServerKind(c) == "embedded" {
			name = "the stand-in of lockbench"
		}
		if name = format.Glue(name); name != "" && !slices.Contains(servers, name) {
			servers = append(servers, name)
		}
	}
	if !slices.ContainsFunc(cells, func(c *results.Cell) bool { return c.Plan().Durability != "strict" }) {
		load += ", strict durability"
	}
	if len(servers) > 0 {
		load = strings.TrimPrefix(load+", on "+format.And(servers), ", ")
	}
	return format.Upper(load) + "."
}

// trials says how many there were of each cell.
func trials(v *view.Run) (least, most int) {
	least = len(v.Cells[0].Trials)
	for _, c := range v.Cells {
		least, most = min(least, len(c.Trials)), max(most, len(c.Trials))
	}
	return least, most
}

func trialsText(v *view.Run) string {
	least, most := trials(v)
	if least == most {
		return format.Plural(least, "trial")
	}
	return fmt.Sprintf("%d to %d trials", least, most)
}

// bars explains what is drawn of several trials, and the bounds.
func bars(v *view.Run, all []section) string {
	text := "One trial each."
	if _, most := trials(v); most > 1 {
		text = "Bars: median of " + trialsText(v) + "; line at their end: " + spreads(v) + "."
	}
	if slices.ContainsFunc(all, func(s section) bool { return slices.ContainsFunc(s.panels, func(p panel) bool { return p.bounds }) }) {
		text += " Dotted: the most that hold and round trip allow."
	}
	return text
}

// spreads says what is drawn of how far the trials of a cell are apart.
func spreads(v *view.Run) string {
	intervals := 0
	for _, c := range v.Cells {
		if view.Rate(c).Known() {
			intervals++
		}
	}
	switch intervals {
	case 0:
		return "range"
	case len(v.Cells):
		return "95 % interval"
	}
	return "95 % interval, or range where trials are too few"
}

func waits(v *view.Run) string {
	text := "Logarithmic scale; " + trialsText(v) + " together."
	if _, most := trials(v); most == 1 {
		text = "Logarithmic scale; one trial."
	}
	if slices.ContainsFunc(v.Cells, (*results.Cell).Open) {
		text += " Measured from when an arrival was due."
	}
	return text
}

// notes are the doubts about cells, each with a sign that stands behind the figures of a cell.
type notes struct{ words []string }

func newNotes() *notes { return &notes{} }

// signs are as many as there are doubts.
var signs = []string{"*", "†", "‡", "§", "¶", "‖", "#", "◊"}

// of returns the signs of a cell.
func (n *notes) of(c *results.Cell) string { return n.signs(view.Doubts(c)) }

// ofWait returns the signs of a cell behind its wait, in which that of clients without a lock is not.
func (n *notes) ofWait(c *results.Cell) string { return n.signs(waitDoubts(c)) }

// waitDoubts returns why the wait of a cell is not to be believed as it stands, in a word each.
func waitDoubts(c *results.Cell) []string {
	words := view.Doubts(c)
	if c.Fairness.Starved > 0 {
		words = append(words, "starved")
	}
	return words
}

func (n *notes) signs(words []string) (text string) {
	for _, word := range words {
		at := slices.Index(n.words, word)
		if at < 0 {
			at, n.words = len(n.words), append(n.words, word)
		}
		text += signs[at]
	}
	return text
}

// draw explains the signs below the chart, and says what it has no room for: cells of its groups, and other loads.
func (n *notes) draw(c *canvas, groups []block, left int) {
	cut := 0
	for _, g := range groups {
		cut += g.cut
	}
	if len(n.words) > 0 || cut+left > 0 {
		c.y += 8
	}
	for i, word := range n.words {
		c.paragraph("soft", signs[i]+" "+meaning(word))
	}
	if cut > 0 {
		c.paragraph("soft", format.Plural(cut, "more row")+" left out.")
	}
	if left > 0 {
		c.paragraph("soft", fmt.Sprintf("%s with less contention left out.", format.Plural(left, "load")))
	}
}

// meaning explains a word of doubt in a sentence.
func meaning(word string) string {
	switch word {
	case "partial":
		return "partial: the trial ended early."
	case "embedded":
		return "embedded: the server is a stand-in inside lockbench."
	}
	return word + ": " + view.Meaning(word) + "."
}

// guarantees warns of a ranking of designs that do not promise the same.
func guarantees(cells []*results.Cell) string {
	first := view.Claims(cells[0].First().Traits)
	if !slices.ContainsFunc(cells, func(c *results.Cell) bool { return view.Claims(c.First().Traits) != first }) {
		return ""
	}
	return "Guarantees differ: a faster lock may promise less."
}

// saidOf says of a cell what must not be left out.
func saidOf(c *results.Cell) string {
	var words []string
	if c.Violated() {
		words = append(words, "mutual exclusion violated")
	}
	words = append(words, waitDoubts(c)...)
	if len(words) == 0 {
		return ""
	}
	return " (" + strings.Join(words, ", ") + ")"
}

// altOf lists a figure of all cells, load by load.
func altOf(v *view.Run, groups []block, what string, figure func(*results.Cell) float64, write func(float64) string) string {
	var all []string
	for _, g := range groups {
		var said []string
		for i, c := range g.Cells {
			said = append(said, g.Short[i]+" "+write(figure(c))+saidOf(c))
		}
		text := strings.Join(said, "; ")
		if g.Title != "" {
			text = g.Title + ": " + text
		}
		all = append(all, text)
	}
	if v.Rivals {
		what += ", best first"
	}
	return what + ". " + strings.Join(all, ". ") + "."
}
