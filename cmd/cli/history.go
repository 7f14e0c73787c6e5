// lockbench history: the figures of each cell over revisions.

package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/report"
	"github.com/lockbench/lockbench/results/spec"
)

func (p *program) historyCommand() *cobra.Command {
	return p.command(&cobra.Command{
		Use:   "history FILE…",
		Short: "Show each cell's figures over revisions",
		Args:  needFiles,
	}, historyFlags, func(_ *cobra.Command, o *options, files []string) error { return p.history(o, files) })
}

// histories are what history writes, with the last points of each cell; 0 is all.
func histories(last int) kind[*report.History] {
	return kind[*report.History]{
		document: func(h *report.History) *report.Document { return h.Document(last) },
		formats: []exporter[*report.History]{
			{name: tableFormat, about: "each cell's course and its last points"},
			{name: markdownFormat, about: "the same for a page or a comment"},
			{name: htmlFormat, about: "one page with the course of each figure, which needs no other file"},
		},
	}
}

// history reads all files, says what is wrong with them, and shows the history of what is right.
func (p *program) history(o *options, files []string) error {
	r := reader{o: o}
	last := scalar(&r, "last", parseLast)
	if r.err != nil {
		return r.err
	}
	out, err := histories(last).printer(p, o, files...)
	if err != nil {
		return err
	}
	var h report.History
	failed := p.readAll(files, func(name string) (results.Report, error) { return p.readRecords(name, h.Add) })
	if h.Records == 0 && failed == nil {
		return errors.New("history: nothing to show: all records are of runs that ended early")
	}
	if h.Records > 0 {
		failed = errors.Join(out.end(&h), failed)
	}
	return failed
}

// parseLast reads how many points of each cell are listed.
func parseLast(text string) (int, error) {
	n, err := spec.ParseInt(text)
	if err == nil && n < 0 {
		err = errors.New("must be 0, for all, or more")
	}
	return n, err
}
