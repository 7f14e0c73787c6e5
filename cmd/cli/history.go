// lockbench history: the figures of each cell over revisions, and where they changed.

package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockbench/lockbench/results/draw"
	"github.com/lockbench/lockbench/results/export"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/history"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/report"
	"github.com/lockbench/lockbench/results/spec"
)

func (p *program) historyCommand() *cobra.Command {
	c, o := p.command(&cobra.Command{
		Use:   "history FILE…",
		Short: "Show each cell's figures over revisions, with steps and drifts",
		Long: `Shows the figures of each cell over revisions, and finds steps and slow drifts in them. The files
are those to which -o has appended, run by run; - is standard input. The cell that has lost the
most by its last step or its drift comes first.

Trials of one revision that were measured together are one point, and its value is their median. A
revision is what -revision said, else the build of lockbench. Different machines and different
kinds of server are different series. Records of runs that ended early are left out.

A step is found by CUSUM with a permutation test, a drift by the test of Mann and Kendall. Both
are wrong in 5 % of the histories in which nothing happened, all cells and figures together; so the
more of them there are, the more points it takes: 8 for one, 13 for forty. That holds for points
that scatter independently. Where the machine itself has better and worse weeks, those are steps
too, and there will be more: look at what else changed, and measure on a machine that is left alone.

-format writes other formats, each into a file of its own, or one in place of the table:

` + strings.TrimSuffix(aboutFormats(historyFormats), "\n"),
		Args: needFiles,
	}, historyFlags)
	c.RunE = func(_ *cobra.Command, files []string) error {
		if err := o.fill(p.env); err != nil {
			return err
		}
		return p.history(o, files)
	}
	return c
}

// past is what history has to write.
type past struct {
	*history.History
	table draw.Options
	last  int // points of each cell; 0: all
}

// historyFormats are the formats of history, in the order of the help.
var historyFormats = []exporter[past]{
	{name: tableFormat, about: "each cell's course, its steps and its last points", write: func(w io.Writer, v past) error {
		return draw.Terminal(w, report.History(v.History, v.last), v.table)
	}},
	{name: "markdown", about: "the same for a page or a comment", write: func(w io.Writer, v past) error {
		return draw.Markdown(w, report.History(v.History, v.last), 0)
	}},
	{name: "html", about: "one page with the course of each figure, which needs no other file", write: func(w io.Writer, v past) error {
		return draw.Page(w, report.History(v.History, v.last))
	}},
	{name: "csv", about: "a row a point and figure", write: func(w io.Writer, v past) error {
		return export.HistoryCSV(w, v.History)
	}},
}

// history reads all files, says what is wrong with them, and shows the history of what is right.
func (p *program) history(o *options, files []string) error {
	opts, err := historyOptions(o)
	if err != nil {
		return err
	}
	table, err := p.drawOptions(o, false)
	if err != nil {
		return err
	}
	last, err := parseLast(o.text("last"))
	if err != nil {
		return usageErrorf("%s: %w", o.get("last").written(), err)
	}
	outputs, err := parseFormats(o, historyFormats, files)
	if err != nil {
		return err
	}
	c := history.NewCollector(opts)
	failed := false
	for _, name := range files {
		if _, err := p.readRecords(name, c.Add); err != nil {
			failed = true
			fmt.Fprintf(p.stderr, "lockbench: %s: %s\n", name, oneLine(err.Error()))
		}
	}
	h := c.History()
	if h.Records == 0 && !failed {
		return fmt.Errorf("history: nothing to show: %s", leftOut(h))
	}
	if h.Records > 0 && len(h.Unknown) > 0 && len(h.Unknown) == len(opts.Figures) {
		return fmt.Errorf("history: no record knows %s", o.text("figures"))
	}
	if h.Records > 0 {
		if err := writeOutputs(p, outputs, past{h, table, last}); err != nil {
			return err
		}
	}
	if failed {
		return exitCode(exitError)
	}
	return nil
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

func historyOptions(o *options) (opts history.Options, err error) {
	if o.text("figures") != "" {
		r := reader{o: o}
		for _, name := range list(&r, "figures", parseFigure) {
			if f, ok := metric.Named(name); ok {
				opts.Figures = append(opts.Figures, f)
			}
		}
		if r.err != nil {
			return opts, r.err
		}
	}
	if since := o.get("since"); since.text != "" {
		if opts.Since, err = parseDate(since.text); err != nil {
			return opts, usageErrorf("%s: %w", since.written(), err)
		}
	}
	return opts, nil
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
