package view

// What the oracle and other witnesses say of a cell.

import (
	"maps"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
)

// Exclusion says how many violations there were and, if none, how rare they may still be (results.Figures.MaxRate), or
// that none could have been seen.
func Exclusion(c *results.Cell) string {
	s := c.Safety
	if !s.Checked {
		return "not checked: the oracle was off"
	}
	text := "violations " + format.Count(s.Violations) + " in " + format.Plural(s.Grants, "grant")
	if c.Plan().Shared {
		text += " among its own clients"
	}
	if s.Power != nil {
		text += ", " + format.Count(s.Power.Watched) + " watched"
	}
	switch rate, bounded := c.Figures().MaxRate(); {
	case s.Longest > 0:
		text += " · longest overlap " + format.Duration(s.Longest) + ", in all " + format.Duration(s.Overlap)
	case bounded:
		text += ": < 1 in " + format.Count(int64(1/rate)) + " (95 %)"
	case c.Breaches() > 0:
	case s.Power == nil:
		text += ": unknown whether one could have been seen"
	case s.Power.Watched > 0:
		text += ": too few to tell"
	default:
		text += ": none could have been seen"
	}
	return text
}

// Witnesses returns what else than overlaps speaks against the safety of a cell; empty if nothing does.
func Witnesses(c *results.Cell) string {
	s := c.Safety
	parts := []string{
		format.Labelled("lost-updates", s.LostUpdates), format.Labelled("wrong-releases", s.WrongReleases),
		format.Labelled("fence-regress", s.FenceRegress), format.Labelled("lost-early", s.LostEarly),
	}
	if s.Explained != "" && s.LostEarly+s.FenceRegress > 0 {
		parts = append(parts, "which proves nothing: "+s.Explained)
	}
	if possible := format.Labelled("possible overlaps", s.Possible); possible != "" {
		parts = append(parts, possible+", clocks agree within "+format.Duration(s.Blind))
	}
	for _, why := range slices.Sorted(maps.Keys(s.Ended)) {
		parts = append(parts, "sessions ended "+format.Count(s.Ended[why])+": "+why)
	}
	return join(parts...)
}

// Risk returns what is most wrong with the design of c: the first clause of Record.Wrong. Records from before that was
// kept say "".
func Risk(c *results.Cell) string {
	first, _, _ := strings.Cut(c.First().Wrong, ";")
	return first
}
