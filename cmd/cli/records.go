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

// collect adds the records of one file to c, and says on stderr what it leaves out: damaged lines, and records that c
// has already. The error is what readRecords has.
func (p *program) collect(c *results.Collector, name string) (results.Report, error) {
	before := c.Duplicates()
	report, err := p.readLines(name, c.Read)
	if again := c.Duplicates() - before; again > 0 {
		p.say("%s: %s that had been read before; skipped", name, format.Plural(again, "record"))
	}
	return report, err
}

// readRecords calls each with the records of one file, which may be compressed with gzip; "-" is standard input. It
// names damaged lines on stderr. The error is that of results.Read, or why the file cannot be opened; those who print
// it put the file's name before it. What was read before it has been handed out, and is counted in the report.
func (p *program) readRecords(name string, each func(*results.Record) error) (results.Report, error) {
	return p.readLines(name, func(in io.Reader) (results.Report, error) { return results.Read(in, each) })
}

func (p *program) readLines(name string, read func(io.Reader) (results.Report, error)) (results.Report, error) {
	report, err := readFrom(p, name, read)
	if report.Records == 0 {
		return report, err // which says what the file is like
	}
	for _, d := range report.Damage {
		p.say("%s: %v; skipped", name, d)
	}
	if more := report.Damaged - len(report.Damage); more > 0 {
		p.say("%s: %d more damaged lines; skipped", name, more)
	}
	return report, err
}

// readAll reads files one by one, and says what is wrong with each. The error is an exit code.
func (p *program) readAll(files []string, read func(name string) (results.Report, error)) (err error) {
	for _, name := range files {
		if _, fault := read(name); fault != nil {
			p.say("%s: %s", name, fault)
			err = exitCode(exitError)
		}
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
		return files.Check(name, path)
	}
	if err != nil {
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
