// Package report says what is known: once, as a Document, which is plain data. A builder for each kind of result decides what is
// said, in which order and in which words. It knows nothing of terminals, of Markdown or of HTML, which package draw does.
//
// Texts may hold what a server has answered: whoever draws them takes out control characters.
package report

import (
	"math"
	"slices"
	"time"

	"github.com/lockbench/lockbench/results/format"
)

// Document is what is said of one result.
type Document struct {
	Kind    string // the command that it answers: "lockbench prove"
	Mark    string // of the verdict: ✓
	Tone    Tone   // of the verdict
	Title   string // what came out
	When    string // it was measured; a page has it below the title
	Key     []Figure
	Picture Section // what the title rests on; a page has it next, unless it has no blocks
	Means   []Block // what a page has then: what to do, what can go wrong, how far the figures go, and what to try next
	Blocks  []Block
}

// Figure is a number that a page has below its title.
type Figure struct{ Value, Unit string }

// Tone is how a text is to be taken.
type Tone int

// The tones. Alarm is worse than Bad: it is what a reader must see first.
const (
	Plain Tone = iota
	Good
	Warn
	Bad
	Alarm
)

// look is how a verdict is drawn.
type look struct {
	mark string
	tone Tone
}

// Depth is a set of the ways to read a document.
type Depth int

const (
	Short   Depth = 1 << iota // a terminal
	Verbose                   // a terminal, of all that is known
	Comment                   // Markdown, of which there must not be too much
	Page                      // a page, which folds and has links
)

// Block is a part of a document: Paragraph, Findings, Facts, List, Table, Charts, Intervals, Picture, Lanes, Progress, Command, Code,
// Section, or one of them within At.
type Block interface{ block() }

// At is a block that is meant for some depths only.
type At struct {
	Depth Depth
	Block Block
}

// Paragraph is a text.
type Paragraph struct {
	Text   string
	Tone   Tone
	Strong bool // it is a title
	Note   bool // it explains what stands above it
}

// Findings are what a reader should know first.
type Findings []Finding

// Finding is one of them.
type Finding struct {
	Tone Tone
	Lead string // what it is about: "Warning:"
	Text string
}

// Facts are lines with labels.
type Facts []Fact

// Fact is what is known of one thing.
type Fact struct {
	Label  string
	Course *Course // before the first line; nil: there is none
	Lines  []string
	Tone   Tone
	Strong bool  // it is what a reader looks for
	Depth  Depth // 0: all
}

// Course is values one after another; NaN is one that is not known.
type Course struct {
	Values   []float64
	Steps    []int // where the values change for good
	FromZero bool  // the lowest bar is 0, not the least value
}

// Range returns the least and the greatest of the values that are known.
func (c *Course) Range() (least, most float64) {
	least, most = math.Inf(1), math.Inf(-1)
	for _, v := range c.Values {
		if !math.IsNaN(v) {
			least, most = min(least, v), max(most, v)
		}
	}
	return least, most
}

// List is lines, each with a mark or without.
type List []Item

// Item is a line of a list.
type Item struct {
	Mark string
	Tone Tone
	Text string
}

// Table has a head, and rows that begin with their names.
type Table struct {
	Caption string
	Columns []Column // the first is that of the names
	Rows    []Row
	Matrix  bool // all columns but the first hold a mark each
	Within  bool // on a terminal it stands as far to the right as the facts around it
	Whole   bool // on a page no row of it is folded away
}

// Column is a column of a table.
type Column struct {
	Title string // a line break may split it
	Short string // what stands for the title in a matrix where there is little room
	About string
	Link  string // to a section by its ID
	Left  bool   // what it holds is aligned left
	Wrap  bool   // its texts go on below where there is no room
	Tone  Tone
	Depth Depth // 0: all
	Drop  int   // the greatest goes first where there is no room, unless its values have a brief form; 0: it stays
}

// Row is a row of a table.
type Row struct {
	Group  string // what this row and those after it have in common, until there is another; empty: nothing new
	ID     string // unique in the document; empty: nothing leads to it
	Cells  []Value
	Mark   string // before its name, where no column has it
	Badges []Badge
	Part   bool // of the row above
	Tone   Tone
	Above  []string // on a terminal lines above it
	Below  string   // on a terminal a line below it, of what has no column there
}

