// lockbench history: the figures of each cell over revisions, and where they changed.

package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/figure"
	"github.com/lockbench/lockbench/results/history"
	"github.com/lockbench/lockbench/results/render"
)

func (p *program) historyCommand() *cobra.Command {
	c, o := p.command(&cobra.Command{
		Use:   "history FILE…",
		Short: "Show each cell's figures over revisions, with steps and drifts",
		Long: `Shows the figures of each cell over revisions, and finds steps and slow drifts in them. The files
are those to which -o has appended, run by run; - is standard input. A cell with the latest loss
comes first.

Trials of one revision that were measured together are one point, and its value is their median. A
revision is what -revision said, else the build of lockbench. Different machines and different
kinds of server are different series. Records of runs that ended early are left out.

A step is found by E-divisive with a permutation test, a drift by the test of Mann and Kendall. Both
are wrong in 5 % of the histories in which nothing happened, all cells and figures together; so the
more of them there are, the more points it takes: 8 for one, 13 for forty.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageErrorf("history: which file? give the names of record files, or - for standard input")
			}
			return nil
		},
	}, historyFlags)
	_ = c.RegisterFlagCompletionFunc("figures", listCompletion(figureNames()))
	_ = c.RegisterFlagCompletionFunc("format", listCompletion(historyFormats))
	c.RunE = func(_ *cobra.Command, files []string) error {
		if err := o.fill(p.env); err != nil {
			return err
		}
		return p.history(o, files)
	}
	return c
}

var historyFormats = []string{"table", "markdown", "csv"}

// history reads all files, says what is wrong with them, and shows the history of what is right.
func (p *program) history(o *options, files []string) error {
	opts, err := historyOptions(o)
	if err != nil {
		return err
	}
	shown, err := p.historyTable(o)
	if err != nil {
		return err
	}
	format := o.text("format")
	if err := oneOf(o.get("format"), historyFormats); err != nil {
		return err
	}
	c := history.NewCollector(opts)
	failed := false
	for _, name := range files {
		if err := p.eachRecord(name, c.Add); err != nil {
			failed = true
			fmt.Fprintf(p.stderr, "lockbench: %s: %s\n", name, oneLine(err.Error()))
		}
	}
	h := c.History()
	if h.Records == 0 && !failed {
		return fmt.Errorf("history: nothing to show: %s", leftOut(h))
	}
	if len(h.Unknown) > 0 && len(h.Unknown) == len(opts.Figures) {
		return fmt.Errorf("history: no record knows %s", o.text("figures"))
	}
	if h.Records > 0 {
		switch format {
		case "markdown":
			err = render.HistoryMarkdown(p.stdout, h, shown)
		case "csv":
			err = render.HistoryCSV(p.stdout, h)
		default:
			err = render.History(p.stdout, h, shown)
		}
		if err != nil {
			return err
		}
	}
	if failed {
		return exitCode(exitError)
	}
	return nil
}

// leftOut is why a history has no records.
func leftOut(h *history.History) string {
	var why []string
	if h.Partial > 0 {
		why = append(why, render.Many(int64(h.Partial), "record")+" of runs that ended early")
	}
	if h.Earlier > 0 {
		why = append(why, render.Many(int64(h.Earlier), "record")+" from before -since")
	}
	return strings.Join(why, ", ")
}

func historyOptions(o *options) (opts history.Options, err error) {
	if figures := o.get("figures"); figures.text != "" {
		if opts.Figures, err = parseFigures(figures.text); err != nil {
			return opts, usageErrorf("%s: %w", figures.written(), err)
		}
	}
	if since := o.get("since"); since.text != "" {
		if opts.Since, err = parseDate(since.text); err != nil {
			return opts, usageErrorf("%s: %w", since.written(), err)
		}
	}
	return opts, nil
}

func (p *program) historyTable(o *options) (shown render.HistoryOptions, err error) {
	if shown.Options, err = p.tableOptions(o); err != nil {
		return shown, err
	}
	last := o.get("last")
	if shown.Last, err = parseInt(last.text); err != nil {
		return shown, usageErrorf("%s: %w", last.written(), err)
	}
	if shown.Last < 0 {
		return shown, usageErrorf("%s: must be 0, for all, or more", last.written())
	}
	return shown, nil
}

// oneOf refuses a value that is none of names.
func oneOf(opt *option, names []string) error {
	for _, name := range names {
		if opt.text == name {
			return nil
		}
	}
	return usageErrorf("%s: no such %s%s; there are %s", opt.written(), opt.name, didYouMean("", opt.text, names), strings.Join(names, ", "))
}

func figureNames() (names []string) {
	for _, f := range figure.All() {
		names = append(names, f.Name)
	}
	return names
}

// parseFigures reads the names of figures.
func parseFigures(s string) ([]figure.Figure, error) {
	names, err := parseList(s, parseText)
	if err != nil {
		return nil, err
	}
	var list []figure.Figure
	for _, name := range names {
		f, ok := figure.Named(name)
		if !ok {
			return nil, fmt.Errorf("no figure is called %q%s", name, didYouMean("", name, figureNames()))
		}
		list = append(list, f)
	}
	return list, nil
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

// eachRecord reads one file, hands each record on as it comes, and names damaged lines on stderr.
func (p *program) eachRecord(name string, each func(*results.Record) error) error {
	in := p.stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return errors.Unwrap(err)
		}
		defer f.Close()
		in = f
	}
	report, err := results.Read(in, each)
	for _, d := range report.Damage {
		fmt.Fprintf(p.stderr, "lockbench: %s: %v; skipped\n", name, d)
	}
	if more := report.Damaged - len(report.Damage); more > 0 {
		fmt.Fprintf(p.stderr, "lockbench: %s: %d more damaged lines; skipped\n", name, more)
	}
	return err
}
