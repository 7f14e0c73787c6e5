package compare

// A cell while it is judged: its trials, what is asked of them, and whether that can be answered at all.

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/results/stats"
)

// besides are the figures that are shown beside the judged ones, where they are known.
var besides = []string{"acquire.p50", "handoff.p50", "jain", "server-cpu/lock", "client-cpu/lock"}

// breaches are the figures that say nothing against a design which does not claim mutual exclusion: results.Safety.Breaches
// and what it is made of.
var breaches = []string{"violations", "lost-updates", "lost-early", "fence-regress"}

// draft is a cell while it is judged.
type draft struct {
	cellPair
	cell     *Cell
	trials   [2][]*results.Record // of base and head, those of a pair at the same place if they are paired, and nil for a missing one
	results  []Result
	machines []string // what makes two machines of its sides
}

// values returns those of a figure in the whole trials, NaN where there is none.
func (d *draft) values(f *metric.Metric) (base, head []float64) {
	of := func(trials []*results.Record) []float64 {
		values := make([]float64, len(trials))
		for i, r := range trials {
			if values[i] = math.NaN(); r != nil {
				values[i] = f.Of(r.Figures())
			}
		}
		return values
	}
	return of(d.trials[0]), of(d.trials[1])
}

// change returns what became of a figure.
func (d *draft) change(f *metric.Metric) stats.Change {
	if d.paired {
		return stats.ComparePairs(d.values(f))
	}
	return stats.Compare(d.values(f))
}

// least returns the smallest p that the trials of a change can have.
func (d *draft) least(c stats.Change) float64 {
	if d.paired {
		return stats.MinPairsP(c.Pairs)
	}
	return stats.MinP(c.Base.N, c.Head.N)
}

// need returns how many trials a side, or pairs of them, would tell at an alpha, and how many it takes for any difference.
func (d *draft) need(r *Result, alpha float64) (trials, least int) {
	base, head := d.values(r.Figure)
	if d.paired {
		return stats.PairsNeeded(base, head, r.Threshold.Value, alpha, Power), stats.MinPairs(alpha)
	}
	return stats.TrialsNeeded(base, head, r.Threshold.Value, alpha, Power), stats.LeastTrials(alpha)
}

// known reports whether any trial of either side knows the figure.
func (d *draft) known(f *metric.Metric) bool {
	base, head := d.values(f)
	return slices.ContainsFunc(slices.Concat(base, head), func(v float64) bool { return !math.IsNaN(v) })
}

// open reports whether the cell is an open loop, for a part of the clients at least.
func (d *draft) open() bool {
	is := func(b *group) bool {
		return slices.ContainsFunc(b.first().Plan.Groups(), func(g spec.Class) bool { return g.Open() })
	}
	return is(d.base) || is(d.head)
}

// thresholds returns those that the cell is judged by: all that somebody has asked for, and of the default ones those that it can
// have; what is left out is said.
func (d *draft) thresholds(o Options) []Threshold {
	if len(o.Thresholds) > 0 {
		return o.Thresholds
	}
	text := DefaultThresholds
	if d.open() {
		text = strings.ReplaceAll(text, string(results.Acquire)+".", string(results.Response)+".")
	}
	list, err := ParseThresholds(text)
	if err != nil {
		panic(err) // a constant
	}
	return slices.DeleteFunc(list, func(t Threshold) bool {
		if d.known(t.Figure) || t.Figure.Name == "locks/s" {
			return false
		}
		why := "too few values in a trial (-duration)"
		if t.Figure.Name == "violations" {
			why = "the oracle was off"
		}
		d.cell.Notes = append(d.cell.Notes, fmt.Sprintf("%s: not judged, %s", t.Figure.Name, why))
		return true
	})
}

