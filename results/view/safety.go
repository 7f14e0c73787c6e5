package view

// The safety of a cell in words.

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
)

// OtherWitnesses returns what else went wrong with the safety of a cell, beside violations.
func OtherWitnesses(c *results.Cell) string {
	s := c.Safety
	var parts []string
	for _, w := range []struct {
		n    int64
		noun string
	}{{s.LostUpdates, "lost update"}, {s.WrongReleases, "wrong release"}, {s.FenceRegress, "fence regression"}} {
		if w.n > 0 {
			parts = append(parts, format.Plural(w.n, w.noun))
		}
	}
	if s.LostEarly > 0 {
		parts = append(parts, format.Plural(s.LostEarly, "lease")+" lost early")
	}
	if s.Possible > 0 {
		parts = append(parts, fmt.Sprintf("%s unclear between hosts, whose clocks agree within %s",
			format.Plural(s.Possible, "grant"), format.Duration(s.Blind)))
	}
	text := strings.Join(parts, ", ")
	if s.Explained != "" && s.LostEarly+s.FenceRegress > 0 {
		text += ", which proves nothing here: " + s.Explained
	}
	if ended := Ended(s); text == "" {
		return ended
	} else if ended != "" {
		text += "; " + ended
	}
	return text
}

// Ended returns how many holders the service has cut off by ending their sessions, and the most frequent reason.
func Ended(s results.Safety) string {
	var all int64
	reason := ""
	for _, why := range slices.Sorted(maps.Keys(s.Ended)) {
		all += s.Ended[why]
		if reason == "" || s.Ended[why] > s.Ended[reason] {
			reason = why
		}
	}
	if all == 0 {
		return ""
	}
	text := format.Plural(all, "holder") + " lost the session of the lock: " + reason
	if others := len(s.Ended) - 1; others > 0 {
		text += fmt.Sprintf(" (%s, and %s)", format.Count(s.Ended[reason]), format.Plural(int64(others), "other reason"))
	}
	return text
}

// SafetyLine is SafetyVerdict with its subject, for where no label says it.
func SafetyLine(c *results.Cell) string { return "mutual exclusion: " + SafetyVerdict(c) }

// grants returns how many grants were checked, which are more than those of the window.
func grants(c *results.Cell) string {
	text := format.Plural(c.Safety.Grants, "grant")
	if c.Plan().Warmup > 0 {
		text += " with warm-up"
	}
	return text
}

// SafetyVerdict returns how many violations there were and, if none, how rare they may still be (results.Figures.MaxRate), or
// that none could have been seen.
func SafetyVerdict(c *results.Cell) string {
	return safetyVerdict(c) + amongOwn(c)
}

// amongOwn says that the grants of other runs with the same keys were not checked.
func amongOwn(c *results.Cell) string {
	if !c.Plan().Shared || !c.Safety.Checked {
		return ""
	}
	return "; holds of other runs are not seen"
}

func safetyVerdict(c *results.Cell) string {
	s, grants := c.Safety, grants(c)
	switch {
	case !s.Checked:
		return "not checked, the oracle was off"
	case s.Grants == 0:
		return "no grants to check"
	case s.Violations > 0 && s.Power != nil && s.Power.Watched > 0:
		return fmt.Sprintf("%s in %s, %s watched (%s each)", format.Plural(s.Violations, "violation"), grants,
			format.Count(s.Power.Watched), format.Probability(float64(s.Violations)/float64(s.Power.Watched)))
	case s.Violations > 0:
		return fmt.Sprintf("%s in %s (%s each)", format.Plural(s.Violations, "violation"), grants,
			format.Probability(float64(s.Violations)/float64(s.Grants)))
	}
	none := "0 violations in " + grants
	if s.Power == nil {
		return none + ", how many were watched is unknown"
	}
	watched := format.Count(s.Power.Watched)
	rate, ok := c.Figures().MaxRate()
	switch {
	case ok:
		return fmt.Sprintf("%s, %s watched (< %s each, 95 %%)", none, watched, format.Probability(rate))
	case s.Power.Watched == 0:
		return none + ": none could have been seen, no rival tried a held key"
	case c.Breaches() > 0:
		return none + ", " + watched + " watched"
	}
	return none + ", only " + watched + " watched: too few to tell anything"
}
