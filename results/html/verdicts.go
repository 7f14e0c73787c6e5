package html

// What came out of a comparison, in sentences.

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/render"
	"github.com/lockbench/lockbench/results/view"
)

// finding is a sentence or two on the page.
type finding struct{ Kind, Lead, Text string }

// class is how a verdict is drawn.
func class(v compare.Verdict) string {
	switch v {
	case compare.Regressed:
		return "bad"
	case compare.Inconclusive:
		return "warn"
	case compare.Improved:
		return "good"
	}
	return "same"
}

// mark is the sign beside the word of a verdict, for those who look before they read.
func mark(v compare.Verdict) string {
	return map[compare.Verdict]string{
		compare.Regressed: "✕", compare.Inconclusive: "○", compare.Improved: "▲", compare.Unchanged: "●",
	}[v]
}

// headline is the verdict of the whole in a few words.
func (t *contest) headline() string {
	verdict := format.Upper(string(t.Verdict))
	if t.Verdict == compare.Unchanged {
		if len(t.within()) > 0 {
			verdict += " beyond the limit"
		}
		if t.single() {
			return verdict
		}
		return verdict + " in " + format.Plural(len(t.Cells), "cell")
	}
	n := t.counts[t.Verdict]
	switch {
	case n == 0: // a cell that the head lacks
		return verdict + ": " + format.Plural(len(t.Missing), "cell") + " of the base not in the head"
	case t.single():
		return verdict + ": " + format.Few(t.figuresOf(t.Verdict), view.NamedCells)
	}
	return verdict + ": " + partOf(n, len(t.Cells))
}

// partOf is "3 of 8 cells", or "all 8 cells".
func partOf(n, all int) string {
	if n == all {
		return "all " + format.Plural(all, "cell")
	}
	return format.Count(n) + " of " + format.Plural(all, "cell")
}

// figuresOf are the figures that have a verdict, each once.
func (t *contest) figuresOf(v compare.Verdict) (names []string) {
	named := map[string]bool{} // a figure may have several limits
	for _, g := range t.judged {
		name := g.figure.Name
		if g.verdict != v || named[name] {
			continue
		}
		named[name] = true
		if r := g.results[0]; g.threshold.Relative && !math.IsNaN(r.Change.Ratio) {
			name += " " + render.Changed(r.Change.Ratio-1)
		}
		names = append(names, name)
	}
	return names
}

func (t *contest) tallies() (all []verdictCount) {
	noun, n := "cell", len(t.Cells)
	if t.single() {
		noun, n = "figure judged", len(t.judged)
		if n != 1 {
			noun = "figures judged"
		}
	} else {
		noun += "s"
	}
	all = append(all, verdictCount{format.Count(n), "", noun, ""})
	for _, v := range compare.Verdicts {
		if of := t.counts[v]; of > 0 {
			all = append(all, verdictCount{format.Count(of), mark(v), string(v), class(v)})
		}
	}
	return all
}

// takeaways are the verdicts figure by figure, the worst first, and what else decides the whole.
func (t *contest) takeaways() (all []finding) {
	all = t.violated()
	for _, v := range []compare.Verdict{compare.Regressed, compare.Inconclusive} {
		for _, g := range t.judged {
			all = append(all, t.worst(g, v)...)
		}
		if n := len(t.Missing); v == compare.Inconclusive && n > 0 {
			all = append(all, t.missing())
		}
	}
	for _, g := range t.judged {
		all = append(all, t.worst(g, compare.Improved)...)
	}
	return slices.Concat(all, t.within(), t.unchanged())
}

// missing names the cells that the head lacks.
func (t *contest) missing() finding {
	n := len(t.Missing)
	one := finding{"note", "Not compared:", fmt.Sprintf("%s of the base, of which the head has no trial: %s.",
		format.Plural(n, "cell"), format.FewClauses(cleaned(t.Missing), view.NamedCells))}
	if t.Lacking {
		one.Kind = "warn"
		one.Text += " What did not run has not passed."
	}
	return one
}

