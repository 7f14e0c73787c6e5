package render

// The figures that a table has as columns.

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/figure"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/results/stats"
)

// unit says how a figure is written; the value itself is always in the base unit.
type unit figure.Unit

const (
	perSecond = unit(figure.PerSecond)
	duration  = unit(figure.Duration)
	ratio     = unit(figure.Ratio)
	share     = unit(figure.Share)
	perLock   = unit(figure.PerLock)
	micros    = unit(figure.Micros)
	whole     = unit(figure.Count)
	memory    = unit(figure.Bytes)
)

// Value writes a value as the tables do: three significant digits in the unit that suits it, and – for NaN.
func Value(u figure.Unit, v float64) string { return unit(u).format(v) }

func (u unit) format(v float64) string {
	switch {
	case math.IsNaN(v):
		return format.None
	case u == duration:
		return format.Duration(time.Duration(v))
	case u == whole:
		return format.Count(int64(v))
	case u == share:
		return format.Percent(v)
	case u == ratio:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case u == micros:
		return format.Three(v) + " µs"
	case u == memory:
		return format.Three(v/(1<<20)) + " MB" // as the detail of a cell has it
	}
	return format.Three(v)
}

// column is one figure of a cell.
type column struct {
	group, title string
	unit         unit
	// drop tells in which order columns go when a table is too wide: the highest first, 0 never.
	drop  int
	value func(c *results.Cell) float64      // NaN if it is not known
	only  func(c *results.Cell) bool         // nil, or: shown if it holds for any cell
	class func(k *results.ClassCell) float64 // the same of a class; nil: classes do not have it
	text  func(c *results.Cell) string       // nil, or: how the value is written

	interval bool // of a figure that has a column of its own
}

func (c column) head() string { return c.group + "\n" + c.title }

func (c column) format(cell *results.Cell) string {
	if c.text != nil {
		return c.text(cell)
	}
	return c.unit.format(c.value(cell))
}

func (c column) formatClass(k *results.ClassCell) string {
	if c.class == nil {
		return ""
	}
	return c.unit.format(c.class(k))
}

// columns are all figures, in their order on the page. What goes first are the intervals of all but the throughput, then
// what a lock costs, then the maxima, which say least of all quantiles; then what happens to some of the clients, the
// share of the estimated bound, the hand-off and the spread of the trials. What stays to the end is how fast the lock is,
// how long a client waits, and whether it is one at all.
var columns = slices.Concat([]column{
	{title: "locks/s", unit: perSecond, value: func(c *results.Cell) float64 { return c.Rate.Median },
		class: func(k *results.ClassCell) float64 { return k.Rate.Median }},
	{group: "locks/s", title: "low", unit: perSecond, drop: 5, value: low((*results.Record).Throughput), only: manyTrials},
	{group: "locks/s", title: "high", unit: perSecond, drop: 6, value: high((*results.Record).Throughput), only: manyTrials},
	{group: "locks/s", title: "min", unit: perSecond, drop: 8,
		value: ifFew(func(c *results.Cell) float64 { return c.Rate.Min }), only: fewTrials},
	{group: "locks/s", title: "max", unit: perSecond, drop: 9,
		value: ifFew(func(c *results.Cell) float64 { return c.Rate.Max }), only: fewTrials},
	{title: "offered/s", unit: perSecond, drop: 10, value: offered, only: open},
	{title: "dropped", unit: share, drop: 11, value: dropped, only: func(c *results.Cell) bool { return c.Counts.Dropped > 0 },
		class: func(k *results.ClassCell) float64 { return shareOf(k.Counts.Dropped, k.Counts.Offered) }},
	{group: "of", title: "bound", unit: share, drop: 13, value: efficiency},
},
	ofMetric("response", results.Response, open, 2, 1, 18),
	ofMetric("acquire", results.Acquire, nil, 3, 4, 17),
	[]column{
		{group: "lag", title: "p99", unit: duration, drop: 14, value: quantileOf(results.Lag, 0.99), only: open},
		{group: "all nodes", title: "p50", unit: duration, drop: 23, value: quantileOf(results.AcquireAll, 0.5), only: voted},
		{group: "hand-off", title: "p50", unit: duration, drop: 12, value: quantileOf(results.Handoff, 0.5)},
		{group: "recovery", title: "p50", unit: duration, drop: 15, value: quantileOf(results.Recovery, 0.5),
			only: func(c *results.Cell) bool { return c.Counts.Crashed > 0 }},
		{group: "neighbour", title: "p50 ×", unit: ratio, drop: 16, value: disturbance, only: probed},
		{title: "Jain", unit: ratio, drop: 7, value: func(c *results.Cell) float64 { return ifGranted(c, c.Fairness.Jain) },
			class: func(k *results.ClassCell) float64 { return k.Jain }},
		{group: "round trips", title: "/lock", unit: perLock, drop: 19, only: trafficked,
			value: func(c *results.Cell) float64 { return ifTrafficked(c, c.Cost.RoundTrips) }},
		{group: "commands", title: "/lock", unit: perLock, drop: 20,
			value: func(c *results.Cell) float64 { return known(c.Cost.Commands) }},
		{group: "server", title: "µs/lock", unit: perLock, drop: 21,
			value: func(c *results.Cell) float64 { return known(c.Cost.ServerCPUUs) }},
		{group: "client", title: "µs/lock", unit: perLock, drop: 22,
			value: func(c *results.Cell) float64 { return known(c.Cost.ClientCPUUs) }},
		{title: "viol.", unit: whole, value: violations, text: violationText},
	},
	intervals(24),
)

