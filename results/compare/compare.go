// Package compare tells what has changed from one set of records to another: cell by cell, figure by figure, with an
// answer that may also be that nothing can be told. A trial is an observation; nothing here looks into one.
//
// Cells are matched by their plans (match), and how the sides differ besides is noted (facts). Each figure is
// estimated and tested (package stats), all tests are corrected for their number, and each gets a verdict (judge),
// and if that is that nothing can be told the reason (reason). Check judges a run that has no base.
package compare

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/stats"
	"github.com/lockbench/lockbench/results/view"
)

// Verdict is what can be said of a figure, and in the worst case of all of them.
type Verdict string

const (
	Violated     Verdict = "violated"     // exclusion, by a design that claims it; of a Check
	Missed       Verdict = "missed"       // a threshold of a Check
	Regressed    Verdict = "regressed"    // a threshold is missed
	Inconclusive Verdict = "inconclusive" // neither can be told; see Reason
	Improved     Verdict = "improved"     // significantly, and by the minimum effect at least
	NotWorse     Verdict = "not worse"    // a change as large as the threshold is ruled out, for the worse alone
	Unchanged    Verdict = "no change"    // for the better too; or an amount is within its threshold
	Passed       Verdict = "passed"       // a threshold of a Check
)

// Verdicts are those of a comparison, the worst first.
var Verdicts = []Verdict{Regressed, Inconclusive, Improved, NotWorse, Unchanged}

// ranks are all verdicts, the worst first, and none.
var ranks = slices.Concat([]Verdict{Violated, Missed}, Verdicts, []Verdict{Passed, ""})

func rank(v Verdict) int { return slices.Index(ranks, v) }

// worse returns the worse of two verdicts; one that is empty is better than any.
func worse(a, b Verdict) Verdict {
	if rank(b) < rank(a) {
		return b
	}
	return a
}

const (
	alpha     = 0.05 // how often one alarm or more may be false in a whole comparison (Holm)
	minEffect = 0.02 // share by which a figure must have changed before it counts as improved

	// Trials is how many of each side it takes for two figures of one cell: with fewer than 7 pairs, or than 5 trials that
	// took no turns, no p is below 2.5 %. More cells take a few more.
	Trials = 7
)

// Options say how to compare. The zero value compares against the default thresholds.
type Options struct {
	Thresholds []Threshold // what must not happen; none: DefaultThresholds
	Force      bool        // in spite of unlike sides, of what servers did, of missing cells, and of a saturated base
	Subset     bool        // the head is meant to have some cells of the base only
}

// Tests reports whether a change is tested.
func (o Options) Tests() bool {
	return o.Thresholds == nil || slices.ContainsFunc(o.Thresholds, func(t Threshold) bool { return t.Relative })
}

// Input is one side of a comparison as it was read.
type Input struct {
	Name  string          // a file, or what is special about the side
	Cells []*results.Cell // of results.Collector; several may have the same plan, on different machines say
}

// Comparison is what Compare found. It is a value that every format renders, and that JSON carries.
type Comparison struct {
	Alpha   float64  `json:"alpha"`  // how often a comparison may report a regression if nothing has changed
	Tests   int      `json:"tests"`  // figures tested against relative thresholds, which Holm's method corrects for
	Paired  bool     `json:"paired"` // the trials of both sides took turns in one run, and were compared pair by pair
	Base    Side     `json:"base"`
	Head    Side     `json:"head"`
	Notes   []string `json:"notes"`                    // what to know before: "saturated: 2 of 10 trials of the base"
	Missing []string `json:"missing"`                  // labels of cells of the base that the head does not have
	Added   []string `json:"added"`                    // labels of cells of the head that the base does not have
	Broken  int      `json:"added_violated,omitempty"` // cells of Added whose locks broke the exclusion that they claim
	Cells   []Cell   `json:"-"`
	Verdict Verdict  `json:"-"` // the worst of all
	Lacking bool     `json:"-"` // Missing makes the whole inconclusive: see Options.Subset and Force
}

