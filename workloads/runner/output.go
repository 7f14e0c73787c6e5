package runner

// The file of records.

import (
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
)

// output appends records to a file, if there is one.
type output struct {
	file      results.Appender
	say, lose func(format string, args ...any)
	waiting   []*results.Record // that could not be written yet
}

func newOutput(path string, hide func(string) string, say, lose func(format string, args ...any)) *output {
	return &output{say: say, lose: lose, file: results.Appender{
		Path: path, Hide: hide, Waiting: func(holder string, most time.Duration) {
			if holder == "" {
				holder = "another process"
			}
			say("-output %s: waiting up to %v for %s, which has it locked", path, most, holder)
		},
	}}
}

// Save appends a record, after those that could not be written before: a disk that was full, or a lock that was held,
// may cost time but no record.
func (o *output) Save(rec *results.Record) {
	if o.file.Path == "" {
		return
	}
	known := len(o.waiting) > 0
	o.waiting = append(o.waiting, rec)
	if err := o.saveAll(); err != nil && !known {
		o.say("-output: %s: the records wait in memory", err)
	}
}

// saveAll writes what is not written yet, in order, until an error.
func (o *output) saveAll() error {
	for len(o.waiting) > 0 {
		if err := o.file.Append(o.waiting[0]); err != nil {
			return err
		}
		o.waiting = o.waiting[1:]
	}
	return nil
}

// SaveRest tries once more, at the end, to write what could not be written. It says what is lost.
func (o *output) SaveRest() {
	if o.saveAll() != nil {
		o.lose("%s not written to %s", format.Plural(len(o.waiting), "record"), o.file.Path)
	}
}

// SaveAnswer appends the answer that a search has come to, behind the records that it comes from.
func (o *output) SaveAnswer(answer any) {
	if o.file.Path == "" || len(o.waiting) > 0 {
		return
	}
	if err := o.file.AppendAnswer(answer); err != nil {
		o.lose("the answer is not written to %s: %s", o.file.Path, err)
	}
}