// fill makes the results of a cell, the judged ones first, without their verdicts. What breaks mutual exclusion is shown
// only if the head does not claim it, as no promise was broken.
func (d *draft) fill(o Options) {
	claimed := slices.ContainsFunc(d.head.all(), func(r *results.Record) bool { return r.Traits.Exclusive })
	var shown []*metric.Metric
	for _, t := range d.thresholds(o) {
		if claimed || !slices.Contains(breaches, t.Figure.Name) {
			d.add(Result{Figure: t.Figure, Threshold: &t})
			continue
		}
		shown = append(shown, t.Figure)
		d.note(t.Figure.Name + ": not judged, the head does not claim mutual exclusion")
	}
	for _, name := range besides {
		if f, ok := metric.Named(name); ok && d.known(f) {
			shown = append(shown, f)
		}
	}
	for _, f := range shown {
		if !slices.ContainsFunc(d.results, func(r Result) bool { return r.Figure.Name == f.Name }) {
			d.add(Result{Figure: f})
		}
	}
}

func (d *draft) add(r Result) {
	r.P, r.least = math.NaN(), math.NaN()
	r.Change = d.change(r.Figure)
	d.results = append(d.results, r)
	if r.Threshold == nil {
		return
	}
	for _, side := range []struct {
		name      string
		know, all int
	}{{"base", r.Change.Base.N, len(d.cell.Base)}, {"head", r.Change.Head.N, len(d.cell.Head)}} {
		if 0 < side.know && side.know < side.all {
			d.note(fmt.Sprintf("%s: known of %d of %s of the %s", r.Figure.Name, side.know, format.Plural(side.all, "trial"), side.name))
		}
	}
}

// note adds what holds for the cell, once.
func (d *draft) note(text string) {
	if !slices.Contains(d.cell.Notes, text) {
		d.cell.Notes = append(d.cell.Notes, text)
	}
}

// comparable returns why a change of the figure can't be judged at all; empty if it can.
func (d *draft) comparable(r *Result, force bool) (reason Reason, why string) {
	base, head := len(d.cell.Base), len(d.cell.Head)
	switch {
	case base == 0:
		return NoTrials, "the base has no whole trial"
	case head == 0:
		return NoTrials, "the head has no whole trial"
	case !force && len(d.base.partial) > base:
		return NoTrials, fmt.Sprintf("%d of %s of the base ended early, and those that did not may be the lucky ones", len(d.base.partial), format.Plural(base+len(d.base.partial), "trial"))
	case !force && len(d.head.partial) > head:
		return NoTrials, fmt.Sprintf("%d of %s of the head ended early, and those that did not may be the lucky ones", len(d.head.partial), format.Plural(head+len(d.head.partial), "trial"))
	case r.Change.Base.N == 0 && r.Change.Head.N == 0:
		return Unmeasured, unknown("neither side knows it", r.Figure)
	case r.Change.Base.N == 0:
		return Unmeasured, unknown("the base does not know it", r.Figure)
	case r.Change.Head.N == 0:
		return Unmeasured, unknown("the head does not know it", r.Figure)
	case !force && 2*r.Change.Base.N <= base:
		return Unmeasured, partly("base", r.Change.Base.N, base)
	case !force && 2*r.Change.Head.N <= head:
		return Unmeasured, partly("head", r.Change.Head.N, head)
	case d.paired && r.Change.Pairs == 0:
		return NoTrials, "no trial of the base has a partner in the head"
	case d.paired && !force && 2*r.Change.Pairs <= min(base, head):
		return NoTrials, fmt.Sprintf("only %s, of %s of the base and %d of the head, which may be the lucky ones",
			trials(r.Change), format.Plural(base, "trial"), head)
	case len(d.machines) > 0 && !force:
		return Unlike, "the sides ran on unlike machines (" + strings.Join(d.machines, ", ") + ")"
	}
	return "", ""
}

// partly returns why a figure is not judged by the few trials that know it: those without a quantile are those that got next
// to nothing.
func partly(side string, know, all int) string {
	return fmt.Sprintf("the %s knows it of %d of %s only, which may be the lucky ones", side, know, format.Plural(all, "trial"))
}