// Side is one of the two sets of records.
type Side struct {
	Name       string   `json:"name"`       // a file, or what the flags of the side were
	Trials     int      `json:"trials"`     // that were compared
	Partial    int      `json:"partial"`    // records that ended early, and were left out
	Duplicates int      `json:"duplicates"` // records that were there already
	Revisions  []string `json:"revisions"`  // what was under test; else the builds of lockbench
}

// Cell is one plan on both sides.
type Cell struct {
	Label      string            `json:"label"` // what tells it from the other cells; empty if there is only one
	Verdict    Verdict           `json:"verdict"`
	Command    string            `json:"command,omitempty"` // that makes the head again; empty: it is not known
	Notes      []string          `json:"notes"`             // what holds for this cell alone
	Base, Head []*results.Record `json:"-"`                 // those that were compared
	Machines   []string          `json:"-"`                 // what makes two machines of the sides
	Figures    []Result          `json:"-"`                 // those of the thresholds first
}

// note adds what holds for the cell, once.
func (c *Cell) note(text string) {
	if !slices.Contains(c.Notes, text) {
		c.Notes = append(c.Notes, text)
	}
}

// Result is one figure of one cell, or what became of a threshold there.
type Result struct {
	Place     int            `json:"-"`                       // of its cell, in lists of several
	Figure    *metric.Metric `json:"-"`                       // nil: mutual exclusion
	Change    stats.Change   `json:"-"`                       // of a Check the head alone
	P         float64        `json:"-"`                       // adjusted by Holm's method; NaN if it was not tested
	Value     float64        `json:"-"`                       // that an absolute threshold judges; NaN: not measured
	Threshold *Threshold     `json:"threshold,omitempty"`     // that it was judged by; nil: it is shown only
	Verdict   Verdict        `json:"verdict,omitempty"`       // empty without a threshold
	Reason    Reason         `json:"reason,omitempty"`        // of Inconclusive, else empty
	Why       string         `json:"why,omitempty"`           // in words; empty of what passed, unless it is worse
	Needed    int            `json:"needed_trials,omitempty"` // a side, that would tell at 80 % power; 0: not known
}

// Compare matches the cells of both sides and judges what became of their figures.
//
// Cells belong together if their plans agree in all but the seed, the command line and the workload's name, and if
// they ran on the same kind of server; or, in runs that compared two configurations (results.Record.Side), by their
// place in those runs. There trials took turns, and are compared pair by pair (stats.ComparePairs); else each side is
// taken as a whole (stats.Compare). A trial that ended early, or whose server was replaced or evicted keys, is no
// observation: it is left out with its partner, and decides nothing unless most trials of a side are so. A cell that
// only the base has makes the whole inconclusive, as a head that fails to run it would pass otherwise; one that only
// the head has is not judged, but for violations. If no cell has a partner, the error says in what the nearest two
// differ.
//
// What alpha promises: if nothing has become of any figure from base to head, the whole comparison reports a
// regression against its relative thresholds with probability alpha at the most, however many cells and thresholds
// there are. It promises nothing of absolute thresholds, which are not tested; of trials that are not observations of
// one thing, such as those of a base from last night on a machine that is busier today; or to those who compare again
// until the answer suits them.
func Compare(base, head Input, o Options) (*Comparison, error) {
	sides := [2]side{read("base", base), read("head", head)}
	pairs, paired, err := match(sides, o)
	if err != nil {
		return nil, fmt.Errorf("compare: %w", err)
	}
	c := &Comparison{Base: sides[0].Side, Head: sides[1].Side, Alpha: alpha, Paired: paired, Verdict: Unchanged}
	var drafts []*draft
	for i, label := range labelsOf(pairs) {
		switch p := pairs[i]; {
		case p[1] == nil:
			c.Missing = append(c.Missing, label)
		case p[0] == nil:
			c.add(label, p[1], o)
		default:
			drafts = append(drafts, newDraft(label, p, paired, o))
		}
	}
	made, wanted := test(drafts)
	c.Tests = made
	for _, d := range drafts {
		d.judge(made, wanted)
		c.Base.Trials += len(d.Base)
		c.Head.Trials += len(d.Head)
		c.Cells = append(c.Cells, d.Cell)
		c.Verdict = worse(c.Verdict, d.Verdict)
	}
	if c.Lacking = len(c.Missing) > 0 && !o.Subset && !o.Force; c.Lacking {
		c.Verdict = worse(c.Verdict, Inconclusive)
	}
	c.hoistNotes()
	if o.Force && slices.ContainsFunc(drafts, func(d *draft) bool { return len(d.Machines) > 0 }) {
		c.Notes = append(c.Notes, "forced: the machines are unlike, and a change may be theirs")
	}
	for _, s := range sides {
		if s.Duplicates > 0 {
			c.Notes = append(c.Notes, "duplicates: "+format.Plural(s.Duplicates, "record")+" of the "+s.of+" left out")
		}
	}
	return c, nil
}

