// Package report says what is known: once, as a Document, which is plain data. A builder for each kind of result decides what is
// said, in which order and in which words. It knows nothing of terminals, of Markdown or of HTML, which package draw does.
//
// Texts may hold what a server has answered: whoever draws them takes out control characters.
package report

import "time"

// Document is what is said of one result.
type Document struct {
	Kind   string // the command that it answers: "lockbench prove"
	Mark   string // of the verdict: ✓
	Tone   Tone   // of the verdict
	Title  string // what came out, as a sentence without its full stop
	Blocks []Block
}

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

// Depth is a set of the ways to read a document.
type Depth int

const (
	Short   Depth = 1 << iota // a terminal, or a comment
	Verbose                   // a terminal, of all that is known
	Page                      // a page, which folds and has links
)

// Block is a part of a document: Paragraph, Facts, List, Table, Lanes, Command, Section, or one of them within At.
type Block interface{ block() }

// At is a block that is meant for some depths only.
type At struct {
	Depth Depth
	Block Block
}

// Paragraph is a text without a full stop, which it gets.
type Paragraph struct {
	Text string
	Tone Tone
	Note bool // it explains what stands above it
}

// Facts are lines with labels.
type Facts []Fact

// Fact is what is known of one thing: lines that are sentences without their full stops.
type Fact struct {
	Label string
	Lines []string
	Tone  Tone
}

// List is lines, each with a mark or without: sentences without their full stops.
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
}

// Column is a column of a table.
type Column struct {
	Title string
	Short string // what stands for the title in a matrix where there is little room
	About string
	Link  string // to a section by its ID
	Left  bool   // what it holds is aligned left
	Tone  Tone
}

// Row is a row of a table.
type Row struct{ Cells []Value }

// Value is what a table has in one place.
type Value struct {
	Text  string
	Tone  Tone
	About string // the same in words
	Link  string // to a section by its ID
	Once  bool   // it was seen once only
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

// Command is a line for a shell.
type Command string

// Section is blocks below a title.
type Section struct {
	ID     string // unique in the document; empty: nothing leads to it
	Number int    // 0: none
	Title  string
	About  string // what the title means, as a sentence without its full stop
	Blocks []Block

	// Of one that is folded until it is asked for: what it says of its title meanwhile, and of what it is a part.
	Folded bool
	Mark   string
	Tone   Tone
	Status string
	Within string
}

func (At) block()        {}
func (Paragraph) block() {}
func (Facts) block()     {}
func (List) block()      {}
func (Table) block()     {}
func (Lanes) block()     {}
func (Command) block()   {}
func (Section) block()   {}

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
