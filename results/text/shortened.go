package text

// Comparisons of many figures: which rows a reader gets to see, and how the others are counted.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/format"
)

const (
	// fullRows is how many judged rows a comparison has at the most that shows every one of them: two screens.
	fullRows = 60
	// fullNotes is the same for notes.
	fullNotes = 20
)

// kind is what rows have in common of which a few stand for all.
type kind struct {
	verdict compare.Verdict
	reason  compare.Reason
	within  bool // worse, though the limit allows it
}

// kept returns how many rows of a kind are shown where there are too many for all. Rows that need no action are only counted.
func (k kind) kept() int {
	switch k.verdict {
	case compare.Regressed:
		return 30
	case compare.Improved:
		return 10
	case compare.Inconclusive:
		return 4 // for each of its reasons
	}
	if k.within {
		return 10
	}
	return 0
}

func kindOf(r figureRow) kind { return kind{r.Verdict, r.Reason, r.Within()} }

// shorten leaves the worst rows of each kind, in their order, if there are more than most that are judged; and of those
// that nobody judges, which were asked for, the ones of the cells that are left.
func (t *comparison) shorten(most int) {
	order := slices.DeleteFunc(slices.Clone(t.rows), func(r figureRow) bool { return r.Threshold == nil })
	if len(order) <= most {
		return
	}
	slices.SortStableFunc(order, func(a, b figureRow) int { return compare.Worse(a.Result, b.Result) })
	left := map[kind]int{}
	keep := map[*compare.Result]bool{}
	cells := map[int]bool{}
	for _, r := range order {
		if k := kindOf(r); left[k] < k.kept() {
			left[k]++
			keep[r.Result], cells[r.cell] = true, true
		}
	}
	var shown []figureRow
	for _, r := range t.rows {
		if keep[r.Result] || r.Threshold == nil && cells[r.cell] {
			shown = append(shown, r)
		} else {
			t.hidden = append(t.hidden, r)
		}
	}
	t.rows = shown
}

// left returns how many judged figures there are, if not all of them are shown.
func (t *comparison) left(how string) string {
	if len(t.hidden) == 0 {
		return ""
	}
	judged := 0
	for _, r := range slices.Concat(t.rows, t.hidden) {
		if r.Threshold != nil {
			judged++
		}
	}
	what := "the worst of each kind are shown"
	if len(t.rows) == 0 {
		what = "none of which needs a look"
	}
	return fmt.Sprintf("%s, %s (%s).", format.Plural(judged, "judged figure"), what, how)
}

// named is how many cells a note names before it counts the rest.
const named = 3

// notes returns what holds for a cell or for all, and the cells that had no partner. Cells with the same note share it. Of
// more than most notes those of a cell go first, and those of violations last.
func (t *comparison) notes(most int) (list []string) {
	labels := map[string][]string{}
	var order []string
	for _, c := range t.Cells {
		for _, text := range c.Notes {
			if labels[text] == nil {
				order = append(order, text)
			}
			labels[text] = append(labels[text], c.Label)
		}
	}
	for _, text := range order {
		if of := format.FewClauses(labels[text], named); of != "" {
			text = of + ": " + text
		}
		list = append(list, text+".")
	}
	ofCells := len(list)
	for _, text := range t.Notes {
		list = append(list, text+".")
	}
	if len(t.Added) > 0 {
		list = append(list, fmt.Sprintf("Only in the head, and not compared: %s.", format.FewClauses(t.Added, named)))
	}
	if len(list) <= most {
		return list
	}
	violation := func(text string) bool { return strings.Contains(text, "mutual exclusion was violated") }
	var first, rest []string
	for i, text := range list {
		if violation(text) || i >= ofCells {
			first = append(first, text)
		} else {
			rest = append(rest, text)
		}
	}
	slices.SortStableFunc(first, func(a, b string) int {
		switch {
		case violation(a) == violation(b):
			return 0
		case violation(a):
			return -1
		}
		return 1
	})
	list = slices.Concat(first, rest)
	return append(list[:most], "And "+format.Plural(int64(len(list)-most), "note")+" more.")
}
