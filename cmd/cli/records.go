// Files of records, for every command that reads them.

package cli

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
)

// collect adds the records of one file to c, and says on stderr what it leaves out: damaged lines, and records that c has
// already. The error is what readRecords has.
func (p *program) collect(c *results.Collector, name string) (results.Report, error) {
	before := c.Duplicates()
	report, err := p.readFile(name, c.Read)
	if again := c.Duplicates() - before; again > 0 {
		fmt.Fprintf(p.stderr, "lockbench: %s: %s that had been read before; skipped\n", name, format.Plural(again, "record"))
	}
	return report, err
}

// readRecords calls each with the records of one file, which may be compressed with gzip; "-" is standard input. It
// names damaged lines on stderr. The error is that of results.Read, or why the file cannot be opened; those who print it
// put the file's name before it. What was read before it has been handed out, and is counted in the report.
func (p *program) readRecords(name string, each func(*results.Record) error) (results.Report, error) {
	return p.readFile(name, func(in io.Reader) (results.Report, error) { return results.Read(in, each) })
}

func (p *program) readFile(name string, read func(io.Reader) (results.Report, error)) (results.Report, error) {
	var report results.Report
	err := p.open(name, func(in io.Reader) (err error) {
		report, err = read(in)
		return err
	})
	if report.Records == 0 {
		return report, err // which says what the file is like
	}
	for _, d := range report.Damage {
		fmt.Fprintf(p.stderr, "lockbench: %s: %v; skipped\n", name, d)
	}
	if more := report.Damaged - len(report.Damage); more > 0 {
		fmt.Fprintf(p.stderr, "lockbench: %s: %d more damaged lines; skipped\n", name, more)
	}
	return report, err
}

// open reads a file, which may be compressed with gzip; "-" is standard input.
func (p *program) open(name string, read func(io.Reader) error) error {
	in := p.stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return errors.Unwrap(err)
		}
		defer f.Close()
		in = f
	}
	return read(results.Inflate(in))
}