func cleaned(texts []string) (all []string) {
	for _, text := range texts {
		all = append(all, format.Line(text))
	}
	return all
}

// violated says what no verdict does if violations are not among what is judged.
func (t *contest) violated() []finding {
	if slices.ContainsFunc(t.judged, func(g judgement) bool { return g.figure.Name == "violations" && g.verdict == compare.Regressed }) {
		return nil
	}
	n, of := 0, t.trials(1)
	for _, r := range of {
		n += b2i(r.Violated())
	}
	if n == 0 {
		return nil
	}
	return []finding{{"bad", "Mutual exclusion was violated", fmt.Sprintf("in %s of %s of the head, though the design claims it. "+
		"No threshold judges that here (-fail-on 'violations>0').", format.Count(n), format.Plural(len(of), "trial"))}}
}

// of are the results of a judgement with that verdict.
func (g judgement) of(v compare.Verdict) (list []judged) {
	for _, r := range g.results {
		if r.Verdict == v {
			list = append(list, r)
		}
	}
	return list
}

// worst says which results of a judgement have a verdict, the worst of them by name.
func (t *contest) worst(g judgement, v compare.Verdict) []finding {
	list := g.of(v)
	if len(list) == 0 {
		return nil
	}
	lead := map[compare.Verdict]string{
		compare.Regressed: "regressed", compare.Improved: "improved", compare.Inconclusive: "is inconclusive",
	}[v]
	lead = g.figure.Name + " " + lead
	if v == compare.Regressed && g.figure.Name == "violations" {
		lead = "Mutual exclusion was violated"
	}
	kind := class(v)
	if t.single() {
		return []finding{{kind, lead + ":", t.sentence(list[0])}}
	}
	lead += " in " + partOf(len(list), len(t.Cells)) + ":"
	if v == compare.Inconclusive {
		return []finding{{kind, lead, t.doubts(list)}}
	}
	text := t.moves(list)
	switch {
	case g.figure.Name == "violations":
		text += " Two clients held the same lock at once."
	case v == compare.Regressed:
		text += " The limit is " + limit(g.threshold) + "."
	}
	return []finding{{kind, lead, text}}
}

// moves says what became of a figure in some cells.
func (t *contest) moves(list []judged) string {
	var names []string
	for _, r := range list {
		names = append(names, t.names[r.cell]+", "+t.moved(r))
	}
	return format.FewClauses(names, view.NamedCells) + "."
}

// limit is the value of a threshold, without its figure.
func limit(t *compare.Threshold) string {
	text := strings.TrimLeft(strings.TrimPrefix(render.Limit(t), t.Figure.Name), " <>")
	return strings.NewReplacer("-", "−", "%", unbroken+"%").Replace(text)
}

// moved is what became of a result: "80,000 → 70,000 (−12.5 %)".
func (t *contest) moved(r judged) string {
	if !r.Threshold.Relative && r.Why != "" {
		return format.Line(r.Why)
	}
	text := value(r, r.Change.Base.Median) + " → " + value(r, r.Change.Head.Median)
	if !math.IsNaN(r.Change.Ratio) {
		text += " (" + render.Changed(r.Change.Ratio-1) + ")"
	}
	return text
}

func value(r judged, v float64) string { return r.Figure.Unit.Format(v) }

// sentence says of the only cell what became of a figure.
func (t *contest) sentence(r judged) string {
	why := format.Line(r.Why)
	switch {
	case !r.Threshold.Relative && why != "":
		return format.Upper(why) + ", and the limit is " + limit(r.Threshold) + "."
	case r.Change.Base.N == 0 || r.Change.Head.N == 0:
		return format.Upper(why) + "."
	}
	text := t.moved(r)
	switch {
	case r.Verdict == compare.Regressed && r.Threshold.Relative && !math.IsNaN(r.Change.Ratio):
		text += ". The limit is " + limit(r.Threshold)
	case why != "":
		text += ": " + why
	}
	text += "."
	if more := render.Needed(r.Result); more != "" {
		text += " " + more
	}
	return text
}