// ofMetric are the columns of a distribution, with the order in which they go.
func ofMetric(name string, m results.Metric, only func(*results.Cell) bool, dropP50, dropP99, dropMax int) []column {
	of := func(title string, drop int, get func(results.Latency) float64) column {
		return column{group: name, title: title, unit: duration, drop: drop, only: only,
			value: func(c *results.Cell) float64 { return get(c.Latency[m]) },
			class: func(k *results.ClassCell) float64 { return get(k.Latency[m]) }}
	}
	return []column{
		of("p50", dropP50, func(l results.Latency) float64 { return quantile(l, 0.5) }),
		of("p99", dropP99, func(l results.Latency) float64 { return quantile(l, 0.99) }),
		of("max", dropMax, func(l results.Latency) float64 { return highest(l) }),
	}
}

// trialFigure is one that each trial has, and whose interval over the trials is shown.
type trialFigure struct {
	name string
	unit unit
	of   func(r *results.Record) float64 // NaN if it is not known
	only func(c *results.Cell) bool      // nil, or: whether the cell has it
}

// trialFigures are those of the table, throughput apart. A quantile is each trial's own: its interval is that of the
// median over trials, where the figure beside it is the quantile of all their values together. Neither averages quantiles.
var trialFigures = []trialFigure{
	{"response p50", duration, quantileOfTrial(results.Response, 0.5), open},
	{"response p99", duration, quantileOfTrial(results.Response, 0.99), open},
	{"acquire p50", duration, quantileOfTrial(results.Acquire, 0.5), nil},
	{"acquire p99", duration, quantileOfTrial(results.Acquire, 0.99), nil},
	{"hand-off p50", duration, quantileOfTrial(results.Handoff, 0.5), nil},
	{"Jain", ratio, func(r *results.Record) float64 { return r.Fairness.Jain }, nil},
}

// intervals are the columns of those figures; drop is the least of their numbers.
func intervals(drop int) (all []column) {
	for _, f := range trialFigures {
		only := func(c *results.Cell) bool { return manyTrials(c) && (f.only == nil || f.only(c)) }
		all = append(all,
			column{group: f.name, title: "low", unit: f.unit, drop: drop, value: low(f.of), only: only, interval: true},
			column{group: f.name, title: "high", unit: f.unit, drop: drop + 1, value: high(f.of), only: only, interval: true})
		drop += 2
	}
	return all
}

func quantileOfTrial(m results.Metric, q float64) func(*results.Record) float64 {
	return func(r *results.Record) float64 { return quantile(r.Latency[m], q) }
}

func low(of func(*results.Record) float64) func(*results.Cell) float64 {
	return func(c *results.Cell) float64 { return stats.Trials(c.Trials, of).Low }
}

func high(of func(*results.Record) float64) func(*results.Cell) float64 {
	return func(c *results.Cell) float64 { return stats.Trials(c.Trials, of).High }
}

// open tells of an open loop, in a part of the clients at least.
func open(c *results.Cell) bool {
	return slices.ContainsFunc(plan(c).Groups(), func(g spec.Class) bool { return g.Open() })
}

// offered is the rate of the arrivals, the median over trials. Of a number of operations it is not known: all may have been
// due long before the last of them was served, which is when the window ends.
func offered(c *results.Cell) float64 {
	return stats.Trials(c.Trials, func(r *results.Record) float64 {
		if !open(c) || r.Elapsed <= 0 || r.Plan.Ops > 0 {
			return math.NaN()
		}
		return float64(r.Counts.Offered) / r.Elapsed.Seconds()
	}).Median
}

func dropped(c *results.Cell) float64 {
	if !open(c) {
		return math.NaN()
	}
	return shareOf(c.Counts.Dropped, c.Counts.Offered)
}

func shareOf(n, of int64) float64 {
	if of == 0 {
		return math.NaN()
	}
	return float64(n) / float64(of)
}

func efficiency(c *results.Cell) float64 {
	if c.Bound.LocksPerS <= 0 {
		return math.NaN()
	}
	return c.Bound.Efficiency
}

