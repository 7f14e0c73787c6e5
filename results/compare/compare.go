// Package compare tells what has changed from one set of records to another: cell by cell, figure by figure, with an
// answer that may also be that nothing can be told. A trial is an observation; nothing here looks into one.
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
	Unchanged    Verdict = "no change"    // a change as large as the threshold is ruled out, for the worse and for the better; or an amount is within its threshold
	NotWorse     Verdict = "not worse"    // for the worse alone
	Improved     Verdict = "improved"     // significantly, and by the minimum effect at least
	Regressed    Verdict = "regressed"    // a threshold is missed
	Inconclusive Verdict = "inconclusive" // neither can be told: too few trials, too much scatter, or machines that are not alike
)

// passed reports whether v says that nothing is worse than a threshold allows, and no more.
func (v Verdict) passed() bool { return v == Unchanged || v == NotWorse }

// Verdicts are all of them, the worst first.
var Verdicts = []Verdict{Regressed, Inconclusive, Improved, NotWorse, Unchanged}

const (
	alpha     = 0.05 // how often one alarm or more may be false in a whole comparison (Holm)
	minEffect = 0.02 // share by which a figure must have changed before it counts as improved

	// DefaultThresholds hold for closed loops if Options name none. In an open loop the response takes the place of the acquisition, which
	// leaves out what an arrival has waited for a client.
	DefaultThresholds = "locks/s<-5%,acquire.p99>+10%,violations>0"
)

// Power is how likely a change as large as a threshold shall be seen with the trials that Needed asks for.
const Power = 0.8

// Options say how to compare. The zero value compares against the default thresholds.
type Options struct {
	Thresholds []Threshold // what must not happen; none: DefaultThresholds
	Force      bool        // judge in spite of unlike sides (see match), of cells that the head lacks, and of a saturated base
	Subset     bool        // the head is meant to have some cells of the base only
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
	Base, Head []*results.Record `json:"-"`
	Figures    []Result          `json:"-"` // those of the thresholds first

	head []*results.Record // those that ended early included
}

// Result is one figure of one cell.
type Result struct {
	Figure    *metric.Metric `json:"-"`
	Change    stats.Change   `json:"-"`
	P         float64        `json:"-"`                       // adjusted by Holm's method; NaN if it was not tested
	Threshold *Threshold     `json:"threshold,omitempty"`     // that it was judged by; nil: it is shown only
	Verdict   Verdict        `json:"verdict,omitempty"`       // empty without a threshold
	Reason    Reason         `json:"reason,omitempty"`        // of Inconclusive, else empty
	Why       string         `json:"why,omitempty"`           // in words; empty of what passed, unless it is worse
	Needed    int            `json:"needed_trials,omitempty"` // a side, that would tell at 80 % power; 0: not known

	least float64 // the least P that so many trials can have, if all other tests have their least; NaN if it was not tested
}

// Violated reports whether locks of the head broke the exclusion that they claim, by more than those of the base, and
// that is judged.
func (c *Comparison) Violated() bool {
	worse := func(r Result) bool { return r.Figure.Name == "violations" && r.Verdict == Regressed }
	return c.Broken > 0 || slices.ContainsFunc(c.Cells, func(cell Cell) bool { return slices.ContainsFunc(cell.Figures, worse) })
}

// Compare matches the cells of both sides and judges what became of their figures.
//
// Cells belong together if their plans agree in all but the seed, the command line and the workload's name, and if they ran
// on the same kind of server; or, in runs that compared two configurations (results.Record.Side), by their place in those
// runs. There trials took turns, and are compared pair by pair (stats.ComparePairs); else each side is taken as a whole
// (stats.Compare). A cell that only the base has makes the whole inconclusive, as a head that fails to run it would pass
// otherwise; one that only the head has is not judged, but for violations. If no cell has a partner, the error says in what
// the nearest two differ.
//
// What alpha promises: if nothing has become of any figure from base to head, the whole comparison reports a regression
// against its relative thresholds with probability alpha at the most, however many cells and thresholds there are. It promises
// nothing of absolute thresholds, which are not tested; of trials that are not observations of one thing, such as those of a
// base from last night on a machine that is busier today; or to those who compare again until the answer suits them.
func Compare(base, head Input, o Options) (*Comparison, error) {
	b, h := read(base), read(head)
	if err := shared(b, h); err != nil {
		return nil, fmt.Errorf("compare: %w", err)
	}
	pairs, err := match(b, h, o)
	if err != nil {
		return nil, fmt.Errorf("compare: %w", err)
	}
	c := &Comparison{Base: b.side(), Head: h.side(), Alpha: alpha, Verdict: Unchanged}
	c.fill(pairs, o)
	return c, nil
}

// judgesViolations reports whether one of the thresholds is about violations.
func (o *Options) judgesViolations() bool {
	return len(o.Thresholds) == 0 || slices.ContainsFunc(o.Thresholds, func(t Threshold) bool { return t.Figure.Name == "violations" })
}

