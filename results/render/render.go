// Package render turns records into what people read: one cell in detail, or many cells as a table. It prints only
// what the records hold, so a run and a later report of the same file agree to the letter.
package render

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/lockbench/lockbench/results"
)

// Options say what the output goes to. The zero value is a plain file 100 columns wide.
type Options struct {
	Width int  // columns; 0 means 100
	Color bool // whether ANSI escape sequences are welcome
}

const defaultWidth = 100

// Table writes records for a terminal: in detail if they are one cell (see results.Group), else as a row a cell in
// the order of the records. When the rows are too wide, the least important columns are left out, and a line below
// says which: first CPU and commands a lock, then the maximum, the share of the bound, hand-off, the range of
// the trials, Jain, p99 and p50.
// Throughput, violations and notes always stay, as do the axes that tell the rows apart, so many long axes on a
// narrow terminal may still overflow it.
func Table(w io.Writer, recs []*results.Record, o Options) error {
	cells, err := group(recs)
	if err != nil {
		return err
	}
	p := &page{width: o.Width, color: o.Color}
	if p.width <= 0 {
		p.width = defaultWidth
	}
	if len(cells) == 1 {
		err = p.detail(cells[0])
	} else {
		err = p.table(cells)
	}
	if err != nil {
		return err
	}
	return p.writeTo(w)
}

// Markdown writes records as a Markdown table with a row a cell and every column.
func Markdown(w io.Writer, recs []*results.Record) error {
	cells, err := group(recs)
	if err != nil {
		return err
	}
	t := newTable(cells)
	lines, err := t.grid().markdown()
	if err != nil {
		return err
	}
	p := &page{}
	p.add("", strings.ReplaceAll(clean(t.common), unbroken, " "), "")
	p.add("", lines...)
	for _, note := range t.below() {
		text := strings.TrimSpace(note.mark + " " + note.text)
		p.add("", "", strings.ReplaceAll(clean(text), unbroken, " "))
	}
	return p.writeTo(w)
}

func group(recs []*results.Record) ([]*results.Cell, error) {
	if len(recs) == 0 {
		return nil, errors.New("render: no records")
	}
	cells, err := results.Group(recs)
	if err != nil {
		return nil, fmt.Errorf("render: %w", err)
	}
	return cells, nil
}

// table is what a table of cells shows, before it takes a format.
type table struct {
	cells   []*results.Cell
	common  string // what all cells share
	facts   facts  // about each driver's server, if those follow from the driver
	axes    []axis // in which they differ
	columns []column
	left    []string // names of the columns that were left out
	notes   notes
	remarks []string // the column of notes, one a cell
}

func newTable(cells []*results.Cell) *table {
	t := &table{cells: cells}
	common := []string{"closed loop"}
	folded := fold(cells)
	for _, a := range axes {
		first, differs := a.compare(cells)
		switch {
		case differs && slices.Contains(folded.titles, a.title):
		case differs:
			t.axes = append(t.axes, a)
		case a.title == "claims":
			common = append(common, "claims: "+traitWords(cells[0].First().Traits))
		case first != "" && !(a.title == "trials" && first == "1"):
			common = append(common, a.title+unbroken+first)
		}
	}
	t.common, t.facts = list(common...), folded
	for _, col := range columns {
		if col.only == nil || slices.ContainsFunc(cells, col.only) {
			t.columns = append(t.columns, col)
		}
	}
	for _, c := range cells {
		t.remarks = append(t.remarks, t.remark(c))
	}
	t.axes = slices.DeleteFunc(t.axes, func(a axis) bool { return a.wide })
	return t
}

// compare tells whether cells differ in an axis, and the value of the first one that it applies to.
func (a axis) compare(cells []*results.Cell) (first string, differs bool) {
	for i, c := range cells {
		v := a.value(c)
		switch {
		case i == 0 || a.some && first == "":
			first = v
		case v != first && !(a.some && v == ""):
			return first, true
		}
	}
	return first, false
}

// fit leaves columns out until the table is no wider than width, or none is left that may go.
func (t *table) fit(width int) {
	for t.grid().width() > width {
		worst := 0
		for i, col := range t.columns {
			if col.drop > t.columns[worst].drop {
				worst = i
			}
		}
		if t.columns[worst].drop == 0 {
			return
		}
		t.left = append(t.left, oneLine(t.columns[worst].head()))
		t.columns = slices.Delete(t.columns, worst, worst+1)
	}
}

// grid is the table with all the cells' values filled in.
func (t *table) grid() grid {
	g := grid{rows: make([][]string, len(t.cells))}
	add := func(head string, right bool, value func(i int) string) {
		g.head, g.right = append(g.head, head), append(g.right, right)
		for i := range t.cells {
			g.rows[i] = append(g.rows[i], value(i))
		}
	}
	for _, a := range t.axes {
		add("\n"+a.title, a.right, func(i int) string {
			if v := clean(a.value(t.cells[i])); v != "" {
				return v
			}
			return none
		})
	}
	for _, col := range t.columns {
		add(col.head(), true, func(i int) string { return col.unit.format(col.value(t.cells[i])) })
	}
	if slices.ContainsFunc(t.remarks, func(s string) bool { return s != "" }) {
		add("\nnotes", false, func(i int) string { return t.remarks[i] })
	}
	return g
}

