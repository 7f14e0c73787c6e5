// Package compare tells what has changed from one set of records to another: cell by cell, figure by figure, with an
// answer that may also be that nothing can be told. A trial is an observation; nothing here looks into one.
package compare

import (
	"errors"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/figure"
	"github.com/lockbench/lockbench/results/stats"
)

// Verdict is what can be said of a figure, and in the worst case of all of them.
type Verdict string

const (
	Unchanged    Verdict = "no change"    // a change as large as the threshold is ruled out, or there is no threshold and nothing was seen
	Improved     Verdict = "improved"     // significantly, and by the minimum effect at least
	Regressed    Verdict = "regressed"    // a threshold is missed
	Inconclusive Verdict = "inconclusive" // neither can be told: too few trials, too much scatter, or machines that are not alike
)

// Verdicts are all of them, the worst first.
var Verdicts = []Verdict{Regressed, Inconclusive, Improved, Unchanged}

// What Options mean if they do not say.
const (
	DefaultAlpha     = 0.05
	DefaultMinEffect = 0.02

	// DefaultThresholds hold for closed loops. In an open loop the response takes the place of the acquisition, which
	// leaves out what an arrival has waited for a client.
	DefaultThresholds = "locks/s<-5%,acquire.p99>+10%,violations>0"
)

// Power is how likely a change as large as a threshold shall be seen with the trials that Needed asks for.
const Power = 0.8

// Options say how to compare. The zero value compares the default figures against the default thresholds.
type Options struct {
	Thresholds []Threshold     // what must not happen; none: DefaultThresholds
	Figures    []figure.Figure // shown beside those of the thresholds, and judged by none; none: the default ones
	Alpha      float64         // how often one alarm or more may be false in the whole comparison (Holm); 0: DefaultAlpha
	MinEffect  float64         // share by which a figure must have changed before it counts as improved; 0: DefaultMinEffect
	Ignore     []string        // fields of the plan, by their flags, in which cells that belong together may differ; see Ignorable
	Force      bool            // judge in spite of unlike machines and kinds of server
}

// Input is one side of a comparison as it was read.
type Input struct {
	Name  string          // a file, or what is special about the side
	Cells []*results.Cell // of results.Collector; several may have the same plan, on different machines say
}

// Comparison is what Compare found. It is a value that every format renders, and that JSON carries.
type Comparison struct {
	Base, Head Side
	Cells      []Cell
	Missing    []string // cells of the base that the head does not have, by what tells them from the others
	Added      []string // cells of the head that the base does not have
	Notes      []string // what a reader must know before he believes it: unlike environments, partial records, duplicates
	Alpha      float64
	Tests      int // figures that were tested against relative thresholds, for which Holm's correction was made
	Verdict    Verdict
}

// Side is one of the two sets of records.
type Side struct {
	Name       string   // a file, or what the flags of the side were
	Trials     int      // that were compared
	Partial    int      // records that ended early, and were left out
	Duplicates int      // records that were there already
	Revisions  []string // what was under test, in the user's words; else the builds of lockbench
}

// Cell is one plan on both sides.
type Cell struct {
	Label      string // what tells it from the other cells; empty if there is only one
	Base, Head []*results.Record
	Notes      []string // what holds for this cell alone
	Figures    []Result // those of the thresholds first
	Verdict    Verdict
}

// Result is one figure of one cell.
type Result struct {
	Figure    figure.Figure
	Threshold *Threshold // that it was judged by; nil: it is shown only
	Change    stats.Change
	P         float64 // adjusted by Holm's method over all Tests; NaN if it was not tested
	Verdict   Verdict // empty without a threshold
	Why       string  // in words: of Regressed and Inconclusive, and of Unchanged if it is worse within the threshold
	Needed    int     // of Inconclusive: trials a side that would tell, at 80 % power; 0 if that can't be said
}

// Compare matches the cells of both sides and judges what became of their figures.
//
// Cells belong together if their plans agree in all but the seed, the command line, the workload's name and what Ignore
// names, and if they ran on the same kind of server; or, where the records of both sides are those of runs that compared
// two configurations (results.Record.Side), by their place in those runs. The error says what is wrong with the Options,
// or, if no cell has a partner, in what the nearest two differ.
func Compare(base, head Input, o Options) (*Comparison, error) {
	return nil, errors.New("compare: not yet")
}