// side returns what is to be said of a side as a whole.
func (s side) side() Side {
	partial := func(r *results.Record) bool { return r.Partial != "" }
	return Side{Name: s.name, Partial: number(s.records, partial), Duplicates: s.duplicates, Revisions: Revisions(s.records)}
}

// fill makes the cells of the pairs and judges them.
func (c *Comparison) fill(pairs []cellPair, o Options) {
	labels := names(pairs)
	var drafts []*draft
	for i, p := range pairs {
		switch {
		case p.head == nil:
			c.Missing = append(c.Missing, labels[i])
			continue
		case p.base == nil:
			c.Added = append(c.Added, labels[i])
			if n := number(p.head.all(), (*results.Record).Violated); n > 0 {
				c.Notes = append(c.Notes, fmt.Sprintf("violated: %d of %s of %s, which only the head has",
					n, format.Plural(len(p.head.all()), "trial"), labels[i]))
				if o.judgesViolations() && o.disturbed(p.head) == "" {
					c.Broken++
					c.Verdict = Regressed
				}
			}
			continue
		}
		c.Paired = p.paired
		d := &draft{cellPair: p, cell: &Cell{Label: labels[i], Base: p.base.whole, Head: p.head.whole, head: p.head.all()}}
		if len(p.head.whole) > 0 {
			d.cell.Command = p.head.whole[0].Plan.Command
		}
		c.Base.Trials += len(p.base.whole)
		c.Head.Trials += len(p.head.whole)
		var notes []string
		notes, d.machines = unlike(p.base.whole, p.head.whole)
		d.cell.Notes = slices.Concat(asked(p), notes, doubts(p))
		d.align()
		if len(d.machines) == 0 {
			d.cell.Notes = append(d.cell.Notes, inTurn(p.base.whole, p.head.whole)...)
		}
		d.fill(o)
		drafts = append(drafts, d)
	}
	t := test(drafts, o)
	c.Tests = t.made
	for _, d := range drafts {
		d.judge(o, t)
		c.Cells = append(c.Cells, *d.cell)
		c.Verdict = worse(c.Verdict, d.cell.Verdict)
	}
	if c.Lacking = len(c.Missing) > 0 && !o.Subset && !o.Force; c.Lacking {
		c.Verdict = worse(c.Verdict, Inconclusive)
	}
	c.hoistNotes()
	c.remark(drafts, o)
}

// align puts the trials of both sides next to those that took turns with them, with nil where there is none. What has no
// partner, since that one ended early or is missing, is said.
func (d *draft) align() {
	d.trials = [2][]*results.Record{d.cell.Base, d.cell.Head}
	if !d.paired {
		return
	}
	at, lone := map[slot]int{}, [2]int{}
	d.trials = [2][]*results.Record{slices.Clone(d.cell.Base), make([]*results.Record, len(d.cell.Base))}
	for i, r := range d.cell.Base {
		at[slotOf(r)] = i
	}
	for _, r := range d.cell.Head {
		if i, ok := at[slotOf(r)]; ok && d.trials[1][i] == nil {
			d.trials[1][i] = r
			continue
		}
		d.trials[0], d.trials[1] = append(d.trials[0], nil), append(d.trials[1], r)
		lone[1]++
	}
	lone[0] = number(d.trials[1], func(r *results.Record) bool { return r == nil })
	for i, side := range []string{"base", "head"} {
		if lone[i] > 0 {
			d.cell.Notes = append(d.cell.Notes, fmt.Sprintf("unpaired: %s of the %s left out", format.Plural(lone[i], "trial"), side))
		}
	}
}

// names labels pairs by that in which they differ. A plan is that of the base, where there is one.
func names(pairs []cellPair) []string {
	var cells []*results.Cell
	for _, p := range pairs {
		cells = append(cells, &results.Cell{Trials: []*results.Record{cmp.Or(p.base, p.head).first()}})
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
	for i := range c.Cells {
		c.Cells[i].Notes = slices.DeleteFunc(c.Cells[i].Notes, func(note string) bool { return slices.Contains(everywhere, note) })
	}
	c.Notes = append(c.Notes, everywhere...)
}

// remark says what else a reader must know of the whole.
func (c *Comparison) remark(drafts []*draft, o Options) {
	say := func(format string, args ...any) { c.Notes = append(c.Notes, fmt.Sprintf(format, args...)) }
	if o.Force && slices.ContainsFunc(drafts, func(d *draft) bool { return len(d.machines) > 0 }) {
		say("forced: the machines are unlike, and a change may be theirs")
	}
	for _, s := range []struct {
		name string
		Side
	}{{"base", c.Base}, {"head", c.Head}} {
		if s.Duplicates > 0 {
			say("duplicates: %s of the %s left out", format.Plural(s.Duplicates, "record"), s.name)
		}
	}
}
