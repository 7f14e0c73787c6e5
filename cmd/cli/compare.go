// lockbench compare: what became of the figures of one set of records in another.

package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/export"
	"github.com/lockbench/lockbench/results/report"
)

func (p *program) compareCommand() *cobra.Command {
	return p.command(&cobra.Command{
		Use:   "compare BASE HEAD",
		Short: "Compare the records of two files, or the two sides of a run with -vs",
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return usageErrorf("compare: which files? give those of the base and of the head, or one that run -vs has written")
			case len(args) > 2:
				return usageErrorf("compare: %d files; one is the base and one the head, and several of a side can be joined: "+
					"cat a.jsonl b.jsonl | lockbench compare - head.jsonl", len(args))
			case len(args) == 2 && args[0] == "-" && args[1] == "-":
				return usageErrorf("compare: standard input cannot be both sides")
			}
			return nil
		},
	}, compareCommandFlags, func(_ *cobra.Command, o *options, files []string) error {
		how, err := o.comparing()
		if err != nil {
			return err
		}
		out, err := comparisons.printer(p, o, files...)
		if err != nil {
			return err
		}
		base, head, err := p.sides(files)
		if err != nil {
			return err
		}
		found, err := compare.Compare(base, head, how)
		if err != nil {
			return err
		}
		return out.end(found)
	})
}

// comparing reads the flags that say how to compare.
func (o *options) comparing() (compare.Options, error) {
	thresholds, err := o.failOn()
	return compare.Options{Thresholds: thresholds, Force: o.on("force")}, err
}

// sides reads the files of a comparison. One file alone holds both sides, of runs with -vs.
func (p *program) sides(files []string) (base, head compare.Input, err error) {
	inputs := make([]compare.Input, len(files))
	for i, name := range files {
		if inputs[i], err = p.side(name); err != nil {
			return base, head, fmt.Errorf("%s: %w", name, err)
		}
	}
	if len(inputs) == 2 {
		return inputs[0], inputs[1], nil
	}
	return compare.Split(inputs[0])
}

// side reads one file. Of the trials' distributions it keeps the quantiles that records spell out: no more is compared.
func (p *program) side(name string) (compare.Input, error) {
	c := results.Collector{Outline: true}
	if _, err := p.collect(&c, name); err != nil {
		return compare.Input{}, err
	}
	return compare.Input{Name: name, Cells: c.Cells()}, nil
}

// comparisons are what compare writes, and a run that compares.
var comparisons = kind[*compare.Comparison]{
	document: report.Comparison,
	exit: func(c *compare.Comparison) int {
		return map[compare.Verdict]int{compare.Regressed: exitRegressed, compare.Inconclusive: exitInconclusive}[c.Verdict]
	},
	formats: []output[*compare.Comparison]{
		{name: "csv", write: export.ComparisonCSV},
		{name: "json", write: export.ComparisonJSON},
		{name: "junit", write: export.JUnitComparison},
	},
}
