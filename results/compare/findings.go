package compare

// Findings: what came out of a comparison, in sentences that every format shows.

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/stats"
	"github.com/lockbench/lockbench/results/view"
)

// Judged is a result and the place of its cell in Comparison.Cells.
type Judged struct {
	Cell int
	*Result
}

// Judgement is the results of all cells for one threshold, or for one metric that no threshold judges, the worst first.
type Judgement struct {
	Metric    *metric.Metric
	Threshold *Threshold // nil: none judges it
	Verdict   Verdict    // the worst of them
	Results   []Judged
}

// Judgements returns what thresholds judge, the worst first, and what is shown only. A lock that does not exclude is worse
// than one that is slow.
func (c *Comparison) Judgements() (judged, shown []Judgement) {
	var all []Judgement
	for _, r := range c.results() {
		i := slices.IndexFunc(all, func(g Judgement) bool { return g.Results[0].key() == r.key() })
		if i < 0 {
			i, all = len(all), append(all, Judgement{Metric: r.Figure, Threshold: r.Threshold, Verdict: r.Verdict})
		}
		all[i].Verdict = worse(all[i].Verdict, r.Verdict)
		all[i].Results = append(all[i].Results, r)
	}
	for _, g := range all {
		sortWorst(g.Results)
		if g.Threshold == nil {
			shown = append(shown, g)
		} else {
			judged = append(judged, g)
		}
	}
	slices.SortStableFunc(judged, func(a, b Judgement) int {
		return cmp.Or(cmp.Compare(rank(a.Verdict), rank(b.Verdict)), trueFirst(a.violated(), b.violated()))
	})
	return judged, shown
}

// results returns those of all cells.
func (c *Comparison) results() (list []Judged) {
	for i := range c.Cells {
		for j := range c.Cells[i].Figures {
			list = append(list, Judged{i, &c.Cells[i].Figures[j]})
		}
	}
	return list
}

// key is equal for results of one threshold, or of one metric that none judges.
func (r *Result) key() string {
	if r.Threshold == nil {
		return r.Figure.Name
	}
	return r.Threshold.String()
}

func sortWorst(list []Judged) {
	slices.SortStableFunc(list, func(a, b Judged) int { return Worse(a.Result, b.Result) })
}

// trueFirst orders what is so before what is not.
func trueFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// Judged returns all judged results, the worst first.
func (c *Comparison) Judged() []Judged {
	list := slices.DeleteFunc(c.results(), func(r Judged) bool { return r.Threshold == nil })
	sortWorst(list)
	return list
}

// violated reports whether exclusion was violated.
func (g Judgement) violated() bool { return g.Metric.Name == "violations" && g.Verdict == Regressed }

// Within reports whether a metric is worse, significantly, though its threshold allows that.
func (r *Result) Within() bool { return r.Verdict.passed() && r.Why != "" }

// named is how many cells or metrics a sentence names before it counts the rest.
const named = 4

// Headline returns the verdict of the whole in a few words: "regressed in 1 of 3 cells: etcd, locks/s −10.0 % (p < 0.0001)".
func (c *Comparison) Headline() string {
	var worst []Judged
	cells, within := map[int]bool{}, 0
	for _, r := range c.Judged() {
		if r.Within() {
			within++
		}
		if r.Verdict == c.Verdict {
			worst = append(worst, r)
			cells[r.Cell] = true
		}
	}
	text := string(c.Verdict)
	switch {
	case c.single():
	case c.Verdict.passed():
		text += " in " + format.Plural(len(c.Cells), "cell")
	case len(cells) > 0:
		text += " in " + partOf(len(cells), len(c.Cells))
	}
	if len(worst) > 0 && !c.Verdict.passed() {
		var parts []string
		said := map[string]bool{} // a metric may have several limits
		for _, r := range worst {
			name := r.Figure.Name
			if label := c.Cells[r.Cell].Label; label != "" {
				name = label + ", " + name
			}
			if !said[name] {
				said[name] = true
				parts = append(parts, name+" "+r.short())
			}
		}
		text += ": " + format.FewClauses(parts, named-1)
	}
	if n := len(c.Missing); n > 0 {
		text += " · " + format.Plural(n, "cell") + " only in the base"
	}
	if c.Broken > 0 {
		text += " · mutual exclusion violated in " + format.Plural(c.Broken, "cell") + " only in the head"
	}
	if c.Verdict.passed() && within > 0 {
		text += " · " + format.Plural(within, "figure") + " worse within the limit"
	}
	return text
}

// short returns the change of a judged metric in a few words.
func (r *Result) short() string {
	switch {
	case !r.Threshold.Relative || math.IsNaN(r.Change.Ratio):
		return "(" + r.Why + ")"
	case math.IsNaN(r.P):
		return format.Change(r.Change.Ratio - 1)
	}
	return fmt.Sprintf("%s (p %s)", format.Change(r.Change.Ratio-1), format.P(r.P))
}