// table writes many cells.
func (p *page) table(cells []*results.Cell) error {
	t := newTable(cells)
	t.fit(p.width)
	lines, err := t.grid().text()
	if err != nil {
		return err
	}
	p.para("", "", t.common)
	const head = 3 // two lines of titles and a rule; the first may be empty
	if lines[0] != "" {
		p.blank()
	}
	p.add(bold, lines[:head]...)
	for i, line := range lines[head:] {
		p.add(alarm(cells[i]), line)
	}
	p.blank()
	for _, note := range t.below() {
		if note.mark != "" {
			note.mark += " "
		}
		p.para("", note.mark, note.text)
	}
	return nil
}

// alarm is the colour of a row: red for a broken promise, yellow for a figure not to be believed.
func alarm(c *results.Cell) string {
	switch {
	case c.Safety.Violations > 0 && c.First().Traits.Exclusive:
		return red
	case c.Partial() != "" || c.Generator.Saturated || c.Safety.Violations > 0:
		return yellow
	}
	return ""
}

// notes numbers remarks; the same text has the same number.
type notes []string

func (n *notes) number(text string) string {
	i := slices.Index(*n, text)
	if i < 0 {
		i = len(*n)
		*n = append(*n, text)
	}
	return strconv.Itoa(i + 1)
}

// remark fills the column of notes for one cell and adds what it refers to to the notes below.
func (t *table) remark(c *results.Cell) string {
	var words, refs []string
	ref := func(text string) { refs = append(refs, t.notes.number(text)) }
	if why := c.Partial(); why != "" {
		words = append(words, "partial")
		ref("partial: " + why + ", after " + measured(c.First().Elapsed))
	}
	for _, f := range marks {
		if word := f.word(c); word != "" {
			words = append(words, word)
		}
	}
	if c.Safety.Violations > 0 && c.First().Traits.Exclusive {
		ref("claims mutual exclusion, which was violated")
	}
	if text := otherWitnesses(c.Safety); text != "" {
		ref(text)
	}
	for _, warning := range c.Warnings {
		ref(warning)
	}
	if c.Duplicates > 0 {
		ref(Many(int64(c.Duplicates), "record") + " that had been read before left out")
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
		if v := a.value(c); a.wide && v != "" {
			parts = append(parts, a.title+" "+v)
		}
	}
	return list(parts...)
}

func errorCount(c results.Counts) int64 {
	var n int64
	for _, of := range c.Errors {
		n += of
	}
	return n
}

// otherWitnesses tells what else went wrong with the safety of a cell, beside violations.
func otherWitnesses(s results.Safety) string {
	var parts []string
	for _, w := range []struct {
		n    int64
		noun string
	}{{s.LostUpdates, "lost update"}, {s.WrongReleases, "wrong release"}, {s.FenceRegress, "fence regression"}} {
		if w.n > 0 {
			parts = append(parts, Many(w.n, w.noun))
		}
	}
	return strings.Join(parts, ", ")
}

// note is a line below a table.
type note struct{ mark, text string }

// persistenceDiffers stands below a table whose rows do not have the same on disk when a grant is answered.
const persistenceDiffers = "Persistence differs: locks that survive a crash of the server cost more."

// below explains the table: the numbered notes, what must not be compared, abbreviations, and what was left out.
func (t *table) below() []note {
	var lines []note
	for i, text := range t.notes {
		lines = append(lines, note{"[" + strconv.Itoa(i+1) + "]", text})
	}
	lines = append(lines, t.facts.notes...)
	say := func(format string, args ...any) { lines = append(lines, note{"", fmt.Sprintf(format, args...)}) }
	if slices.Contains(t.facts.titles, "persistence") {
		say(persistenceDiffers)
	}
	if slices.ContainsFunc(t.cells, severalTrials) {
		say("locks/s is the median of the trials; latencies are of all their values together.")
	}
	for _, a := range t.axes {
		switch a.title {
		case "kind":
			say("Servers differ in kind (%s): rows of different kinds do not compare.", values(t.cells, a))
		case "persistence":
			say(persistenceDiffers)
		case "claims":
			say("Guarantees differ, so the rows are no ranking. Claims: %s.", legend(t.cells))
			if holds := holdsEnd(t.cells); holds != "" {
				say("%s", holds)
			}
		case "durability":
			say("Durability differs: a change is on disk before it is answered (strict), or may be lost with the server " +
				"(relaxed); locks of persistence none are lost with it in either.")
		}
	}
	for _, f := range marks {
		if slices.ContainsFunc(t.cells, func(c *results.Cell) bool { return f.word(c) != "" }) {
			say("%s", f.means)
		}
	}
	if slices.ContainsFunc(t.columns, func(col column) bool { return col.group == "of" }) {
		say("of bound: share that was reached of the ideal, the least of keys / (hold + round trip) and " +
			"clients / (hold + think + 2 round trips).")
	}
	say("viol.: grants of a key that another client still held, counted by the oracle.")
	if len(t.left) > 0 {
		say("Left out for want of width: %s.", strings.Join(t.left, ", "))
	}
	return lines
}

// values lists the different values of an axis in the order of the rows.
func values(cells []*results.Cell, a axis) string {
	var all []string
	for _, c := range cells {
		v := a.value(c)
		if v == "" {
			v = "unknown"
		}
		if !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	return strings.Join(all, ", ")
}

// legend explains the trait letters that occur.
func legend(cells []*results.Cell) string {
	var all []string
	for _, trait := range traitNames {
		if trait.letter != "" && slices.ContainsFunc(cells, func(c *results.Cell) bool { return trait.has(c.First().Traits) }) {
			all = append(all, trait.letter+unbroken+trait.name)
		}
	}
	return strings.Join(all, ", ")
}