// nameBounds says what makes the bound: above the column if it is the same for all cells, else before each figure.
// Records from before it was known say nothing.
func nameBounds(columns []column, cells []*results.Cell) {
	i := slices.IndexFunc(columns, func(col column) bool { return col.group == "of" })
	if i < 0 {
		return
	}
	by := ""
	for _, c := range cells {
		if b := c.Bound.By; b != "" && by != "" && b != by {
			columns[i].text = func(c *results.Cell) string {
				return strings.TrimSpace(c.Bound.By + " " + columns[i].unit.format(efficiency(c)))
			}
			return
		} else if b != "" {
			by = b
		}
	}
	if by != "" {
		columns[i].group, columns[i].title = "of bound", format.Clean("by "+by)
	}
}

// isBound finds the column whatever nameBounds has made of it.
func (c column) isBound() bool { return c.group == "of" || c.group == "of bound" }

// probed tells whether a neighbour was asked, before the load and under it.
func probed(c *results.Cell) bool {
	return c.Latency[results.Probe].Count > 0 && c.Latency[results.ProbeIdle].Count > 0
}

// disturbance is how many times as long a neighbour's request takes under the load as before it.
func disturbance(c *results.Cell) float64 {
	idle := quantile(c.Latency[results.ProbeIdle], 0.5)
	if idle == 0 {
		return math.NaN()
	}
	return quantile(c.Latency[results.Probe], 0.5) / idle
}

// voted tells whether several nodes grant a lock together.
func voted(c *results.Cell) bool { return c.Latency[results.AcquireAll].Count > 0 }

// trafficked tells whether the driver counts what goes between it and the server.
func trafficked(c *results.Cell) bool { return c.Cost.Trafficked() }

func ifTrafficked(c *results.Cell, v float64) float64 {
	if !trafficked(c) {
		return math.NaN()
	}
	return known(v)
}

func severalTrials(c *results.Cell) bool { return len(c.Trials) > 1 }

// manyTrials are enough for an interval; fewTrials are several, and not enough.
func manyTrials(c *results.Cell) bool { return len(c.Trials) >= stats.MinTrials }
func fewTrials(c *results.Cell) bool  { return severalTrials(c) && !manyTrials(c) }

func ifFew(value func(*results.Cell) float64) func(*results.Cell) float64 {
	return func(c *results.Cell) float64 {
		if manyTrials(c) {
			return math.NaN()
		}
		return value(c)
	}
}

func quantileOf(m results.Metric, q float64) func(*results.Cell) float64 {
	return func(c *results.Cell) float64 { return quantile(c.Latency[m], q) }
}

// quantile is one of those that a record spells out, and NaN if there are too few values for it; see stats.Enough.
func quantile(l results.Latency, q float64) float64 {
	if !stats.Enough(l.Count, q) {
		return math.NaN()
	}
	return float64(map[float64]time.Duration{0.5: l.P50, 0.9: l.P90, 0.99: l.P99, 0.999: l.P999}[q])
}

// tooFew explains the dash that stands for such a quantile.
var tooFew = "–: not known, or too few values for that quantile: it takes " +
	format.Count(minSamples(0.5)) + " for p50, " + format.Count(minSamples(0.9)) + " for p90, " + format.Count(minSamples(0.99)) + " for p99, " +
	format.Count(minSamples(0.999)) + " for p99.9."

func minSamples(q float64) (n int64) {
	for !stats.Enough(n, q) {
		n++
	}
	return n
}

// sparse tells whether a distribution of c has too few values for one of its quantiles.
func sparse(c *results.Cell) bool {
	for m, q := range map[results.Metric]float64{
		results.Response: 0.99, results.Acquire: 0.99, results.Lag: 0.99, results.Handoff: 0.5, results.Recovery: 0.5,
	} {
		if n := c.Latency[m].Count; n > 0 && !stats.Enough(n, q) {
			return true
		}
	}
	return false
}

func highest(l results.Latency) float64 {
	if l.Count == 0 {
		return math.NaN()
	}
	return float64(l.Max)
}

// known turns the negative values that mean "not known" into NaN.
func known(v float64) float64 {
	if v < 0 {
		return math.NaN()
	}
	return v
}

// ifGranted is v, or NaN where no lock was granted and v has no meaning.
func ifGranted(c *results.Cell, v float64) float64 {
	if c.Counts.Acquired == 0 {
		return math.NaN()
	}
	return v
}

func violations(c *results.Cell) float64 {
	if !c.Safety.Checked || blind(c) {
		return math.NaN()
	}
	return float64(c.Safety.Violations)
}

// blind tells of a cell in which no violation could have been seen.
func blind(c *results.Cell) bool {
	s := c.Safety
	return s.Violations == 0 && s.Power != nil && s.Power.Watched == 0
}

// violationText tells violations apart that the plan has asked for.
func violationText(c *results.Cell) string {
	text := whole.format(violations(c))
	if planted := c.Safety.Overstayed; planted > 0 {
		text += " (" + format.Count(planted) + " planted)"
	}
	return text
}
