package report

// The pictures of runs: which there are, and what they say in words.

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/view"
)

// PictureNames are the names of the pictures that there are. Those from clients on are over a setting, and any other setting that has
// numbers or two values makes one too.
var PictureNames = []string{"overview", "throughput", "latency", "recovery", "percentiles", "clients", "rate", "durability"}

// Pictures returns those that the cells have the data for, in the order of PictureNames. The cells are as results.Group makes them.
func Pictures(cells []*results.Cell) (all []*Picture) {
	if len(cells) == 0 {
		return nil
	}
	v := view.NewRun(cells)
	for _, picture := range []func(*view.Run) *Picture{overview, throughputs, waits, recovery, percentiles} {
		if p := picture(v); p != nil {
			all = append(all, p)
		}
	}
	return append(all, overSettings(v)...)
}

// FindPicture returns the picture of that name; the error says which there are.
func FindPicture(cells []*results.Cell, name string) (*Picture, error) {
	all := Pictures(cells)
	var names []string
	for _, p := range all {
		if p.Name == name {
			return p, nil
		}
		names = append(names, p.Name)
	}
	return nil, fmt.Errorf("the records make no chart %q; they make %s", name, strings.Join(names, ", "))
}

// known reports whether v can be drawn.
func known(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// Which cells come into a picture with a row each, and in which order.

const (
	mostRows    = 40 // of a picture; loads beyond that are left to the table
	mostPerLoad = 24
)

// chosen is cells of the same load in the order in which they are drawn, and how many more there are than a picture has room for.
type chosen struct {
	view.Group
	cut int
}

// choose returns the cells of which a figure is known, load by load, and how many loads a picture has no room for.
func choose(v *view.Run, has func(*results.Cell) bool, order func(view.Group) []int) (groups []chosen, left int) {
	rows := 0
	for _, g := range v.Groups {
		at := slices.DeleteFunc(order(g), func(i int) bool { return !has(g.Cells[i]) })
		if len(at) == 0 {
			continue
		}
		cut := max(0, len(at)-mostPerLoad)
		if rows += len(at) - cut; len(groups) > 0 && rows > mostRows {
			left++
			continue
		}
		groups = append(groups, chosen{picked(g, at[:len(at)-cut]), cut})
	}
	return groups, left
}

// picked returns the cells in some places of g.
func picked(g view.Group, at []int) view.Group {
	p := view.Group{Title: g.Title, Load: g.Load}
	for _, i := range at {
		p.Cells, p.Short, p.Index = append(p.Cells, g.Cells[i]), append(p.Short, g.Short[i]), append(p.Index, g.Index[i])
	}
	return p
}

func cellsOf(groups []chosen) (cells []*results.Cell) {
	for _, g := range groups {
		cells = append(cells, g.Cells...)
	}
	return cells
}

// best returns the order of rivals, the best first; others stay as they were run.
func best(v *view.Run) func(view.Group) []int {
	if v.Rivals {
		return view.Group.Best
	}
	return asRun
}

// shortest is best by a time. Cells that broke exclusion come last.
func shortest(v *view.Run, time func(*results.Cell) float64) func(view.Group) []int {
	if !v.Rivals {
		return asRun
	}
	return func(g view.Group) []int {
		return g.Sorted(func(c *results.Cell) float64 {
			if c.Breaches() > 0 {
				return math.NaN()
			}
			return -time(c)
		})
	}
}

func asRun(g view.Group) []int { return g.Sorted(func(*results.Cell) float64 { return 0 }) }

// Words.

// about says what the load and the servers of groups were.
func about(v *view.Run, groups []chosen) string {
	cells := cellsOf(groups)
	if len(groups) > 1 {
		return loadAndServers(view.LoadWords(v.Cells), cells)
	}
	return aboutCells(cells)
}

// aboutCells says what the load and the servers of cells were.
func aboutCells(cells []*results.Cell) string { return loadAndServers(view.LoadWords(cells), cells) }

func loadAndServers(load string, cells []*results.Cell) string {
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

// trialsOf says how many there were of each cell.
func trialsOf(v *view.Run) (text string, several bool) {
	least, most := len(v.Cells[0].Trials), 0
	for _, c := range v.Cells {
		least, most = min(least, len(c.Trials)), max(most, len(c.Trials))
	}
	if least == most {
		return format.Plural(least, "trial"), most > 1
	}
	return fmt.Sprintf("%d to %d trials", least, most), true
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

// aboutBars explains what is drawn of several trials, and the bounds.
func aboutBars(v *view.Run, rows []Intervals) string {
	text := "One trial each."
	if trials, several := trialsOf(v); several {
		text = "Bars: median of " + trials + "; line at their end: " + spreads(v) + "."
	}
	if slices.ContainsFunc(rows, func(c Intervals) bool {
		return slices.ContainsFunc(c.Rows, func(r Interval) bool { return r.Bound > 0 })
	}) {
		text += " Dotted: the most that hold and round trip allow."
	}
	return text
}

func aboutWaits(v *view.Run) string {
	trials, several := trialsOf(v)
	text := "Logarithmic scale; " + trials + " together."
	if !several {
		text = "Logarithmic scale; one trial."
	}
	if slices.ContainsFunc(v.Cells, (*results.Cell).Open) {
		text += " Measured from when an arrival was due."
	}
	return text
}

// leftOut says which cells and loads a picture has no room for.
func leftOut(groups []chosen, loads int) (notes []string) {
	cut := 0
	for _, g := range groups {
		cut += g.cut
	}
	if cut > 0 {
		notes = append(notes, format.Plural(cut, "more row")+" left out.")
	}
	if loads > 0 {
		notes = append(notes, format.Plural(loads, "load")+" with less contention left out.")
	}
	return notes
}

// unlikeGuarantees warns of a ranking of designs that do not promise the same.
func unlikeGuarantees(cells []*results.Cell) []string {
	first := view.Claims(cells[0].First().Traits)
	if slices.ContainsFunc(cells, func(c *results.Cell) bool { return view.Claims(c.First().Traits) != first }) {
		return []string{"Guarantees differ: a faster lock may promise less."}
	}
	return nil
}

// Badges.

// violatedBadge stands beside the name of a cell that broke exclusion.
var violatedBadge = Badge{Text: "violated", Tone: Bad, About: "a lock that claims mutual exclusion broke it."}

// badges returns the words beside a cell's name.
func badges(c *results.Cell) (all []Badge) {
	if c.Violated() {
		all = append(all, violatedBadge)
	}
	for _, word := range view.Doubts(c) {
		all = append(all, doubt(word))
	}
	if c.Beaten() { // which is the estimate's fault
		all = append(all, doubt("beaten"))
	}
	return all
}

// waitBadges returns the words beside a cell's wait, in which that of clients without a lock is not.
func waitBadges(c *results.Cell) []Badge {
	all := badges(c)
	if view.Starved(c) > 0 {
		all = append(all, doubt("starved"))
	}
	return all
}

// doubt returns the badge of a word, with what it means.
func doubt(word string) Badge {
	about := view.Meaning(word)
	if word == "beaten" {
		about = "it was faster than an estimate of what any lock could reach, which was too low"
	}
	return Badge{Text: word, Tone: Warn, About: word + ": " + about + "."}
}

// stateOf is how a cell is drawn: as broken, in doubt, or plainly.
func stateOf(c *results.Cell) Tone {
	switch {
	case c.Violated():
		return Bad
	case len(view.Doubts(c)) > 0:
		return Warn
	}
	return Good
}

// inBrackets says of a cell in a sentence what must not be left out.
func inBrackets(c *results.Cell) string {
	var words []string
	for _, b := range waitBadges(c) {
		switch b.Text {
		case "violated":
			words = append(words, "mutual exclusion violated")
		case "beaten":
		default:
			words = append(words, b.Text)
		}
	}
	if len(words) == 0 {
		return ""
	}
	return " (" + strings.Join(words, ", ") + ")"
}

// altOf lists a figure of all cells, load by load.
func altOf(v *view.Run, groups []chosen, what string, figure func(*results.Cell) string) string {
	var all []string
	for _, g := range groups {
		var cells []string
		for i, c := range g.Cells {
			cells = append(cells, g.Short[i]+" "+figure(c)+inBrackets(c))
		}
		text := strings.Join(cells, "; ")
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

// doubtsOf says below lines which of them have figures that are not to be believed as they stand, and why.
func doubtsOf(all []line, names []string) (notes []string) {
	var lines view.Grouped[Badge, string]
	for i, l := range all {
		for _, c := range l.cells {
			for _, b := range waitBadges(c) {
				if b.Tone != Bad { // or it is in the name of the line
					lines.Once(b, format.Glue(names[i]))
				}
			}
		}
	}
	for _, b := range lines.Keys {
		text := b.About
		if len(all) > 1 {
			text = strings.Replace(text, ":", " ("+format.Few(lines.Of[b], view.NamedCells)+"):", 1)
		}
		notes = append(notes, format.Upper(text))
	}
	return notes
}

// linesLeftOut says what a picture of lines has no room for.
func linesLeftOut(loads, lines int) (notes []string) {
	if loads > 0 {
		notes = append(notes, format.Upper(format.Plural(loads, "other load")+" left out."))
	}
	if lines > 0 {
		notes = append(notes, format.Plural(lines, "more line")+" left out.")
	}
	return notes
}
