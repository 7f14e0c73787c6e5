package report

// Of a comparison: which rows a reader gets to see of many, the notes, and what each side was.

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/view"
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

// shortened returns the worst rows of each kind, in their order, if too many are judged.
func shortened(rows []compare.Judged) []compare.Judged {
	order := slices.DeleteFunc(slices.Clone(rows), func(r compare.Judged) bool { return r.Threshold == nil })
	if len(order) <= fullRows {
		return rows
	}
	slices.SortStableFunc(order, func(a, b compare.Judged) int { return compare.Worse(a.Result, b.Result) })
	shown, keep := map[kind]int{}, map[*compare.Result]bool{}
	for _, r := range order {
		if k := (kind{r.Verdict, r.Reason, r.Within()}); shown[k] < k.kept() {
			shown[k]++
			keep[r.Result] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(rows), func(r compare.Judged) bool {
		return !keep[r.Result]
	})
}

// needLook returns the judged rows of which a comment begins with: all if they are few, or those that need a look.
func (t *comparison) needLook() []compare.Judged {
	rows := slices.DeleteFunc(t.rows(false), func(r compare.Judged) bool { return r.Threshold == nil })
	if len(rows) > openRows {
		rows = slices.DeleteFunc(rows, func(r compare.Judged) bool { return r.Quiet() || r.Verdict == compare.Improved })
	}
	return shortened(rows)
}

// left returns how many judged figures there are, if not all of them are among the rows.
func (t *comparison) left(rows []compare.Judged) string {
	shown := len(rows)
	for _, r := range rows {
		if r.Threshold == nil {
			shown--
		}
	}
	all := len(t.Judged())
	switch shown {
	case all:
		return ""
	case 0:
		return format.Plural(all, "judged figure") + ", none of which needs a look (-format csv has all)."
	}
	return format.Plural(all, "judged figure") + ", of which the worst of each kind are shown (-format csv has all)."
}

// namedSides is how many cells or revisions a note or a title names before it counts the rest.
const namedSides = 3

// notes returns what holds for all, the cells that had no partner, and what holds for a cell. Cells with the same note share it. Of
// more than most notes those of violations come first, and the last ones go.
func (t *comparison) notes(most int) (list []string) {
	for _, text := range t.Notes {
		list = append(list, sentenceOf(text))
	}
	if len(t.Added) > 0 {
		list = append(list, fmt.Sprintf("Only in the head, and not compared: %s.", format.FewClauses(t.Added, namedSides)))
	}
	var labels view.Grouped[string, string]
	for _, c := range t.Cells {
		for _, text := range c.Notes {
			labels.Add(text, c.Label)
		}
	}
	for _, text := range labels.Keys {
		if of := format.FewClauses(labels.Of[text], namedSides); of != "" {
			text = of + ": " + text + "."
		} else {
			text = sentenceOf(text)
		}
		list = append(list, text)
	}
	if len(list) <= most {
		return list
	}
	slices.SortStableFunc(list, func(a, b string) int { return cmp.Compare(quiet(a), quiet(b)) })
	return append(list[:most], "And "+format.Plural(len(list)-most, "note")+" more.")
}

// sentenceOf returns a clause as a sentence, with its first letter in upper case, unless that is the name of a figure or a flag.
func sentenceOf(clause string) string {
	word, _, _ := strings.Cut(clause, " ")
	if _, figure := metric.Named(word); !figure && !strings.ContainsAny(word, "./-") {
		clause = format.Upper(clause)
	}
	return clause + "."
}

// quiet is 0 for a note of a violation.
func quiet(note string) int {
	if strings.Contains(note, "mutual exclusion was violated") {
		return 0
	}
	return 1
}

// trials returns those of one side, 0 for the base.
func (t *comparison) trials(side int) (all []*results.Record) {
	for _, c := range t.Cells {
		all = append(all, [][]*results.Record{c.Base, c.Head}[side]...)
	}
	return all
}

// means says what to do about the verdict, and how far to trust it.
func (t *comparison) means() Facts {
	do, next, alpha := "the head passes: a loss beyond a limit is ruled out, or the limits allow what got worse", "", ""
	switch t.Verdict {
	case compare.Regressed:
		do = "the head fails: mend what regressed, or allow it (-fail-on)"
		next = "lockbench report -v FILE, of each side: where its time went"
	case compare.Inconclusive:
		do = "the head neither passes nor fails: do not take that for a pass"
		var judged []*compare.Result
		for _, r := range t.Judged() {
			judged = append(judged, r.Result)
		}
		next = compare.Needs(judged...)
	}
	if t.Tests > 0 {
		alpha = fmt.Sprintf("if nothing has changed, at most %s of such comparisons report a regression", format.Percent(t.Alpha))
	}
	return filled(fact("what to do", do), fact("trust", alpha, reach(append(t.trials(0), t.trials(1)...))), fact("next", next))
}

// about returns what a side is, which revisions it was, how many trials it had, what was left out of it and when it ran.
func (t *comparison) about(s compare.Side, trials []*results.Record) string {
	var parts []string
	if s.Name != "" {
		parts = append(parts, s.Name)
	}
	if len(s.Revisions) > 0 {
		parts = append(parts, format.Few(s.Revisions, view.NamedCells))
	}
	parts = append(parts, format.Plural(s.Trials, "trial"))
	if s.Partial > 0 {
		parts = append(parts, fmt.Sprintf("%s that ended early left out", format.Count(s.Partial)))
	}
	if s.Duplicates > 0 {
		parts = append(parts, fmt.Sprintf("%s read before left out", format.Plural(s.Duplicates, "record")))
	}
	if len(trials) > 0 {
		parts = append(parts, began(trials))
	}
	return strings.Join(parts, " · ")
}

// began says when trials began, from the first to the last.
func began(trials []*results.Record) string {
	at := func(a, b *results.Record) int { return a.Started.Compare(b.Started) }
	return format.Span(slices.MinFunc(trials, at).Started, slices.MaxFunc(trials, at).Started)
}

// places are facts about where the sides ran: one line if it holds for both, else some for each.
func (t *comparison) places() (facts Facts) {
	base, head := placesOf(t.trials(0)), placesOf(t.trials(1))
	for _, label := range places {
		f := Fact{Label: label, Lines: base[label]}
		if !slices.Equal(base[label], head[label]) {
			f.Lines = nil
			for _, line := range base[label] {
				f.Lines = append(f.Lines, "base: "+line)
			}
			for _, line := range head[label] {
				f.Lines = append(f.Lines, "head: "+line)
			}
		}
		facts = append(facts, f)
	}
	return filled(facts...)
}

// placesOf returns the different facts about where trials ran, in alphabetical order.
func placesOf(trials []*results.Record) map[string][]string {
	var all view.Grouped[string, string]
	for _, r := range trials {
		for _, fact := range view.Place(&results.Cell{Trials: []*results.Record{r}}) {
			all.Once(fact.Label, fact.Text)
		}
	}
	for _, list := range all.Of {
		slices.Sort(list)
	}
	return all.Of
}

// commands are the one that makes the comparison again, and those that make its cells, each once.
func (t *comparison) commands(own string) (blocks []Block) {
	var texts view.Grouped[string, string]
	for i, c := range t.Cells {
		base := ""
		if len(c.Base) > 0 {
			base = c.Base[0].Plan.Command
		}
		for side, text := range []string{base, c.Command} {
			if text = strings.TrimSpace(format.Line(text)); text != "" {
				texts.Add(text, strings.TrimSuffix([]string{"base", "head"}[side]+": "+t.names[i], ": "))
			}
		}
	}
	var made []Block
	for _, text := range texts.Keys[:min(len(texts.Keys), shownCommands)] {
		made = append(made, Section{Title: format.Few(texts.Of[text], view.NamedCells), Blocks: []Block{Command(text)}})
	}
	if left := len(texts.Keys) - shownCommands; left > 0 {
		made = append(made, Paragraph{Text: fmt.Sprintf("The records have %s more.", format.Count(left)), Note: true})
	}
	if own != "" {
		blocks = append(blocks, Section{Title: "This comparison", Blocks: []Block{Command(own)}})
	}
	return append(blocks, commandLines(len(texts.Keys), made)...)
}

// commandLines returns the blocks of so many command lines, folded away if they are many.
func commandLines(n int, lines []Block) []Block {
	switch {
	case n == 0:
		return []Block{Paragraph{Text: "The records have no command lines.", Note: true}}
	case n > fewCommands:
		return []Block{Section{Folded: true, Title: format.Plural(n, "command line"), Blocks: lines}}
	}
	return lines
}
