// Package file reads workloads from YAML, and writes them. Their vocabulary is that of lockbench's flags, which the caller hands in, and
// values stay the text that was written: the parser of a flag's value reads these, so that there is one parser a value.
//
//	name: night-jobs
//	about: batch jobs beside the online traffic
//	keys: 100
//	hold: [1ms, 5ms]          # a list is an axis
//	classes:                  # what a class leaves out it has from the top
//	  online: {clients: 64, rate: 500}
//	  batch:  {clients: 4, hold: 2s}
//	cells:                    # each is the top with these values in place
//	  - {lock: set-nx, wait: backoff}
//	  - {lock: fair, wait: [backoff, queue]}
//
// Reading is strict: whatever it does not know it refuses, with the place.
package file

import (
	"fmt"
	"slices"
	"strings"
)

// Vocabulary is what may stand in a workload besides name, about, slo, classes and cells.
type Vocabulary struct {
	Fields     []Field
	MaxClasses int // that a workload may have; 0 is no limit

	// RejectHint tells why a name that is no field cannot stand in a workload, and is empty for one that nobody knows.
	RejectHint func(name string) string

	// Nearest is the name of known that was probably meant, or empty.
	Nearest func(name string, known []string) string
}

// Field is one name that takes a value.
type Field struct {
	Name  string
	Axis  bool // takes a list
	Class bool // a class may set it for itself
	Run   bool // holds for the whole run: no cell may set it for itself
}

// Workload is what a file says, in its order.
type Workload struct {
	Source  string   // the file, as errors name it
	Name    string   // what it calls itself, or empty
	About   string   // one line on what it imitates, or empty
	SLO     *Setting // what must be true of the arrivals, by conditions; nil if it says nothing of that
	Top     Settings
	Classes []Class // none: all clients are of one kind
	Cells   []Cell  // none: the top is the only one

	lines []string
}

// Class is one kind of clients.
type Class struct {
	Name string
	At   Pos
	Settings
}

// Cell is the top with other values in place.
type Cell struct {
	At    Pos
	Notes []string // lines of a comment, to be written
	Settings
}

// Settings are fields that are given a value, each at most once.
type Settings []Setting

// Setting is a field and what it is given.
type Setting struct {
	Field  string
	At     Pos     // of the field's name
	Values []Value // one, or those of a list
}

// Value is the text of a value.
type Value struct {
	Text string
	At   Pos
}

// Pos is a place in the file; both count from 1.
type Pos struct{ Line, Column int }

// Find returns the setting of a field, or nil.
func (s Settings) Find(field string) *Setting {
	i := slices.IndexFunc(s, func(one Setting) bool { return one.Field == field })
	if i < 0 {
		return nil
	}
	return &s[i]
}

// Text returns the value as a flag would have it, a list with commas.
func (s Setting) Text() string {
	texts := make([]string, len(s.Values))
	for i, v := range s.Values {
		texts[i] = v.Text
	}
	return strings.Join(texts, ",")
}

// Error is a fault in a workload and its place.
type Error struct {
	Source string
	At     Pos
	What   string
	line   string // the text of that line
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.Source, e.At.Line, e.At.Column, e.What)
}

// Excerpt returns the line at fault with a mark below its column, two lines in all, or nothing if there is none to show.
func (e *Error) Excerpt() string {
	if strings.TrimSpace(e.line) == "" {
		return ""
	}
	number := fmt.Sprintf("%5d", e.At.Line)
	text, mark := []rune(e.line), e.At.Column-1
	if len(text) > excerptWidth {
		from := max(0, min(mark-excerptWidth/2, len(text)-excerptWidth))
		text, mark = text[from:from+excerptWidth], mark-from
	}
	indent := make([]rune, min(mark, len(text)))
	for i := range indent {
		indent[i] = ' '
		if text[i] == '\t' {
			indent[i] = '\t' // as wide as it is above
		}
	}
	return fmt.Sprintf("%s | %s\n%s | %s^\n", number, string(text), strings.Repeat(" ", len(number)), string(indent))
}

// excerptWidth is how much is shown of a line.
const excerptWidth = 100

// Fault returns an error at a place of the file.
func (w *Workload) Fault(at Pos, format string, args ...any) *Error {
	e := &Error{Source: w.Source, At: at, What: fmt.Sprintf(format, args...)}
	if at.Line >= 1 && at.Line <= len(w.lines) {
		e.line = w.lines[at.Line-1]
	}
	return e
}
