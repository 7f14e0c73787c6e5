package safety

// What a report as a whole says: what was tested, and what was found.

import (
	"errors"
	"slices"
)

// Asked is what the user has named: each has to be exercised, or else the report shows nothing. Empty is everything that can be
// run here.
type Asked struct {
	Hazards []string `json:"hazards,omitempty"`
	Drivers []string `json:"drivers,omitempty"`
	Locks   []string `json:"locks,omitempty"`
}

// Outcome is what a report says as a whole.
type Outcome int

const (
	Kept         Outcome = iota // no design loses what it does not admit, or what it kept in the baseline
	Lost                        // one does, whatever else is not known
	Inconclusive                // something that has to be known is not
)

// Outcome returns what the report says as a whole.
func (r *Report) Outcome() Outcome {
	switch {
	case len(r.Select((*Cell).Alarm)) > 0:
		return Lost
	case len(r.Select((*Cell).Unknown)) > 0 || len(r.Untested()) > 0:
		return Inconclusive
	}
	return Kept
}

// Judge adds a hazard and its cells, which it returns as they are to be believed by what the controls say.
func (r *Report) Judge(h Hazard, cells []Cell) []Cell {
	for i := range cells {
		cells[i].Doubted = h.Control != "" && cells[i].Verdict != NoServer && cells[i].Verdict != NotApplicable
	}
	r.Hazards = append(r.Hazards, h)
	r.Cells = append(r.Cells, cells...)
	return cells
}

// NotStarted says that the server of a cell is not there. One that is installed and does not start is no reason to leave the lock
// out.
func (c *Cell) NotStarted(err error) {
	c.Verdict, c.Why = NotExercised, "its server does not start: "+err.Error()
	var missing interface{ Missing() string }
	if errors.As(err, &missing) {
		c.Verdict, c.Why, c.Missing = NoServer, err.Error(), missing.Missing()
	}
}

// Exercised reports whether something is known of the cell from attempts that count.
func (c *Cell) Exercised() bool { return !c.Doubted && (c.Verdict == Fails || c.Verdict == Survives) }

// Reason is why something was not tested.
type Reason struct {
	What string // a hazard, a driver or a lock
	Why  string
}

// Untested returns what the user has named that was not exercised; or all, if nothing was.
func (r *Report) Untested() (list []Reason) {
	tested := false
	look := func(what string, is func(*Cell) bool) {
		cells := r.Select(func(c *Cell) bool { return !c.Control && is(c) })
		if slices.ContainsFunc(cells, (*Cell).Exercised) {
			tested = true
			return
		}
		list = append(list, Reason{what, whyNot(cells)})
	}
	look("", func(*Cell) bool { return true })
	if !tested {
		return list
	}
	for _, name := range r.Asked.Hazards {
		look(name, func(c *Cell) bool { return c.Hazard == name })
	}
	for _, name := range r.Asked.Drivers {
		if len(r.Asked.Locks) == 0 {
			look(name, func(c *Cell) bool { return c.Driver == name })
		}
	}
	for _, name := range r.Asked.Locks {
		drivers := r.Asked.Drivers
		if len(drivers) == 0 {
			look(name, func(c *Cell) bool { return c.Lock == name })
		}
		for _, driver := range drivers {
			is := func(c *Cell) bool { return c.Driver == driver && c.Lock == name }
			if len(r.Select(is)) > 0 { // not all drivers have all locks
				look(driver+" "+name, is)
			}
		}
	}
	return list
}

// whyNot returns why none of some cells was exercised: what is most easily mended.
func whyNot(cells []*Cell) string {
	for _, is := range []func(*Cell) bool{
		func(c *Cell) bool { return c.Verdict.Open() },
		func(c *Cell) bool { return c.Verdict == NoServer },
		func(c *Cell) bool { return c.Doubted },
		func(c *Cell) bool { return c.Why != "" },
	} {
		i := slices.IndexFunc(cells, is)
		if i < 0 {
			continue
		}
		if c := cells[i]; c.Doubted && !c.Verdict.Open() {
			return c.Hazard + ": its controls are not as they have to be"
		}
		return cells[i].Hazard + ": " + cells[i].Why
	}
	return "no attempt was made"
}

// Coverage is what became of the hazards of a report: their names.
type Coverage struct {
	Shown, Wrong, Unsure, Open, Missing, Idle []string
}

// Coverage returns what became of each hazard, as far as the designs are concerned that are not only controls.
func (r *Report) Coverage() (v Coverage) {
	for _, h := range r.Hazards {
		cells := r.Select(func(c *Cell) bool { return c.Hazard == h.Name && !c.Control })
		has := func(is func(*Cell) bool) bool { return slices.ContainsFunc(cells, is) }
		list := &v.Idle // it applies to none
		switch {
		case has((*Cell).Exercised):
			list = &v.Shown
		case h.Wrong:
			list = &v.Wrong
		case h.Control != "":
			list = &v.Unsure
		case has(func(c *Cell) bool { return c.Verdict.Open() }):
			list = &v.Open
		case has(func(c *Cell) bool { return c.Verdict == NoServer }):
			list = &v.Missing
		}
		*list = append(*list, h.Name)
	}
	return v
}
