package render

// Comparisons of many figures: which rows a reader gets to see, and how the others are counted.

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/stats"
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

// kept is how many rows of a kind are shown where there are too many for all. What nobody has to act on is only counted.
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

func kindOf(r figureRow) kind { return kind{r.Verdict, r.Reason, Within(r.Result)} }

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

// counts are how many figures there are of each kind, if not all of them are shown: a line that says so, and one a kind.
func (t *comparison) counts(how string) (lead string, lines []string) {
	if len(t.hidden) == 0 {
		return "", nil
	}
	all, judged := map[kind]int{}, 0
	for _, r := range slices.Concat(t.rows, t.hidden) {
		if r.Threshold != nil {
			all[kindOf(r)]++
			judged++
		}
	}
	unjudged := 0
	for _, r := range t.hidden {
		if r.Threshold == nil {
			unjudged++
		}
	}
	say := func(n int, text string) {
		if n > 0 {
			lines = append(lines, format.Count(n)+" "+text)
		}
	}
	for _, v := range compare.Verdicts {
		say(all[kind{v, "", true}], withinLimit+": worse, by no more than the limit allows")
		say(all[kind{v, "", false}], string(v))
		for _, reason := range compare.Reasons {
			say(all[kind{v, reason, false}], string(v)+": "+reason.About())
		}
	}
	say(unjudged, "besides that no threshold judges, of cells that are not shown")
	what := "the worst of each kind are shown"
	if len(t.rows) == 0 {
		what = "none of which needs a look"
	}
	return fmt.Sprintf("%s, %s (%s):", format.Plural(judged, "judged figure"), what, how), lines
}

// reasons are what stands behind the verdicts, and what it takes to come to another. Figures with the same reason share it,
// those that are not shown too.
func (t *comparison) reasons() (list []string) {
	of := map[string][]figureRow{}
	for _, r := range slices.Concat(t.rows, t.hidden) {
		of[r.Why] = append(of[r.Why], r)
	}
	said := map[string]bool{"": true}
	for _, r := range t.rows {
		if said[r.Why] {
			continue
		}
		said[r.Why] = true
		rows := of[r.Why]
		var names []string
		for _, r := range rows[:min(len(rows), namedFirst+1)] {
			names = append(names, strings.TrimSuffix(t.of(r), ": "))
		}
		list = append(list, firstOfMany(names, len(rows), "; ")+": "+r.Why+"."+needed(rows))
	}
	return list
}

// needed is how many trials would tell, for the figures of rows: from the one that takes the least of them to the one
// that takes the most.
func needed(rows []figureRow) string {
	worst, least, same := rows[0], math.MaxInt, true
	for _, r := range rows {
		same = same && r.Threshold.String()[len(r.Figure.Name):] == worst.Threshold.String()[len(worst.Figure.Name):]
		if r.Needed > worst.Needed {
			worst = r
		}
		if r.Needed > 0 {
			least = min(least, r.Needed)
		}
	}
	if worst.Verdict != compare.Inconclusive || worst.Needed == 0 {
		return ""
	}
	what := "such changes"
	if same {
		what = strings.TrimLeft(limitText(worst.Threshold)[len(worst.Figure.Name):], " <>")
		what = strings.NewReplacer("-", "−", "%", format.Unbroken+"%").Replace(what) // as in the reason before it
	}
	const many = 1000 // more than anybody runs, and the estimate is no longer one
	if least > many {
		return fmt.Sprintf(" To see %s would take more than %s a side: it scatters too much.", what, format.Plural(many, "trial"))
	}
	most := format.Plural(int64(min(worst.Needed, many)), "trial")
	if worst.Needed > many {
		most = "more than " + most
	}
	if least < worst.Needed {
		most = format.Count(least) + " to " + most
	}
	text := fmt.Sprintf(" To see %s takes about %s a side", what, most)
	if worst.Guessed() {
		return text + fmt.Sprintf(", if not many more: fewer than %d show little of the scatter.", stats.MinTrials)
	}
	return text + "."
}

// firstOf names the first few of many.
func firstOf(names []string, between string) string { return firstOfMany(names, len(names), between) }

// firstOfMany is firstOf of so many, of which the names of the first are known.
func firstOfMany(names []string, many int, between string) string {
	if more := many - namedFirst; more > 1 {
		return strings.Join(names[:namedFirst], between) + between + fmt.Sprintf("and %s more", format.Count(more))
	}
	return strings.Join(names, between)
}

// notes are what holds for a cell or for all, and the cells that had no partner. Cells with the same note share it. Of
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
		if of := firstOf(labels[text], "; "); of != "" {
			text = of + ": " + text
		}
		list = append(list, text+".")
	}
	ofCells := len(list)
	for _, text := range t.Notes {
		list = append(list, text+".")
	}
	for _, lone := range []struct {
		labels []string
		where  string
	}{{t.Missing, "base"}, {t.Added, "head"}} {
		if n := len(lone.labels); n > 0 {
			list = append(list, fmt.Sprintf("Only in the %s, and not compared: %s.", lone.where, firstOf(lone.labels, "; ")))
		}
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