// Value is what a table has in one place.
type Value struct {
	Text   string
	Brief  string // what stands for the text where there is no room; empty: nothing does
	Tone   Tone
	Strong bool    // it is what a reader looks for
	About  string  // the same in words
	Link   string  // to a section by its ID
	Once   bool    // it was seen once only
	Bar    float64 // a share that is drawn below the text; 0: none is
}

// Badge is a word beside a name.
type Badge struct {
	Text  string
	Tone  Tone
	About string // what the word means, in a sentence
}

// Unit is that of a number.
type Unit int

// The units.
const (
	PerSecond   Unit = iota
	Share            // a part of 1
	Nanoseconds      // as a duration
	Change           // a ratio, drawn around no change
	Nines            // of a share: 2 is 99 %
)

// Axis is one of a chart.
type Axis struct {
	Unit        Unit
	Log         bool
	Least, Most float64 // what has to have a place; one that is not logarithmic begins at 0
	Ticks       []Line  // where the axis has them, which then goes from Least to Most, with their values where they have no name; nil: at round values
}

// Line is a straight line in a chart.
type Line struct {
	At   float64
	Name string
}

// Point is a value over another one. Low and High are the ends of its interval; both 0: it has none.
type Point struct{ X, Y, Low, High float64 }

// Charts stand beside one another where there is room.
type Charts []Chart

// Chart is values over another one, in one panel or in several below one another.
type Chart struct {
	Title, Finding string
	Badges         []Badge
	Of             string // what it is of, where it is read out
	X              Axis
	Across         string  // what X is; empty: the text beside the chart says so
	From, To       float64 // of X, shaded; 0, 0: nothing is
	Uprights       []Line  // at values of X
	Panels         []Panel
}

// Panel is a part of a chart, over the X of all.
type Panel struct {
	Head   string // what Y is; empty: the text beside the chart says so
	Y      Axis
	Levels []Line // at values of Y
	Series []Series
	Signs  []Signs
}

// Series is a line through points, with a gap where Y is NaN.
type Series struct {
	Name   string
	Colour int // of those of lines, from 0
	Tone   Tone
	Dashed bool
	Area   bool // between the line and the bottom
	Band   bool // the intervals of the points make an area
	Points []Point
}

// Signs are points of one kind.
type Signs struct {
	Kind   int // how they are drawn
	Name   string
	Points []Point
}

// Picture is a chart with all that is necessary to read it: a part of a page, or a file of its own.
type Picture struct {
	Name  string // of the file, without its ending
	Title string
	About []string    // above the chart
	Rows  []Intervals // two that have the same names stand beside each other in a file
	Chart Chart       // in place of Rows
	Notes []string    // below the chart
	Alt   string      // what it shows
}

// Look is how intervals are drawn.
type Look int

// The looks of an interval.
const (
	Estimate Look = iota // Mid as a sign, and a line from Low to High
	Bars                 // a bar from 0 to Mid, and a line from Low to High
	Spans                // a line from Low to Mid, and a thin one on to High
)

// Intervals are a row each.
type Intervals struct {
	Title   string
	Look    Look
	Axis    Axis // one of changes spans the rows by itself
	Rows    []Interval
	Most    int       // rows that a page shows at once; 0: as many as of a table
	Ends    [2]string // what Low and Mid of spans are, where the file says so; empty: it does not
	Upright Line      // across all rows; without a name there is none
}

// Interval is a value with an interval around it, of which an end is NaN if it is not known.
type Interval struct {
	Name, Link     string // to a section or a row by its ID
	Badges         []Badge
	Under          string // the name, in small letters
	Mark, Status   string
	Tone           Tone
	Value, Beside  string    // in words
	Ends           [2]string // in words, of a span; the second of a bar
	Low, Mid, High float64
	Trials         []float64
	AtLeast        bool    // Low, and nobody knows how much more
	Limit          float64 // what lies below it is shaded; 0: there is none
	Above          bool    // what lies above the limit is
	Bound          float64 // what could be reached at the most; 0: it is not known
}

// Lanes show who had something when: a lane for each, one below the other.
type Lanes struct {
	Title    string
	From, To time.Duration // what is shown
	Lanes    []Lane
	Moments  []Moment // across all lanes
}

