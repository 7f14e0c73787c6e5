package report

// What a proof says of its cells: a mark, and what was seen.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/safety"
)

// proofMarks says what the marks mean.
const proofMarks = "✗ fails, as it admits. ‼ fails, and does not admit it, or fails more than in the baseline. ✓ survives its attempts (-attempts N: more of them). ○ survives, and says that it may fail. ? not known. □ admits that it fails, which cannot be tested here. · does not apply. – no server here"

// controlMark stands behind the names of locks that were not asked for.
const controlMark = " (control)"

// ProofMark returns how a cell is drawn in the matrix.
func ProofMark(c *safety.Cell) string { return proofLook(c).mark }

func proofLook(c *safety.Cell) look {
	switch {
	case c.Doubted:
		return look{"?", Warn}
	case c.Unlisted(), c.Alarm():
		return look{"‼", Alarm}
	case c.Verdict == safety.Fails:
		return look{"✗", Bad}
	case c.Unseen():
		return look{"○", Good}
	case c.Verdict == safety.Survives:
		return look{"✓", Good}
	case c.Verdict == safety.NotApplicable && c.Listed:
		return look{"□", Plain}
	case c.Verdict == safety.NotApplicable:
		return look{"·", Plain}
	case c.Verdict == safety.NoServer:
		return look{"–", Plain}
	case c.Verdict.Open():
		return look{"?", Warn}
	}
	return look{"?", Plain}
}

// proofRow is a design in the matrix, of drivers for which all its marks are the same.
type proofRow struct {
	Drivers []string
	Lock    string
	Control bool           // it was not asked for
	Cells   []*safety.Cell // of each hazard, of the first driver; nil where it was not run
}

// Name returns "driver, driver design".
func (r proofRow) Name() string {
	name := strings.Join(r.Drivers, ", ") + " " + r.Lock
	if r.Control {
		name += controlMark
	}
	return name
}

// proofName returns the name of a cell's lock.
func proofName(c *safety.Cell) string {
	return proofRow{Drivers: []string{c.Driver}, Lock: c.Lock, Control: c.Control}.Name()
}

func (r proofRow) marks() (all string) {
	for _, c := range r.Cells {
		if c != nil {
			all += ProofMark(c)
		}
		all += " "
	}
	return all
}

// proofRows returns the matrix of a report, in the order of its cells.
func proofRows(r *safety.Report) (rows []proofRow) {
	var single []proofRow
	for i := range r.Cells {
		c := &r.Cells[i]
		at := slices.IndexFunc(single, func(row proofRow) bool { return row.Lock == c.Lock && row.Drivers[0] == c.Driver })
		if at < 0 {
			at = len(single)
			single = append(single, proofRow{[]string{c.Driver}, c.Lock, true, make([]*safety.Cell, len(r.Hazards))})
		}
		single[at].Control = single[at].Control && c.Control
		if h := slices.IndexFunc(r.Hazards, func(h safety.Hazard) bool { return h.Name == c.Hazard }); h >= 0 {
			single[at].Cells[h] = c
		}
	}
	for _, one := range single {
		i := slices.IndexFunc(rows, func(row proofRow) bool {
			return row.Lock == one.Lock && row.Control == one.Control && row.marks() == one.marks()
		})
		if i < 0 {
			rows = append(rows, one)
			continue
		}
		rows[i].Drivers = append(rows[i].Drivers, one.Drivers...)
	}
	return rows
}

// proofKind returns what cells of which the same can be said in short have in common.
func proofKind(c *safety.Cell) string {
	switch c.Verdict {
	case safety.Fails:
		return fmt.Sprint(c.Never, c.Failed == c.Attempts)
	case safety.Survives:
		return fmt.Sprint(c.Gaps - c.Tried)
	}
	return c.Why
}

// ProofSeen returns what was seen of cells of one kind, in short or all of it.
func ProofSeen(cells []*safety.Cell, whole bool) string {
	c, attempts, worst := cells[0], span{}, *cells[0]
	for _, c := range cells {
		attempts.add(c.Attempts)
		worst.Bound, worst.Longest, worst.Recovery = max(worst.Bound, c.Bound), max(worst.Longest, c.Longest), max(worst.Recovery, c.Recovery)
	}
	tried := attempts.String() + " attempts"
	if attempts.most == 1 {
		tried = "1 attempt"
	}
	switch {
	case c.Verdict == safety.Survives:
		text := fmt.Sprintf("survives %s (a fault in fewer than %s of them could be missed)", tried, format.Percent(worst.Bound))
		if c.Tried < c.Gaps {
			text += fmt.Sprintf(", at %d of %d gaps only", c.Tried, c.Gaps)
		}
		if whole && worst.Recovery > 0 {
			text += ", next grant after " + format.Duration(worst.Recovery)
		}
		return text
	case c.Verdict != safety.Fails:
		return string(c.Verdict) + ": " + c.Why
	}
	text := "fails all of " + tried
	if c.Failed < c.Attempts {
		failed := span{}
		for _, c := range cells {
			failed.add(c.Failed)
		}
		text = "fails " + failed.String() + " of " + tried
	}
	switch {
	case c.Never:
		text += ", not free again in the test"
	case whole && worst.Longest > 0:
		text += ", both for " + format.Duration(worst.Longest) + " at most"
	}
	return text
}

// span is the range of some numbers of at least 1.
type span struct{ least, most int }

func (s *span) add(n int) {
	if s.least == 0 || n < s.least {
		s.least = n
	}
	s.most = max(s.most, n)
}

func (s span) String() string {
	if s.least == s.most {
		return fmt.Sprint(s.most)
	}
	return fmt.Sprintf("%d to %d", s.least, s.most)
}
