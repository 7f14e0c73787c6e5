package text

// What stands beside and below a table: remarks on its rows, numbered, and what explains the rest.

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/view"
)

// notes numbers remarks; the same text has the same number.
type notes struct {
	texts   []string
	numbers map[string]int
}

func (n *notes) number(text string) string {
	if n.numbers == nil {
		n.numbers = map[string]int{}
	}
	if n.numbers[text] == 0 {
		n.texts = append(n.texts, text)
		n.numbers[text] = len(n.texts)
	}
	return strconv.Itoa(n.numbers[text])
}

// remark fills the column of notes for one cell and adds what it refers to to the notes below.
func (t *table) remark(c *results.Cell) string {
	var words, refs []string
	ref := func(text string) { refs = append(refs, t.notes.number(text)) }
	if why := c.Partial(); why != "" {
		words = append(words, "partial")
		ref("partial: " + why + ", after " + format.Duration(c.First().Elapsed))
	}
	for _, f := range view.Flags(c) {
		words = append(words, f.Word)
	}
	if c.Violated() {
		ref("claims mutual exclusion, which was violated")
	}
	if text := view.OtherWitnesses(c.Safety); text != "" {
		ref(text)
	}
	for _, warning := range c.Warnings {
		ref(warning)
	}
	if c.Duplicates > 0 {
		ref(format.Plural(c.Duplicates, "record") + " that had been read before left out")
	}
	if text := t.wideAxes(c); text != "" {
		ref(text)
	}
	if len(refs) > 0 {
		words = append(words, "["+strings.Join(refs, ",")+"]")
	}
	return strings.Join(words, " ")
}

// wideAxes tells in what a cell differs from others that has no column.
func (t *table) wideAxes(c *results.Cell) string {
	var parts []string
	for _, a := range t.axes {
		if v := a.Value(c); a.Wide && v != "" {
			parts = append(parts, a.Title+" "+v)
		}
	}
	return format.Join(parts...)
}

// note is a line below a table.
type note struct{ mark, text string }

// persistenceDiffers stands below a table whose rows do not have the same on disk when a grant is answered.
const persistenceDiffers = "Persistence differs: locks that survive a crash of the server cost more."

// below explains the table: the numbered notes, what must not be compared, abbreviations, and what was left out.
func (t *table) below() []note {
	var lines []note
	for i, text := range t.notes.texts {
		lines = append(lines, note{"[" + strconv.Itoa(i+1) + "]", text})
	}
	lines = append(lines, t.facts.notes...)
	say := func(format string, args ...any) { lines = append(lines, note{"", fmt.Sprintf(format, args...)}) }
	if slices.Contains(t.facts.titles, "persistence") {
		say(persistenceDiffers)
	}
	t.sayTrials(say)
	for _, a := range t.axes {
		switch a.Title {
		case "kind":
			say("Servers differ in kind (%s): rows of different kinds do not compare.", values(t.cells, a))
		case "persistence":
			say(persistenceDiffers)
		case "claims":
			say("Guarantees differ, so the rows are no ranking. Claims: %s.", view.Legend(t.cells))
			if holds := holdsEnd(t.cells); holds != "" {
				say("%s", holds)
			}
		case "durability":
			say("Durability differs: a change is on disk before it is answered (strict), or may be lost with the server " +
				"(relaxed); locks of persistence none are lost with it in either.")
		}
	}
	for _, text := range unlikeHolds(t.cells) {
		say("%s", text)
	}
	for _, f := range view.FlagsOf(t.cells) {
		say("%s: %s.", f.Name, f.Means)
	}
	t.sayColumns(say)
	planted := ""
	if slices.ContainsFunc(t.cells, func(c *results.Cell) bool { return c.Safety.Overstayed > 0 }) {
		planted = "; planted: of holds that the plan made outlast their lease, which says nothing against the lock"
	}
	if slices.ContainsFunc(t.cells, blind) {
		planted += "; –: none could have been seen, since no rival was refused while a key was held"
	}
	say("viol.: grants of a key that another client still held, counted by the oracle%s.", planted)
	if len(t.left) > 0 {
		say("Columns left out, as the page is too narrow: %s.", strings.Join(t.left, ", "))
	}
	return lines
}

// unlikeHolds names the holds that were asked to be alike in several cells, and lasted more than 10 % longer in one than
// in another.
func unlikeHolds(cells []*results.Cell) (texts []string) {
	type span struct{ least, most time.Duration }
	spans := map[string]span{}
	var order []string
	for _, c := range cells {
		p := c.Plan()
		lasted := results.Lasted(&p.Load, c.Latency[results.Hold])
		if len(p.Classes) > 0 || lasted == 0 {
			continue
		}
		asked := view.Drawn(p.HoldTimes())
		s, known := spans[asked]
		if !known {
			order = append(order, asked)
			s = span{lasted, lasted}
		}
		spans[asked] = span{min(s.least, lasted), max(s.most, lasted)}
	}
	for _, asked := range order {
		if s := spans[asked]; results.Apart(s.least, s.most) {
			texts = append(texts, fmt.Sprintf("Holds of %s lasted %s to %s: the rows did not have the same load, and do not compare.",
				asked, format.Duration(s.least), format.Duration(s.most)))
		}
	}
	return texts
}

// values lists the different values of an axis in the order of the rows.
func values(cells []*results.Cell, a view.Axis) string {
	var all []string
	seen := map[string]bool{}
	for _, c := range cells {
		v := a.Value(c)
		if v == "" {
			v = "unknown"
		}
		if !seen[v] {
			seen[v] = true
			all = append(all, v)
		}
	}
	return strings.Join(all, ", ")
}
