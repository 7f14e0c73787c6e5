// lockbench compare: what became of the figures of one set of records in another.

package cli

import (
	"context"
	"fmt"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/export"
	"github.com/lockbench/lockbench/results/report"
)

// compare compares the records of two files, or the two sides of those of one.
func (p *program) compare(_ context.Context, o *options, files []string) error {
	if len(files) != 1 && len(files) != 2 {
		return usageErrorf("compare: which files? give one of the base and one of the head, or one that run -vs has " +
			"written; several of a side can be joined: cat a.jsonl b.jsonl | lockbench compare - head.jsonl")
	}
	how, err := o.comparing()
	if err != nil {
		return err
	}
	out, err := comparisons.printer(p, o, files...)
	if err != nil {
		return err
	}
	found, err := p.compareFiles(files, how)
	if err != nil {
		return err
	}
	return out.end(found)
}

func (p *program) compareFiles(files []string, how compare.Options) (*compare.Comparison, error) {
	var sides []compare.Input
	for _, name := range files {
		side, err := p.readSide(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		sides = append(sides, side)
	}
	base, head := sides[0], sides[len(sides)-1]
	if len(sides) == 1 {
		var err error
		if base, head, err = compare.Split(base); err != nil {
			return nil, err
		}
	}
	return compare.Compare(base, head, how)
}

// comparing reads the flags that say how to compare.
func (o *options) comparing() (compare.Options, error) {
	thresholds, err := o.failOn()
	return compare.Options{Thresholds: thresholds, Force: o.on("force")}, err
}

// readSide reads one side. Of distributions it keeps the quantiles that records spell out: no more is compared.
func (p *program) readSide(name string) (compare.Input, error) {
	c := results.Collector{Outline: true}
	err := p.readRecords(name, c.Read)
	return compare.Input{Name: name, Cells: c.Cells()}, err
}

// comparisons are what compare writes, and a run that compares.
var comparisons = kind[*compare.Comparison]{
	document: report.Comparison,
	exit: func(c *compare.Comparison) int {
		if c.Violated() {
			return exitViolated
		}
		return map[compare.Verdict]int{compare.Regressed: exitRegressed, compare.Inconclusive: exitInconclusive}[c.Verdict]
	},
	formats: []output[*compare.Comparison]{
		{name: "csv", write: export.ComparisonCSV},
		{name: "json", write: export.ComparisonJSON},
		{name: "junit", write: export.JUnitComparison},
	},
}