// partOf returns "3 of 8 cells", "all 8 cells" or "both cells".
func partOf(n, all int) string {
	switch {
	case n == all && all == 2:
		return "both cells"
	case n == all:
		return "all " + format.Plural(all, "cell")
	}
	return format.Count(n) + " of " + format.Plural(all, "cell")
}

// Findings returns what came out, the worst first.
func (c *Comparison) Findings() (all []view.Finding) {
	say := func(kind view.Kind, lead, text string) {
		if text != "" {
			all = append(all, view.Finding{Kind: kind, Lead: lead, Text: text})
		}
	}
	judged, _ := c.Judgements()
	say(view.Bad, "Mutual exclusion was violated", c.violated(judged))
	for _, v := range []Verdict{Regressed, Inconclusive, Improved} {
		for _, g := range judged {
			lead, text := c.ofVerdict(g, v)
			say(kinds[v], lead, text)
		}
		if v == Inconclusive && len(c.Missing) > 0 {
			all = append(all, c.missing())
		}
	}
	for _, g := range judged {
		lead, text := c.within(g)
		say(view.Note, lead, text)
	}
	lead, text := c.unchanged(judged)
	say(view.Note, lead, text)
	return all
}

func (c *Comparison) single() bool { return len(c.Cells) == 1 }

// missing names the cells that the head lacks.
func (c *Comparison) missing() view.Finding {
	f := view.Finding{Kind: view.Note, Lead: "Not compared:", Text: fmt.Sprintf("%s of the base, of which the head has no trial: %s.",
		format.Plural(len(c.Missing), "cell"), format.FewClauses(c.Missing, named))}
	if c.Lacking {
		f.Kind = view.Warn
		f.Text += " What did not run has not passed (-force: judge by the others)."
	}
	return f
}