// doubts say why nothing can be told, each kind of reason once, and what it would take: a few trials more do not help
// where the trials scatter.
func (t *contest) doubts(list []judged) string {
	var reasons []compare.Reason // in the order of the worst of each
	of := map[compare.Reason][]judged{}
	for _, r := range list {
		if of[r.Reason] == nil {
			reasons = append(reasons, r.Reason)
		}
		of[r.Reason] = append(of[r.Reason], r)
	}
	var parts []string
	for i, reason := range reasons {
		text := t.doubt(of[reason]) + "."
		if i > 0 {
			text = format.Upper(text)
		}
		var results []*compare.Result
		for _, r := range of[reason] {
			results = append(results, r.Result)
		}
		if more := render.Needed(results...); more != "" {
			text += " " + more
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, " ")
}

// doubt is one reason and the cells that have it: in the words of their case if that is the same for all of them.
func (t *contest) doubt(list []judged) string {
	why := format.Line(list[0].Why)
	var names []string
	for _, r := range list {
		names = append(names, t.names[r.cell])
		if format.Line(r.Why) != why {
			why = list[0].Reason.About()
		}
	}
	if len(names) == len(t.Cells) {
		return why
	}
	return why + " (" + format.Few(names, view.NamedCells-1) + ")"
}

// quiet tells of a judged figure that there is nothing to say of it.
func (r judged) quiet() bool { return r.Verdict == compare.Unchanged && !render.Within(r.Result) }

// within says which figures are worse, though their limit allows it.
func (t *contest) within() (all []finding) {
	for _, g := range t.judged {
		list := slices.DeleteFunc(slices.Clone(g.results), func(r judged) bool { return !render.Within(r.Result) })
		lead := g.figure.Name + " is worse within the limit"
		switch {
		case len(list) == 0:
		case t.single():
			all = append(all, finding{"note", lead + ":", t.moved(list[0]) + ". The limit is " + limit(g.threshold) + "."})
		default:
			lead += " in " + partOf(len(list), len(t.Cells))
			all = append(all, finding{"note", lead + ":", t.moves(list) + " The limit is " + limit(g.threshold) + "."})
		}
	}
	return all
}

// unchanged says what the rest is: nothing to worry about, and why that may be said. It may have changed all the same,
// by less than the limit or for the better, with no more than chance behind it as far as anybody can tell.
func (t *contest) unchanged() []finding {
	lead := "No loss beyond the limit:"
	var changes, values []string // judged by their change, and by the head's own value
	for _, g := range t.judged {
		n := 0
		for _, r := range g.results {
			n += b2i(r.quiet())
		}
		if n == 0 {
			continue
		}
		name := g.figure.Name
		if !t.single() {
			name += " in " + format.Plural(n, "cell")
		}
		if !g.threshold.Relative {
			values = append(values, name)
			continue
		}
		changes = append(changes, name)
		if g.threshold.Less != (g.figure.Better == metric.Higher) || g.figure.Better == metric.Neither {
			lead = "Nothing beyond the limit:"
		}
	}
	var parts []string
	if len(values) > 0 {
		parts = append(parts, format.Few(values, 2*view.NamedCells))
	}
	switch len(changes) {
	case 0:
		lead = "Nothing beyond the limit:"
	case 1:
		parts = append(parts, changes[0]+", ruled out with 95 % confidence")
	default:
		parts = append(parts, format.Few(changes, 2*view.NamedCells)+", each ruled out with 95 % confidence")
	}
	if len(parts) == 0 {
		return nil
	}
	return []finding{{"note", lead, strings.Join(parts, "; ") + "."}}
}

// betterWhen says which way a figure improves.
func betterWhen(f *metric.Metric) string {
	switch f.Better {
	case metric.Higher:
		return "more is better"
	case metric.Lower:
		return "less is better"
	}
	return ""
}
