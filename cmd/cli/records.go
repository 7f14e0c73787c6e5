// Files of records: read by commands, and written by -output, which is looked at before the load is made.

package cli

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/lockbench/lockbench/cmd/cli/files"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
)

// reading reads records, as Collector.Read does.
type reading = func(io.Reader) (results.Report, error)

// collect adds the records of files to c, which is what read does. It says what is wrong with each, and how many of its
// records c has already. The error is an exit code.
func (p *program) collect(c *results.Collector, files []string, read reading) (failed error) {
	for _, name := range files {
		before := c.Duplicates()
		err := p.readRecords(name, read)
		if again := c.Duplicates() - before; again > 0 {
			p.say("%s: %s that had been read before; skipped", name, format.Plural(again, "record"))
		}
		if err != nil {
			p.say("%s: %s", name, err)
			failed = exitCode(exitError)
		}
	}
	return failed
}

// readRecords reads a file of records, and says which of its lines are damaged.
func (p *program) readRecords(name string, read reading) error {
	report, err := readFrom(p, name, read)
	if report.Records == 0 {
		return err // which says what the file is like
	}
	for _, d := range report.Damage {
		p.say("%s: %v; skipped", name, d)
	}
	if more := report.Damaged - len(report.Damage); more > 0 {
		p.say("%s: %d more damaged lines; skipped", name, more)
	}
	return err
}

// readFrom reads a file, which may be compressed with gzip; "-" is standard input.
func readFrom[T any](p *program, name string, read func(io.Reader) (T, error)) (v T, err error) {
	in := p.stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return v, errors.Unwrap(err)
		}
		defer f.Close()
		in = f
	}
	return read(results.Inflate(in))
}

// checkOutput makes sure, before the load, that records can be appended to the file that -output names and that it is
// one of records. It leaves nothing behind.
func checkOutput(opt *option) error {
	path, name := opt.text, opt.flagOrVariable()
	switch {
	case path == "":
		return nil
	case path == "-":
		return usageErrorf("%s: records go into a file, and the table to standard output", opt.written())
	}
	if err := results.CheckAppendable(path); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return files.Check(name, path)
	case err != nil:
		return fmt.Errorf("%s: %w", name, err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return err
	}
	found := errors.New("found")
	report, err := results.Read(f, func(*results.Record) error { return found })
	if err != nil && err != found && !report.Torn { // what is torn costs that record alone
		return fmt.Errorf("%s: appending would spoil it: %w", opt.written(), err)
	}
	return nil
}
