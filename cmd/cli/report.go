// lockbench report: what a command has printed, made again from what it has written.

package cli

import (
	"github.com/spf13/cobra"

	"github.com/lockbench/lockbench/cmd/cli/progress"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/draw"
	"github.com/lockbench/lockbench/results/spec"
)

func (p *program) reportCommand() *cobra.Command {
	return p.command(&cobra.Command{
		Use:   "report FILE…",
		Short: "Print the table of records that -o has written, or another format",
		Long: "Prints the table of records that -o has written, or the answer that plan or prove -format json has;\n" +
			"- is standard input. Files may be compressed (gzip), and a trial that is in several of them counts\n" +
			"once.\n\n" +
			"-format writes other formats, in one go: -format csv prints CSV in place of the table, and\n" +
			"-format csv=trials.csv,hgrm=curves/ prints the table and writes files, each whole or not at all:\n\n" +
			aboutFormats(reportFormats) + "\n" +
			"-fail-on 'response.p99>20ms,locks/s<3000' judges each cell, prints a line for each threshold above\n" +
			"the table, and exits with 3 if one is missed; lockbench help gate says more.\n\n" +
			"A damaged line costs that line: it is named on stderr, and the exit code stays 0 as long as every\n" +
			"file has at least one good record. A file that has none, or that cannot be read, makes it 1.",
		Args: needFiles,
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
	table, err := p.tableOptions(o)
	if err != nil {
		return err
	}
	table.Verbose = o.on("verbose")
	limits, err := o.thresholds("lockbench compare does that")
	if err != nil {
		return err
	}
	outputs, err := parseFormats(o, reportFormats, files)
	if err != nil {
		return err
	}
	var c results.Collector
	failed := p.readAll(files, func(name string) (results.Report, error) { return p.collect(&c, name) })
	cells := c.Cells()
	if len(cells) == 0 {
		return exitCode(exitError)
	}
	check := compare.CheckCells(cells, limits, nil)
	if err := writeOutputs(p, outputs, p.reported(cells, check, table)); err != nil {
		return err
	}
	verdict := p.checked(check, o)
	if failed != nil && check.Verdict != compare.Violated {
		return failed
	}
	return verdict
}

// tableOptions fits the table to the terminal, or to what -width says.
func (p *program) tableOptions(o *options) (draw.Options, error) {
	opt := o.get("width")
	width, err := spec.ParseInt(opt.text)
	if err != nil {
		return draw.Options{}, usageErrorf("%s: %w", opt.written(), err)
	}
	if width != 0 && (width < minWidth || width > maxWidth) {
		return draw.Options{}, usageErrorf("%s: must be 0 or %d to %d", opt.written(), minWidth, maxWidth)
	}
	columns, tty := progress.Terminal(p.stdout)
	switch {
	case width > 0:
	case tty:
		width = min(max(columns, minWidth), maxWidth)
	default:
		width = 100
	}
	noColor, _ := p.env.lookup("NO_COLOR") // https://no-color.org
	return draw.Options{Width: width, Color: tty && noColor == ""}, nil
}

const (
	minWidth = 40
	maxWidth = 1000
)