// Lane is one of them.
type Lane struct {
	Name  string
	Spans []Span
}

// Span is a time in which the one of the lane had it.
type Span struct{ From, To time.Duration }

// Moment is something that happened.
type Moment struct {
	At   time.Duration
	Text string
}

// Progress is how much of something is over; pages alone have it.
type Progress struct {
	Name  string // of what
	Share float64
	Text  string // the same in words
}

// Command is a line for a shell.
type Command string

// Code is lines as they are, such as a file.
type Code string

// Section is blocks below a title.
type Section struct {
	ID     string // unique in the document; empty: nothing leads to it
	Number int    // 0: none
	Title  string
	About  string // what the title means
	Blocks []Block

	// Of one that is folded until it is asked for: what it says of its title meanwhile, and of what it is a part.
	Folded bool
	Open   bool // it is unfolded at first
	Mark   string
	Tone   Tone
	Status string
	Within string
}

func (At) block()        {}
func (Paragraph) block() {}
func (Findings) block()  {}
func (Facts) block()     {}
func (Charts) block()    {}
func (Intervals) block() {}
func (Picture) block()   {}
func (List) block()      {}
func (Table) block()     {}
func (Lanes) block()     {}
func (Progress) block()  {}
func (Command) block()   {}
func (Code) block()      {}
func (Section) block()   {}

// Of returns the facts that are meant for a depth.
func (f Facts) Of(d Depth) (list Facts) {
	for _, one := range f {
		if one.Depth == 0 || one.Depth&d != 0 {
			list = append(list, one)
		}
	}
	return list
}

// Of returns the blocks that are meant for a depth.
func Of(blocks []Block, d Depth) (list []Block) {
	for _, b := range blocks {
		at, some := b.(At)
		switch {
		case !some:
			list = append(list, b)
		case at.Depth&d != 0:
			list = append(list, Of([]Block{at.Block}, d)...)
		}
	}
	return list
}

// fact returns what is known of one thing, without lines that are empty.
func fact(label string, lines ...string) Fact {
	return Fact{Label: label, Lines: slices.DeleteFunc(lines, func(line string) bool { return line == "" })}
}

// filled returns the facts of which something is known.
func filled(facts ...Fact) Facts {
	return slices.DeleteFunc(facts, func(f Fact) bool { return len(f.Lines) == 0 })
}

// howToRead returns what explains a chart, folded away.
func howToRead(text string) Section {
	return Section{Folded: true, Title: "How to read it", Blocks: []Block{note(text)}}
}

// mean sets what a document means, of which some may be nothing.
func (d *Document) mean(facts Facts, before ...Block) {
	if d.Means = before; len(facts) > 0 {
		d.Means = append(d.Means, facts)
	}
}

// add adds blocks, those apart that have nothing in them.
func (d *Document) add(blocks ...Block) {
	d.Blocks = append(d.Blocks, slices.DeleteFunc(blocks, empty)...)
}

// section returns blocks below a title, without those that have nothing in them.
func section(id, title string, blocks ...Block) Section {
	return Section{ID: id, Title: title, Blocks: slices.DeleteFunc(blocks, empty)}
}

// empty reports whether a block has nothing in it. Findings stand out even if there are none, and a table says what it would have.
func empty(b Block) bool {
	switch b := b.(type) {
	case At:
		return empty(b.Block)
	case Section:
		return !slices.ContainsFunc(b.Blocks, func(b Block) bool { return !empty(b) })
	case Paragraph:
		return b.Text == ""
	case Facts:
		return len(b) == 0
	case List:
		return len(b) == 0
	case Charts:
		return len(b) == 0
	}
	return false
}

// note returns a text that explains what stands above it.
func note(text string) Paragraph { return Paragraph{Text: text, Note: true} }

// folded returns a list, of which what is beyond the first few is folded away.
func folded[L interface {
	~[]E
	Block
}, E any](all L, most int, what string) []Block {
	if len(all) <= most {
		return []Block{all}
	}
	rest := all[most:]
	return []Block{all[:most], Section{Folded: true, Title: format.Plural(len(rest), what), Blocks: []Block{rest}}}
}

// listOf returns texts as a list.
func listOf(texts []string) (list List) {
	for _, text := range texts {
		list = append(list, Item{Text: text})
	}
	return list
}
