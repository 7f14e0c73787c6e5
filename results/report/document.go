// Package report says what is known of a result: as a Document, which is plain data. Each kind of result has a builder.
// It knows nothing of terminals, Markdown and pages, which package draw does.
//
// Texts may hold what a server has answered: a drawer removes control characters.
package report

import (
	"github.com/lockbench/lockbench/results/format"
)

// Document is what is said of one result: its answer, and blocks below it. A terminal, a comment and a page draw the
// same one.
type Document struct {
	Command string // that it answers: "lockbench prove"
	Title   string // the answer, in a line
	Tone    Tone   // of the answer
	When    string // it was measured, and what at: below the title
	Blocks  []Block
}

// Block is a part of a document: any of a text, a table and a chart, below a heading.
type Block struct {
	Heading string // empty: it belongs to what stands above it
	Detail  bool   // a terminal has it with -v alone, and a page folds it away, unless it is signs
	Text    []Text
	Table   *Table
	Chart   *Chart // a terminal has none
}

// Text is a paragraph.
type Text struct {
	Text string
	Tone Tone
	Code bool // a command or a file, as it is
}

// Tone is how a text is to be taken.
type Tone int

// The tones.
const (
	Plain Tone = iota
	Good
	Warn
	Bad
)

// Table has rows that begin with a name. A table without columns is a list of facts: a label and a text in each row.
type Table struct {
	Columns []Column // the first is that of the names
	Rows    []Row
}

// Column is one of a table.
type Column struct {
	Title string // a line break may split it
	About string // what the title means
	Left  bool   // it holds words
	Drop  int    // where there is no room the greatest is left out first; 0: it stays
}

// Row is one of a table.
type Row struct {
	Group string // a heading above it; empty: it belongs to the one before
	Cells []Cell // one of each column
	Marks []Mark // beside the cells
	Tone  Tone
	Part  bool // of the row above
}

// Cell is a value of a row.
type Cell struct {
	Text string
	Tone Tone
}

// Mark is a code that says how figures are to be taken: see lockbench help marks.
type Mark struct {
	Code string // "saturated"
	Args string // "2/5"
	Line string // what it means here, in a line
	Tone Tone
}

// Kind is how a chart is drawn.
type Kind int

// The kinds of a chart.
const (
	Lines   Kind = iota // Y over X
	Bars                // a row a series: a bar from 0 to X, with the interval from Low to High
	Spans               // a row a series: a bar from Low to X, and a thin line on to High
	Changes             // a row a series: a sign at X, and Low to High; 1 is no change
	Lanes               // a row a series: who had something when, from Low to High
)

// Chart is a picture. The values of bars, spans and changes are on the X axis; their Y is not used.
type Chart struct {
	Kind     Kind
	Name     string // of a file, without its ending
	Title    string // what it shows, also where it is read out
	X, Y     Axis
	Series   []Series
	Uprights []Line  // across the chart, at values of X
	Shade    float64 // behind all that is before it, such as the warm-up
}

// Axis is one of a chart.
type Axis struct {
	Name  string // with its unit, if Label does not write it
	Log   bool
	Most  float64              // what has to have a place; one that is not logarithmic begins at 0
	Label func(float64) string // of a tick
	Ticks []Line               // nil: at round values; one that has them begins where its values do
}

// Series is a line, or a row.
type Series struct {
	Group  string // a heading above a row; empty: it belongs to the one before
	Name   string
	Points []Point // a gap is where Y is NaN
	Tone   Tone
	Text   string  // beside a row: its value
	Bound  float64 // of a bar: what could be reached at most; of a change: its threshold; 0: not known
	Dashed bool    // the first one has the colour of the first line that is not, and so on
	Signs  bool    // points that no line connects
}

// Point is a value. Low and High are the ends of its interval; both 0: it has none.
type Point struct{ X, Y, Low, High float64 }

// Line is a straight line with a name.
type Line struct {
	At   float64
	Name string
}

// add adds blocks that have something in them.
func (d *Document) add(blocks ...Block) {
	for _, b := range blocks {
		if b.Text != nil || b.Table != nil && len(b.Table.Rows) > 0 || b.Chart != nil && len(b.Chart.Series) > 0 {
			d.Blocks = append(d.Blocks, b)
		}
	}
}

// makeRoom returns how many rows of a table there is room for, with what a mark means below it. It takes facts away, the
// last first, if that makes room for all rows.
func (d *Document) makeRoom(facts, all *Table) int {
	rows, lines := len(all.Rows), 0
	for _, r := range all.Rows {
		for _, m := range r.Marks {
			lines = max(lines, len(format.Wrap(m.Code+": ", m.Line, 100)))
		}
	}
	for n := len(facts.Rows); n >= 0; n-- {
		if fewer := (&Table{Rows: facts.Rows[:n]}); rows <= d.room(fewer)-lines {
			facts.Rows = fewer.Rows
			return rows
		}
	}
	return max(2, d.room(facts)-lines)
}

// room returns how many rows of a table a screen of 14 lines of the usual width has room for, with facts below it.
func (d *Document) room(facts *Table) int {
	around := 5 + min(1, len(facts.Rows)) // lines: the head of the table, what is more with -v, and between the parts
	room := 14 - around - len(format.Wrap("  ", d.Title, 100)) - len(format.Wrap("", d.When, 100))
	for _, b := range append(d.Blocks, Block{Table: facts}) {
		for _, r := range b.Table.Rows {
			if !b.Detail {
				room -= len(format.Wrap("  limited by  ", r.Cells[1].Text, 100))
			}
		}
	}
	return max(2, room)
}

// facts returns a table of labels and texts, without those that are empty or not known.
func facts(pairs ...string) *Table {
	t := &Table{}
	for i := 0; i < len(pairs); i += 2 {
		t.fact(Plain, pairs[i], pairs[i+1])
	}
	return t
}

// fact adds a label and a text, unless that is empty or not known.
func (t *Table) fact(tone Tone, label, text string) {
	if text != "" && text != format.None {
		t.Rows = append(t.Rows, Row{Cells: []Cell{{Text: label}, {Text: text, Tone: tone}}})
	}
}

// columns returns a table of a name and of numbers, still without rows.
func columns(titles ...string) *Table {
	t := &Table{}
	for i, title := range titles {
		t.Columns = append(t.Columns, Column{Title: title, Left: i == 0})
	}
	return t
}

// row adds a row of texts.
func (t *Table) row(texts ...string) *Row {
	var cells []Cell
	for _, text := range texts {
		cells = append(cells, Cell{Text: text})
	}
	t.Rows = append(t.Rows, Row{Cells: cells})
	return &t.Rows[len(t.Rows)-1]
}

// rest takes all rows but the first out of a table, and returns them as details: "3 more locks".
func (t *Table) rest(first int, noun string) Block {
	more := *t
	first = max(0, min(first, len(t.Rows)))
	t.Rows, more.Rows = t.Rows[:first:first], t.Rows[first:]
	return Block{Heading: format.Plural(len(more.Rows), "more "+noun), Detail: true, Table: &more}
}
