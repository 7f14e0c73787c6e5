// lockbench history: the figures of each cell over revisions, and where they changed.

package cli

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/export"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/history"
	"github.com/lockbench/lockbench/results/report"
	"github.com/lockbench/lockbench/results/spec"
)

func (p *program) historyCommand() *cobra.Command {
	return p.command(&cobra.Command{
		Use:   "history FILE…",
		Short: "Show each cell's figures over revisions, with steps and drifts",
		Args:  needFiles,
	}, historyFlags, func(_ *cobra.Command, o *options, files []string) error { return p.history(o, files) })
}

// histories are what history writes, with the last points of each cell; 0 is all.
func histories(last int) kind[*history.History] {
	return kind[*history.History]{
		document: func(h *history.History) *report.Document { return report.History(h, last) },
		formats: []exporter[*history.History]{
			{name: tableFormat, about: "each cell's course, its steps and its last points"},
			{name: markdownFormat, about: "the same for a page or a comment"},
			{name: htmlFormat, about: "one page with the course of each figure, which needs no other file"},
			{name: "csv", about: "a row a point and figure", write: export.HistoryCSV},
		},
	}
}

// history reads all files, says what is wrong with them, and shows the history of what is right.
func (p *program) history(o *options, files []string) error {
	r := reader{o: o}
	opts := history.Options{Figures: r.figures()}
	if o.text("since") != "" {
		opts.Since = scalar(&r, "since", parseDate)
	}
	last := scalar(&r, "last", parseLast)
	if r.err != nil {
		return r.err
	}
	out, err := histories(last).printer(p, o, files...)
	if err != nil {
		return err
	}
	c := history.NewCollector(opts)
	failed := p.readAll(files, func(name string) (results.Report, error) { return p.readRecords(name, c.Add) })
	h := c.History()
	if h.Records == 0 && failed == nil {
		return fmt.Errorf("history: nothing to show: %s", leftOut(h))
	}
	if h.Records > 0 && len(h.Unknown) > 0 && len(h.Unknown) == len(opts.Figures) {
		return fmt.Errorf("history: no record knows %s", o.text("figures"))
	}
	if h.Records > 0 {
		failed = cmp.Or(out.end(h), failed)
	}
	return failed
}

// leftOut returns why a history has no records.
func leftOut(h *history.History) string {
	var why []string
	if h.Partial > 0 {
		why = append(why, format.Plural(h.Partial, "record")+" of runs that ended early")
	}
	if h.Earlier > 0 {
		why = append(why, format.Plural(h.Earlier, "record")+" from before -since")
	}
	return strings.Join(why, ", ")
}

// parseLast reads how many points of each cell are listed.
func parseLast(text string) (int, error) {
	n, err := spec.ParseInt(text)
	if err == nil && n < 0 {
		err = errors.New("must be 0, for all, or more")
	}
	return n, err
}

// parseDate reads a day, which begins at midnight UTC, or a moment.
func parseDate(s string) (time.Time, error) {
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, nil
		}
	}
	return time.Time{}, errors.New("must be a date, 2026-05-04, or a moment, 2026-05-04T03:02:01Z")
}
