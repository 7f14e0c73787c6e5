// lockbench report: what a command has printed, made again from what it has written.

package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"io"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/capacity"
	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/draw"
	"github.com/lockbench/lockbench/results/export"
	"github.com/lockbench/lockbench/results/report"
	"github.com/lockbench/lockbench/results/safety"
	"github.com/lockbench/lockbench/results/view"
)

// report reads all files, says what is wrong with them, and writes and judges what is right.
func (p *program) report(_ context.Context, o *options, files []string) error {
	limits, err := o.thresholds("lockbench compare does that")
	if err != nil {
		return err
	}
	out, err := reports.printer(p, o, files...)
	if err != nil {
		return err
	}
	var c results.Collector
	var again func() error // ends as another command has
	failed := p.collect(&c, files, func(in io.Reader) (read results.Report, err error) {
		head := bufio.NewReaderSize(in, 4<<10)
		if len(files) == 1 {
			again, err = p.redraw(o, files[0], head)
		}
		if again != nil || err != nil {
			return read, err
		}
		read, err = c.Read(head)
		// A file of plan -output is its answer, in the formats of one. Other formats are of its trials.
		if _, unlike := answers.printer(p, o, files...); unlike == nil && len(files) == 1 && len(limits) == 0 {
			again, _ = drawn(p, o, files[0], answers, capacity.ReadAnswer, bytes.NewReader(read.Answer))
		}
		return read, err
	})
	if again != nil {
		return cmp.Or(failed, again())
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

// redraw reads what another command has written as JSON, and returns what writes that again and ends as the command
// did; nil if in has records. A command is known by a name that is among the first in its JSON and in no record.
func (p *program) redraw(o *options, file string, in *bufio.Reader) (again func() error, err error) {
	head, err := in.Peek(in.Size())
	switch is := func(name string) bool { return bytes.Contains(head, []byte(name)) }; {
	case len(head) == 0 && err != io.EOF:
		return nil, err
	case is(`"hazards":`):
		return drawn(p, o, file, proofs, safety.Read, in)
	case is(`"slo":`):
		return drawn(p, o, file, answers, capacity.ReadAnswer, in)
	}
	return nil, nil
}

func drawn[T any](p *program, o *options, file string, k kind[T], read func(io.Reader) (T, error), in io.Reader) (
	again func() error, err error) {
	v, err := read(in)
	if err != nil {
		return nil, err
	}
	return func() error {
		out, err := k.printer(p, o, file)
		if err = cmp.Or(err, o.refuse([]string{"fail-on"}, "there are no trials to judge in "+file)); err != nil {
			return err
		}
		return out.end(v)
	}, nil
}

// reported is what report has to write.
type reported struct {
	cells []*results.Cell
	check *compare.Check // of the cells
}

// reports are what report writes, and a run that compares nothing.
var reports = kind[reported]{
	document: func(v reported) *report.Document { return report.Run(v.cells, v.check) },
	exit: func(v reported) int {
		if len(v.check.Thresholds) == 0 && v.check.Verdict != compare.Violated {
			return exitOK
		}
		return map[compare.Verdict]int{
			compare.Violated: exitViolated, compare.Missed: exitRegressed, compare.Inconclusive: exitInconclusive,
		}[v.check.Verdict]
	},
	formats: []output[reported]{
		{name: "csv", write: func(w io.Writer, v reported) error { return export.CSV(w, v.cells) }},
		{name: "benchfmt", write: func(w io.Writer, v reported) error { return export.Benchfmt(w, v.cells) }},
		{name: "hgrm", dir: func(create create, v reported) error {
			return export.Hgrm(v.cells, view.Names(v.cells), create)
		}},
		{name: "svg", dir: func(create create, v reported) (err error) {
			for _, c := range report.Pictures(v.cells) {
				err = cmp.Or(err, create(c.Name+".svg", func(w io.Writer) error { return draw.SVG(w, &c) }))
			}
			return err
		}},
		{name: "json", write: func(w io.Writer, v reported) error { return export.CheckJSON(w, v.check) }},
		{name: "junit", write: func(w io.Writer, v reported) error { return export.JUnitCheck(w, v.check) }},
	},
}
