// The file that -output names: looked at before the load is made, and written after each trial.

package cli

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/lockbench/lockbench/cmd/cli/files"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
)

// checkOutput makes sure, before the load, that records can be appended to the file that -output names and that it is one
// of records. It leaves nothing behind.
func checkOutput(opt *option) error {
	path, name := opt.text, opt.flagOrVariable()
	if path == "" {
		return nil
	}
	if path == "-" {
		return usageErrorf("%s: records go into a file, and the table to standard output", opt.written())
	}
	if err := results.CheckAppendable(path); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
	if errors.Is(err, os.ErrNotExist) {
		return files.CheckCreate(name, path)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if !info.Mode().IsRegular() || info.Size() == 0 {
		return nil
	}
	found := errors.New("found")
	report, err := results.Read(f, func(*results.Record) error { return found })
	if err != nil && err != found && !report.Torn { // what is torn costs that record alone
		return fmt.Errorf("%s: appending would spoil it: %w", opt.written(), err)
	}
	return nil
}

// save appends a record to the file that -output names, after those that could not be written before: a disk that was
// full, or a lock that was held, may cost time but no record.
func (r *runner) save(rec *results.Record) error {
	if err := rec.Validate(); err != nil {
		return err // it can never be written, and must not keep others from it
	}
	r.unsaved = append(r.unsaved, rec)
	return r.saveAll()
}

// saveAll writes what is not written yet, in order, until an error.
func (r *runner) saveAll() error {
	file := results.Appender{Path: r.output, Waiting: func(holder string, most time.Duration) {
		if holder == "" {
			holder = "another process"
		}
		r.say("-output %s: waiting up to %v for %s, which has it locked", r.output, most, holder)
	}}
	for len(r.unsaved) > 0 {
		if err := file.Append(r.unsaved[0]); err != nil {
			return err
		}
		r.unsaved = r.unsaved[1:]
	}
	return nil
}

// saveRest tries once more, at the end, to write what could not be written, and says what is lost.
func (r *runner) saveRest() {
	if len(r.unsaved) == 0 {
		return
	}
	if err := r.saveAll(); err != nil {
		r.say("%s not written to %s: %s",
			format.Plural(len(r.unsaved), "record"), r.output, err)
	}
}
