package safety

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/stats"
)

// Read reads a report that lockbench prove -format json has written.
func Read(in io.Reader) (*Report, error) {
	const what = "a report of lockbench prove -format json"
	var r Report
	if err := results.ReadForm(in, what, &r, &r.Schema, Version); err != nil {
		return nil, err
	}
	if r.Schema < 1 || len(r.Cells) == 0 {
		return nil, errors.New("not " + what + ": it has no schema or no cells")
	}
	for i, c := range r.Cells {
		if !slices.Contains(Verdicts, c.Verdict) {
			return nil, fmt.Errorf("cells[%d].verdict: there is no verdict %q", i, c.Verdict)
		}
		if slices.ContainsFunc(r.Hazards, func(h Hazard) bool { return h.Name == c.Hazard && h.Control != "" }) {
			r.Cells[i].Doubted = true // older reports do not say it of a cell
		}
	}
	return &r, nil
}

// Against takes the verdicts of an earlier report as what is known of the cells. Cells that it does not have, or whose controls were
// wrong there, are judged by what their designs admit.
func (r *Report) Against(name string, base *Report) {
	type cell struct{ hazard, driver, lock string }
	before := map[cell]*Cell{}
	for i, c := range base.Cells {
		if !c.Doubted {
			before[cell{c.Hazard, c.Driver, c.Lock}] = &base.Cells[i]
		}
	}
	r.Baseline = name
	for i := range r.Cells {
		c := &r.Cells[i]
		if old := before[cell{c.Hazard, c.Driver, c.Lock}]; old != nil {
			c.Before, c.More = old.Verdict, c.more(old)
		}
	}
}

// more returns in which way a cell fails more than before; empty if it does not. Attempts of another kind of failure, or at a gap
// that held before, are more. A share of attempts is more if it is by chance in one case of a thousand at most (Fisher's exact
// test, one-sided), since a report has some hundred cells.
func (c *Cell) more(old *Cell) string {
	if c.Verdict != Fails || old.Verdict != Fails || c.Doubted {
		return ""
	}
	held := func(gap int) bool { return !slices.Contains(old.LostAt, gap) }
	gap := slices.IndexFunc(c.LostAt, held)
	switch {
	case c.Gaps > 0 && c.Gaps == old.Gaps && old.Tried == old.Gaps && gap >= 0:
		return fmt.Sprintf("it fails at gap %d of %d, and held there before", c.LostAt[gap]+1, c.Gaps)
	case c.Never && !old.Never:
		return "it does not come free, and did before"
	case c.Longest > 0 && old.Longest == 0:
		return "two clients hold it at once, and did not before"
	case stats.Fisher(c.Failed, c.Attempts, old.Failed, old.Attempts) < 0.001:
		return fmt.Sprintf("%d of %s fail, and %d of %d did before", c.Failed, format.Plural(c.Attempts, "attempt"), old.Failed, old.Attempts)
	}
	return ""
}

// Alarm reports whether a cell fails that must not: it survived before, or fails more than it did, or nothing was known and the
// design does not admit it.
func (c *Cell) Alarm() bool {
	switch {
	case c.Doubted || c.Verdict != Fails || c.Control:
		return false
	case c.Before == Fails:
		return c.More != ""
	}
	return c.Before == Survives || !c.Listed
}

// Unknown reports whether nothing is known of a cell of which something has to be known. That its server is not here is no
// matter, unless it was before; and what could not be found out before need not be now.
func (c *Cell) Unknown() bool {
	open := c.Doubted || c.Verdict.Open()
	switch {
	case c.Control:
		return false // Hazard.Control tells of it
	case c.Before == Fails, c.Before == Survives:
		return open || c.Verdict == NoServer || c.Verdict == NotApplicable
	}
	return open && !c.Before.Open()
}

// Mended reports whether a cell survives that failed before.
func (c *Cell) Mended() bool { return c.Verdict == Survives && !c.Doubted && c.Before == Fails }

// Select returns the cells for which is reports true.
func (r *Report) Select(is func(*Cell) bool) (cells []*Cell) {
	for i := range r.Cells {
		if is(&r.Cells[i]) {
			cells = append(cells, &r.Cells[i])
		}
	}
	return cells
}
