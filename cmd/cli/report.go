// lockbench report: what a command has printed, made again from what it has written.

package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/capacity"
	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/draw"
	"github.com/lockbench/lockbench/results/export"
	"github.com/lockbench/lockbench/results/report"
	"github.com/lockbench/lockbench/results/safety"
	"github.com/lockbench/lockbench/results/view"
)

func (p *program) reportCommand() *cobra.Command {
	return p.command(&cobra.Command{
		Use:   "report FILE…",
		Short: "Print the table of records that -o has written, or another format",
		Args:  needFiles,
	}, reportFlags, func(_ *cobra.Command, o *options, files []string) error {
		if len(files) == 1 {
			if again := p.again(files[0]); again != nil {
				return again(p, o, files[0])
			}
		}
		return p.report(o, files)
	})
}

// needFiles wants at least one file of records.
func needFiles(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usageErrorf("%s: which file? give the names of record files, or - for standard input", c.Name())
	}
	return nil
}

// report reads all files, says what is wrong with them, and writes and judges what is right.
func (p *program) report(o *options, files []string) error {
	limits, err := o.thresholds("lockbench compare does that")
	if err != nil {
		return err
	}
	out, err := reports.printer(p, o, files...)
	if err != nil {
		return err
	}
	var c results.Collector
	var answer []byte
	failed := p.readAll(files, func(name string) (results.Report, error) {
		read, err := p.collect(&c, name)
		answer = read.Answer
		return read, err
	})
	// A file of plan -output is its answer, in the formats of one. Other formats are of its trials.
	if ofAnswer, err := answers.printer(p, o, files...); len(files) == 1 && answer != nil && len(limits) == 0 && err == nil {
		if a, err := capacity.ReadAnswer(bytes.NewReader(answer)); err == nil {
			return cmp.Or(failed, ofAnswer.end(a))
		}
	}
	cells := c.Cells()
	if len(cells) == 0 {
		return exitCode(exitError)
	}
	check := compare.CheckCells(cells, limits, nil)
	verdict := out.end(reported{cells, check})
	if failed != nil && check.Verdict != compare.Violated {
		return failed
	}
	return verdict
}

// reported is what report has to write.
type reported struct {
	cells []*results.Cell
	check *compare.Check // of the cells
}

// reports are what report writes, and a run that compares nothing.
var reports = kind[reported]{
	document: func(v reported) *report.Document { return report.Run(v.cells, v.check) },
	exit:     exitOfCheck, formats: []output[reported]{
		{name: "csv", write: ofCells(export.CSV)},
		{name: "benchfmt", write: ofCells(export.Benchfmt)},
		{name: "hgrm", dir: func(create create, v reported) error {
			return export.Hgrm(v.cells, view.Names(v.cells), create)
		}},
		{name: "svg", dir: writeCharts},
		{name: "json", write: ofCheck(export.CheckJSON)},
		{name: "junit", write: ofCheck(export.JUnitCheck)},
	}}

// ofCells writes cells that are judged by nothing.
func ofCells(write func(io.Writer, []*results.Cell) error) func(io.Writer, reported) error {
	return func(w io.Writer, v reported) error { return write(w, v.cells) }
}

// ofCheck writes what thresholds have found.
func ofCheck(write func(io.Writer, *compare.Check) error) func(io.Writer, reported) error {
	return func(w io.Writer, v reported) error { return write(w, v.check) }
}

// exitOfCheck returns the exit code of thresholds; 0 if there are none.
func exitOfCheck(v reported) int {
	if len(v.check.Thresholds) == 0 {
		return exitOK
	}
	return map[compare.Verdict]int{
		compare.Violated: exitViolated, compare.Missed: exitRegressed, compare.Inconclusive: exitInconclusive,
	}[v.check.Verdict]
}

// writeCharts writes all charts that the cells have the data for.
func writeCharts(create create, v reported) error {
	for _, c := range report.Pictures(v.cells) {
		if err := create(c.Name+".svg", func(w io.Writer) error { return draw.SVG(w, &c) }); err != nil {
			return err
		}
	}
	return nil
}

// drawnAgain are the commands, by a name that is among the first in their JSON and in no record.
var drawnAgain = map[string]func(p *program, o *options, file string) error{
	`"hazards":`: drawAgain("prove", proofs, safety.Read),
	`"alpha":`:   drawAgain("compare", comparisons, export.ReadComparison),
	`"slo":`:     drawAgain("plan", answers, capacity.ReadAnswer),
}

// again returns what draws a file again; nil if it is one of records.
func (p *program) again(name string) func(p *program, o *options, file string) error {
	const enough = 4 << 10
	var head []byte
	if name == "-" {
		in := bufio.NewReaderSize(p.stdin, enough)
		head, _ = in.Peek(enough)
		p.stdin = in
	} else {
		head, _ = readFrom(p, name, func(in io.Reader) ([]byte, error) { // an error comes again when it is read
			return bufio.NewReaderSize(in, enough).Peek(enough)
		})
	}
	for key, draw := range drawnAgain {
		if bytes.Contains(head, []byte(key)) {
			return draw
		}
	}
	return nil
}

// drawAgain returns what writes a result that a command has written as JSON in formats of that command, and exits as it did.
func drawAgain[T any](command string, k kind[T], read func(io.Reader) (T, error)) func(p *program, o *options, file string) error {
	return func(p *program, o *options, file string) error {
		if opt := o.get("fail-on"); opt.text != "" {
			return usageErrorf("%s: there are no trials to judge in what lockbench %s has written", opt.written(), command)
		}
		out, err := k.printer(p, o, file)
		if err != nil {
			return err
		}
		found, err := readFrom(p, file, read)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		return out.end(found)
	}
}