// add takes in a cell that only the head has, which can do no more than to violate.
func (c *Comparison) add(label string, head *group, o Options) {
	c.Added = append(c.Added, label)
	violated := number(head.all, (*results.Record).Violated)
	if violated == 0 {
		return
	}
	c.Notes = append(c.Notes, "violated: "+shareOf(violated, len(head.all))+" of "+label+", which only the head has")
	judged := o.Thresholds == nil ||
		slices.ContainsFunc(o.Thresholds, func(t Threshold) bool { return t.Figure.Name == "violations" })
	if judged && slices.ContainsFunc(head.witnesses(), (*results.Record).Violated) {
		c.Broken++
		c.Verdict = Regressed
	}
}

// labelsOf names pairs by that in which they differ. A plan is that of the base, where there is one.
func labelsOf(pairs []pair) []string {
	var cells []*results.Cell
	for _, p := range pairs {
		first := cmp.Or(p[0], p[1])
		cells = append(cells, &results.Cell{Trials: slices.Concat(first.whole, first.all)[:1]})
	}
	if len(cells) < 2 {
		return make([]string, len(cells))
	}
	return view.Names(cells, "side", "revision")
}

// hoistNotes makes the notes that hold for every cell notes on the whole.
func (c *Comparison) hoistNotes() {
	if len(c.Cells) == 0 {
		return
	}
	everywhere := slices.DeleteFunc(slices.Clone(c.Cells[0].Notes), func(note string) bool {
		return slices.ContainsFunc(c.Cells, func(cell Cell) bool { return !slices.Contains(cell.Notes, note) })
	})
	said := func(note string) bool { return slices.Contains(everywhere, note) }
	for i := range c.Cells {
		c.Cells[i].Notes = slices.DeleteFunc(c.Cells[i].Notes, said)
	}
	c.Notes = append(c.Notes, everywhere...)
}

// Violated reports whether locks of the head broke the exclusion that they claim, by more than those of the base, and
// that is judged.
func (c *Comparison) Violated() bool {
	worse := func(r Result) bool { return r.Figure.Name == "violations" && r.Verdict == Regressed }
	return c.Broken > 0 || slices.ContainsFunc(c.Results(), worse)
}

// Results returns those of all cells.
func (c *Comparison) Results() (list []Result) {
	for i, cell := range c.Cells {
		for _, r := range cell.Figures {
			r.Place = i
			list = append(list, r)
		}
	}
	return list
}

// Judged returns all judged results, the worst first.
func (c *Comparison) Judged() []Result {
	list := slices.DeleteFunc(c.Results(), func(r Result) bool { return r.Threshold == nil })
	slices.SortStableFunc(list, worst)
	return list
}

// Within reports whether a figure is worse, significantly, though its threshold allows that.
func (r *Result) Within() bool { return r.passed() && r.Why != "" }

// passed reports whether nothing is worse than the threshold allows, and no more can be said.
func (r *Result) passed() bool { return r.Verdict == Unchanged || r.Verdict == NotWorse }

// Reasons returns those for which anything in c is inconclusive, what no number of trials would mend first.
func (c *Comparison) Reasons() []Reason {
	return reasonsOf(c.Results(), []Reason{Missing}[:map[bool]int{true: 1}[c.Lacking]]...)
}

// number counts those of a list that are so.
func number[T any](of []T, is func(T) bool) (n int) {
	for _, one := range of {
		if is(one) {
			n++
		}
	}
	return n
}