// violated returns what no verdict does if violations are not among what is judged.
func (c *Comparison) violated(judged []Judgement) string {
	if slices.ContainsFunc(judged, Judgement.violated) {
		return ""
	}
	n, trials := 0, 0
	for _, cell := range c.Cells {
		trials += len(cell.head)
		n += number(cell.head, (*results.Record).Violated)
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("in %s of %s of the head, though the design claims it. No threshold judges that here (-fail-on 'violations>0').",
		format.Count(n), format.Plural(trials, "trial"))
}

// of returns the results that are so.
func (g Judgement) of(is func(Judged) bool) []Judged {
	return slices.DeleteFunc(slices.Clone(g.Results), func(r Judged) bool { return !is(r) })
}

// kinds are how findings of verdicts are drawn.
var kinds = map[Verdict]view.Kind{Regressed: view.Bad, Inconclusive: view.Warn, Improved: view.Good, NotWorse: view.Note, Unchanged: view.Note}

// ofVerdict returns which results of a judgement have a verdict, the worst of them by name.
func (c *Comparison) ofVerdict(g Judgement, v Verdict) (lead, text string) {
	list := g.of(func(r Judged) bool { return r.Verdict == v })
	if len(list) == 0 {
		return "", ""
	}
	lead = g.Metric.Name + " " + map[Verdict]string{Regressed: "regressed", Improved: "improved", Inconclusive: "is inconclusive"}[v]
	if v == Regressed && g.violated() {
		lead = "Mutual exclusion was violated"
	}
	switch {
	case c.single():
		return lead + ":", list[0].Sentence()
	case v == Inconclusive:
		text = c.doubts(list)
	default:
		text = c.moves(list)
	}
	switch {
	case g.violated() && v == Regressed:
		text += " Two clients held the same lock at once."
	case v == Regressed:
		text += " The limit is " + g.Threshold.Allowed() + "."
	}
	return lead + " in " + partOf(len(list), len(c.Cells)) + ":", text
}

// moves returns what became of a metric in some cells.
func (c *Comparison) moves(list []Judged) string {
	var names []string
	for _, r := range list {
		names = append(names, c.Cells[r.Cell].Label+", "+r.moved())
	}
	return format.FewClauses(names, named) + "."
}

// moved returns what became of a result: "80,000 → 70,000 (−12.5 %)".
func (r *Result) moved() string {
	if !r.Threshold.Relative && r.Why != "" {
		return r.Why
	}
	text := r.Figure.Unit.Format(r.Change.Base.Median) + " → " + r.Figure.Unit.Format(r.Change.Head.Median)
	if !math.IsNaN(r.Change.Ratio) {
		text += " (" + format.Change(r.Change.Ratio-1) + ")"
	}
	return text
}

// Sentence returns what became of a judged metric, and why its verdict is what it is: "80,000 → 70,000 (−12.5 %). The limit is
// −5 %."
func (r *Result) Sentence() string {
	switch {
	case !r.Threshold.Relative && r.Verdict == Regressed:
		return r.Why + ", and the limit is " + r.Threshold.Allowed() + "."
	case r.Change.Base.N == 0 || r.Change.Head.N == 0:
		return r.Why + "."
	}
	text := r.moved()
	switch {
	case r.Verdict == Regressed && r.Threshold.Relative && !math.IsNaN(r.Change.Ratio):
		text += ". The limit is " + r.Threshold.Allowed()
	case r.Why != "":
		text += ": " + r.Why
	}
	return join(text+".", Needs(r))
}

func join(a, b string) string { return strings.TrimSuffix(a+" "+b, " ") }

// doubts say why nothing can be told, each kind of reason once, and what it would take: a few trials more do not help
// where the trials scatter.
func (c *Comparison) doubts(list []Judged) string {
	var reasons []Reason // in the order of the worst of each
	of := map[Reason][]Judged{}
	for _, r := range list {
		if of[r.Reason] == nil {
			reasons = append(reasons, r.Reason)
		}
		of[r.Reason] = append(of[r.Reason], r)
	}
	var parts []string
	for i, reason := range reasons {
		text := c.doubt(of[reason]) + "."
		if i > 0 {
			text = format.Upper(text)
		}
		var results []*Result
		for _, r := range of[reason] {
			results = append(results, r.Result)
		}
		parts = append(parts, join(text, Needs(results...)))
	}
	return strings.Join(parts, " ")
}

// doubt returns one reason and the cells that have it: in the words of their case if that is the same for all of them.
func (c *Comparison) doubt(list []Judged) string {
	why := list[0].Why
	var names []string
	for _, r := range list {
		names = append(names, c.Cells[r.Cell].Label)
		if r.Why != why {
			why = list[0].Reason.About()
		}
	}
	if len(names) == len(c.Cells) {
		return why
	}
	return why + " (" + format.Few(names, named-1) + ")"
}

// within says in which cells a metric is worse, though its limit allows it.
func (c *Comparison) within(g Judgement) (lead, text string) {
	list := g.of(func(r Judged) bool { return r.Within() })
	if len(list) == 0 {
		return "", ""
	}
	lead, text = g.Metric.Name+" is worse within the limit", list[0].moved()+"."
	if !c.single() {
		lead, text = lead+" in "+partOf(len(list), len(c.Cells)), c.moves(list)
	}
	return lead + ":", text + " The limit is " + g.Threshold.Allowed() + "."
}

// Quiet reports whether there is nothing to say of a judged result.
func (r *Result) Quiet() bool { return r.Verdict.passed() && !r.Within() }

// unchanged returns what the rest is: nothing to worry about, and why that may be said. It may have changed all the same,
// by less than the limit or for the better, with no more than chance behind it as far as anybody can tell.
func (c *Comparison) unchanged(judged []Judgement) (lead, text string) {
	lead = "No loss beyond the limit:"
	var changes, values []string // judged by their change, and by the head's own value
	for _, g := range judged {
		n := number(g.Results, func(r Judged) bool { return r.Quiet() })
		if n == 0 {
			continue
		}
		name := g.Metric.Name
		if !c.single() {
			name += " in " + format.Plural(n, "cell")
		}
		if !g.Threshold.Relative {
			values = append(values, name)
			continue
		}
		changes = append(changes, name)
		if g.Threshold.Less != (g.Metric.Better == metric.Higher) || g.Metric.Better == metric.Neither {
			lead = "Nothing beyond the limit:"
		}
	}
	var parts []string
	if len(values) > 0 {
		parts = append(parts, format.Few(values, 2*named))
	}
	each := "ruled out with 95 % confidence"
	if len(changes) > 1 {
		each = "each " + each
	}
	if len(changes) > 0 {
		parts = append(parts, format.Few(changes, 2*named)+", "+each)
	} else {
		lead = "Nothing beyond the limit:"
	}
	if len(parts) == 0 {
		return "", ""
	}
	return lead, strings.Join(parts, "; ") + "."
}

// Needs says in a sentence how many trials would tell of inconclusive results of one metric, from the least that one of them
// takes to the most; empty if that can't be said.
func Needs(list ...*Result) string {
	list = slices.DeleteFunc(slices.Clone(list), func(r *Result) bool { return r.Threshold == nil })
	if len(list) == 0 {
		return ""
	}
	worst, least, same := list[0], math.MaxInt, true
	for _, r := range list {
		same = same && r.Threshold.Allowed() == worst.Threshold.Allowed()
		if r.Needed > worst.Needed {
			worst = r
		}
		if r.Needed > 0 {
			least = min(least, r.Needed)
		}
	}
	if worst.Verdict != Inconclusive || worst.Needed == 0 {
		return ""
	}
	what := "such changes"
	if same {
		what = worst.Threshold.Allowed()
	}
	const many = 1000 // more than anybody runs, and the estimate is no longer one
	if least > many {
		return fmt.Sprintf("To see %s would take more than %s a side: it scatters too much.", what, format.Plural(many, "trial"))
	}
	most := format.Plural(min(worst.Needed, many), "trial")
	if worst.Needed > many {
		most = "more than " + most
	}
	if least < worst.Needed {
		most = format.Count(least) + " to " + most
	}
	text := fmt.Sprintf("To see %s takes about %s a side", what, most)
	if worst.Guessed() {
		return text + fmt.Sprintf(", if not many more: fewer than %d show little of the scatter.", stats.MinTrials)
	}
	return text + "."
}
