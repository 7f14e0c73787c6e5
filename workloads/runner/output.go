package runner

// The file of records.

import (
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
)

// Save appends a record to the file, if there is one, after those that could not be written before: a disk that was full, or a lock
// that was held, may cost time but no record.
func (r *Runner) Save(rec *results.Record) {
	if r.Output == "" {
		return
	}
	known := len(r.unsaved) > 0
	r.unsaved = append(r.unsaved, rec)
	if err := r.saveAll(); err != nil && !known {
		r.Say("-output: %s: the records wait in memory", err)
	}
}

// saveAll writes what is not written yet, in order, until an error.
func (r *Runner) saveAll() error {
	file := r.appender()
	for len(r.unsaved) > 0 {
		if err := file.Append(r.unsaved[0]); err != nil {
			return err
		}
		r.unsaved = r.unsaved[1:]
	}
	return nil
}

func (r *Runner) appender() *results.Appender {
	return &results.Appender{Path: r.Output, Hide: r.Secrets.Hide, Waiting: func(holder string, most time.Duration) {
		if holder == "" {
			holder = "another process"
		}
		r.Say("-output %s: waiting up to %v for %s, which has it locked", r.Output, most, holder)
	}}
}

// SaveRest tries once more, at the end, to write what could not be written. It says what is lost.
func (r *Runner) SaveRest() {
	if r.saveAll() != nil {
		r.Lose("%s not written to %s", format.Plural(len(r.unsaved), "record"), r.Output)
	}
}

// SaveAnswer appends the answer that a search has come to, behind the records that it comes from.
func (r *Runner) SaveAnswer(answer any) {
	if r.Output == "" || len(r.unsaved) > 0 {
		return
	}
	if err := r.appender().AppendAnswer(answer); err != nil {
		r.Lose("the answer is not written to %s: %s", r.Output, err)
	}
}
