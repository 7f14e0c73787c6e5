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
	s, watched := c.Safety, int64(0)
	if !s.Checked {
		return "not checked: the oracle was off"
	}
	text := "violations " + format.Count(s.Violations) + " in " + format.Plural(s.Grants, "grant")
	if c.Plan().Shared {
		text += " among its own clients"
	}
	if s.Power != nil {
		watched = s.Power.Watched
		text += ", " + format.Count(watched) + " watched"
	}
	switch rate, bounded := c.Figures().MaxRate(); {
	case s.Longest > 0:
		return text + " · longest overlap " + format.Duration(s.Longest) + ", in all " + format.Duration(s.Overlap)
	case bounded:
		return text + ": < 1 in " + format.Count(int64(1/rate)) + " (95 %)"
	case c.Breaches() > 0:
		return text
	case s.Power == nil:
		return text + ": unknown whether one could have been seen"
	case watched > 0:
		return text + ": too few to tell"
	}
	return text + ": none could have been seen"
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
	if s.Possible > 0 {
		clocks := ", clocks agree within " + format.Duration(s.Blind)
		parts = append(parts, "possible overlaps "+format.Count(s.Possible)+clocks)
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
