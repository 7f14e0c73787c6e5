// lockbench history: the figures of each cell over revisions.

package cli

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/report"
)

// histories are what history writes.
var histories = kind[*report.Document]{
	document: func(d *report.Document) *report.Document { return d },
	exit:     func(d *report.Document) int { return map[report.Tone]int{report.Bad: exitViolated}[d.Tone] },
}

// history shows the figures of each cell.
func (p *program) history(_ context.Context, o *options, files []string) error {
	out, err := histories.printer(p, o, files...)
	if err != nil {
		return err
	}
	c := results.Collector{Outline: true}
	failed := p.collect(&c, files, c.Read)
	cells := c.Cells()
	if slices.ContainsFunc(cells, func(c *results.Cell) bool { return c.Partial() == "" || c.Violated() }) {
		return errors.Join(out.end(report.History(cells)), failed)
	}
	return cmp.Or(failed, errors.New("history: nothing to show: all records are of runs that ended early"))
}
