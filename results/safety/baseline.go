package safety

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Read reads a report that lockbench prove -format json has written.
func Read(in io.Reader) (*Report, error) {
	var r Report
	if err := json.NewDecoder(in).Decode(&r); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
			err = errors.New("it ends too early")
		}
		return nil, fmt.Errorf("not a report of lockbench prove -format json: %w", err)
	}
	switch {
	case r.Schema > Version:
		return nil, fmt.Errorf("schema: %d is of a newer lockbench; this one knows %d", r.Schema, Version)
	case r.Schema < 1 || len(r.Cells) == 0:
		return nil, errors.New("not a report of lockbench prove -format json: it has no schema or no cells")
	}
	for i, c := range r.Cells {
		if !slices.Contains(Verdicts, c.Verdict) {
			return nil, fmt.Errorf("cells[%d].verdict: there is no verdict %q", i, c.Verdict)
		}
	}
	return &r, nil
}

// Against takes the verdicts of an earlier report as what is known of the cells. Cells that it does not have are judged by what
// their designs admit.
func (r *Report) Against(name string, base *Report) {
	type cell struct{ hazard, driver, lock string }
	before := map[cell]Verdict{}
	for _, c := range base.Cells {
		before[cell{c.Hazard, c.Driver, c.Lock}] = c.Verdict
	}
	r.Baseline = name
	for i := range r.Cells {
		c := &r.Cells[i]
		c.Before = before[cell{c.Hazard, c.Driver, c.Lock}]
	}
}

// Alarm reports whether a cell fails that must not: it survived before, or nothing was known and the design does not admit it.
func (c *Cell) Alarm() bool {
	return c.Verdict == Fails && c.Before != Fails && (c.Before == Survives || !c.Listed)
}

// Unknown reports whether nothing is known of a cell of which something has to be known. That its server is not here is no
// matter, unless it was before; and what could not be found out before need not be now.
func (c *Cell) Unknown() bool {
	switch c.Before {
	case "":
		return c.Verdict.Open()
	case Fails, Survives:
		return c.Verdict.Open() || c.Verdict == NoServer
	}
	return false
}

// Mended reports whether a cell survives that failed before.
func (c *Cell) Mended() bool { return c.Verdict == Survives && c.Before == Fails }

// Select returns the cells for which is reports true.
func (r *Report) Select(is func(*Cell) bool) (cells []*Cell) {
	for i := range r.Cells {
		if is(&r.Cells[i]) {
			cells = append(cells, &r.Cells[i])
		}
	}
	return cells
}

// Misled reports whether a control of a hazard is wrong, so that the report shows nothing.
func (r *Report) Misled() bool {
	return slices.ContainsFunc(r.Hazards, func(h Hazard) bool { return h.Control != "" })
}
