// Package history follows the figures of each cell over revisions: what a cell gave at each of them, at which its level
// changed, and whether it creeps. Pairs of revisions hide what is slow: five losses of 2 % each pass every gate.
//
// What is compared are points, and a point is a revision measured at one time: the median of its trials. Trials of one run share
// what the machine was like in that hour, and with them every run would look like a step.
package history

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/stats"
	"github.com/lockbench/lockbench/results/view"
)

// Options say what to follow. The zero value follows the default figures through all records.
type Options struct {
	Figures []*metric.Metric // none: throughput, and p99 of the acquisition or, in an open loop, of the response
	Since   time.Time        // leaves out what began earlier; zero: nothing
}

// Alpha is how often one step or more is false in a history in which nothing happened, over all its lines together, and
// the same for drifts. It takes points that scatter independently of one another (see stats.Steps for how many are false
// where they don't).
const Alpha = 0.05

// History is what a Collector makes of its records.
type History struct {
	Series []*Series // the worst last change first; see Series.Loss

	Records    int // that are in the points
	Partial    int // that ended early, and were left out
	Violated   int // of these: those in which mutual exclusion was violated
	Duplicates int // that were there already, and were left out
	Earlier    int // that began before Options.Since
	Backwards  int // that began more than an hour before the record in front of them: they were put in their places

	Machines int              // different machines have series of their own
	Lines    int              // that had points enough to be looked at: Alpha holds for all of them together
	Unknown  []*metric.Metric // of those that were to be followed, by the Options or by default: those that no record knows
}

// Series is one cell on one machine in the course of time. A cell is a plan without its seed, its command and the name
// of its workload, and a kind of server; what else may change with time, such as versions, is in the points.
type Series struct {
	Sample *results.Record // what they have in common: plan, traits, and of the machine and the server what tells series apart
	Points []Point         // in order of time; at least one
	Lines  []Line          // one a figure that any trial knows

	Unknown []*metric.Metric // those that none of its trials knows
}

// Point is a revision measured at one time: trials of one run, or of runs that follow one another within an hour, as
// those of a script that interleaves two builds do. A revision that is measured again later is another point.
type Point struct {
	Revision   string // what was under test, in the user's words; else the build of lockbench
	Started    time.Time
	Trials     int
	Saturated  int   // of these: the figures are the generator's limit
	Violations int64 // of mutual exclusion, beyond those that were asked for

	conditions *conditions
	runs       map[string]bool
	end        time.Time // of its last trial
	trials     []trial
}

// Names returns what tells the cells apart, and what all of them have in common.
func (h *History) Names() (names []string, common string) {
	var cells []*results.Cell
	for _, s := range h.Series {
		cells = append(cells, &results.Cell{Trials: []*results.Record{s.Sample}})
	}
	names = view.Labels(cells)
	if len(cells) == 1 {
		p := cells[0].Plan()
		names[0] = format.Line(strings.Join([]string{p.Driver, p.Lock, view.Waits(p)}, " · "))
	}
	return names, view.InCommon(cells)
}

// Line is the course of one figure.
type Line struct {
	Figure *metric.Metric
	Values []stats.Estimate // one a point; a median of NaN where it is not known

	Steps   []Step      // in order of time
	Drift   stats.Trend // since the last step, or from the beginning
	P       float64     // of the drift, adjusted for all lines
	Drifts  bool        // it is significant
	Missing int         // points that it takes before steps can be told; 0: there are enough
}

// Step is a change of level.
type Step struct {
	At            int     // the first point of the new level
	Last          int     // the last one of the old that has a value: what changed did so in between
	Before, After float64 // the medians over the points of both levels
	Ratio         float64 // After / Before
	P             float64 // adjusted for all lines
	Also          []Change
}

// Change is something else that was not the same before and after a step, which may be its cause.
type Change struct{ What, Before, After string }

// Loss returns the share by which a step made the figure worse; negative if it is better. A figure without a direction
// loses by any change.
func (l *Line) Loss(ratio float64) float64 {
	switch l.Figure.Better {
	case metric.Higher:
		return 1 - ratio
	case metric.Lower:
		return ratio - 1
	}
	return max(ratio-1, 1-ratio)
}

// Latest returns the index of the last point that knows the figure; -1 if none does.
func (l *Line) Latest() int {
	for i := len(l.Values) - 1; i >= 0; i-- {
		if l.Values[i].N > 0 {
			return i
		}
	}
	return -1
}

// LastStep returns the latest one, or nil.
func (l *Line) LastStep() *Step {
	if len(l.Steps) == 0 {
		return nil
	}
	return &l.Steps[len(l.Steps)-1]
}

// Drifted is by what ratio a drift has moved the figure since it began.
func (l *Line) Drifted() float64 {
	from := 0
	if s := l.LastStep(); s != nil {
		from = s.At
	}
	first := slices.IndexFunc(l.Values[from:], func(v stats.Estimate) bool { return v.N > 0 })
	return math.Pow(l.Drift.Growth, float64(l.Latest()-from-first)) // points that do not know the figure keep their places
}

// Loss returns the share that the worst of the lines has lost by its last step or its drift; 0 or less if none has.
func (s *Series) Loss() float64 {
	worst := 0.0
	for i := range s.Lines {
		l := &s.Lines[i]
		if step := l.LastStep(); step != nil {
			worst = max(worst, l.Loss(step.Ratio))
		}
		if l.Drifts {
			worst = max(worst, l.Loss(l.Drifted()))
		}
	}
	return worst
}
