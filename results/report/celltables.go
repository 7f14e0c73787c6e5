package report

// The distributions of a cell: of the whole, of its classes, and over its trials.

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/stats"
	"github.com/lockbench/lockbench/results/view"
)

// titleOf returns a metric as the table names it. Beside a response, what an acquisition takes is the service.
func titleOf(m results.Metric, c *results.Cell) string {
	if m == results.Acquire && c.Latency[results.Response].Count > 0 {
		return "acquire (service)"
	}
	return metric.Latency(m).Title
}

// waits says how long clients waited: the short form of the latencies, in the words of an objective.
func (p *cellPage) waits(c *results.Cell) {
	label := "waits"
	if view.Waiting(c) == results.Response {
		label = "answers"
	}
	p.within(label, c.Latency[view.Waiting(c)])
	if c.Counts.Crashed > 0 {
		p.within("after a death", c.Latency[results.Recovery])
	}
}

// within says within which times parts of the values lie.
func (p *cellPage) within(label string, l results.Latency) {
	if l.Count == 0 {
		return
	}
	var words []string
	for _, q := range []struct {
		of   float64
		name string
	}{{0.5, "half"}, {0.99, "99 %"}, {0.999, "99.9 %"}} {
		if t := l.Quantile(q.of); !math.IsNaN(t) {
			words = append(words, q.name+" within "+metric.Duration.Format(t))
		}
	}
	p.item(Plain, label, format.Join(append(words, "the longest "+format.Duration(l.Max))...))
}

// latencies writes the distributions that have values, a row each; acquire and release always. Hiccups are lockbench's own and
// no latency of the lock: see generator.
func (p *cellPage) latencies(c *results.Cell) {
	t := figures("Latencies", "latency", "count", "mean", "p50", "p90", "p99", "p99.9", "max")
	t.Columns[4].Drop, t.Columns[2].Drop = 2, 1 // p90, then the mean
	var overflow []string
	few := false
	for _, d := range metric.Distributions {
		m := d.Metric
		l := c.Latency[m]
		if m == results.Hiccup || l.Count == 0 && m != results.Acquire && m != results.Release {
			continue
		}
		title := titleOf(m, c)
		t.line(append([]string{title}, distribution(l)...)...)
		few = few || l.Count > 0 && !results.Enough(l.Count, 0.999)
		if l.Overflow > 0 {
			overflow = append(overflow, title+" "+format.Count(l.Overflow))
		}
	}
	if p.verbose {
		p.add(t)
		if few {
			p.item(Plain, "", tooFew)
		}
	}
	if overflow != nil {
		p.item(Warn, "", "above one hour, counted as one hour: "+strings.Join(overflow, ", "))
	}
	if probed(c) {
		p.item(Plain, "neighbour", fmt.Sprintf("p50 %s before the load, %s under it (%s times as long)",
			format.Glue(format.Duration(c.Latency[results.ProbeIdle].P50)), format.Glue(format.Duration(c.Latency[results.Probe].P50)),
			metric.Ratio.Format(c.Disturbance())))
	}
}

// distribution returns a row of a block: count, mean, quantiles, maximum. A quantile of too few values is left out.
func distribution(l results.Latency) []string {
	row := []string{format.Count(l.Count), format.None, format.None, format.None, format.None, format.None, format.None}
	if l.Count == 0 {
		return row
	}
	row[1], row[6] = format.Duration(l.Mean), format.Duration(l.Max)
	for i, q := range []float64{0.5, 0.9, 0.99, 0.999} {
		row[2+i] = metric.Duration.Format(l.Quantile(q))
	}
	return row
}

// figures returns a table of names and numbers without a row.
func figures(caption, name string, numbers ...string) Table {
	t := Table{Caption: caption, Within: true, Columns: []Column{{Title: name, Left: true}}}
	for _, title := range numbers {
		t.Columns = append(t.Columns, Column{Title: title})
	}
	return t
}

// line adds a row.
func (t *Table) line(texts ...string) { t.Rows = append(t.Rows, Row{Cells: values(texts...)}) }

// classTable returns what each class had of the whole; no row if there are no classes.
func classTable(c *results.Cell) Table {
	t := figures("Classes", "class", "locks/s", "response p50", "p99", "acquire p50", "p99", "Jain", "starved", "not granted")
	t.Columns[6].Drop, t.Columns[7].Drop = 2, 1 // the fairness of all has both
	for i := range c.Classes {
		k := &c.Classes[i]
		at := func(m results.Metric, q float64) string { return metric.Duration.Format(k.Latency[m].Quantile(q)) }
		t.line(k.Name, metric.PerSecond.Format(k.Rate.Median), at(results.Response, 0.5), at(results.Response, 0.99),
			at(results.Acquire, 0.5), at(results.Acquire, 0.99), metric.Ratio.Format(k.Figures().Jain()), format.Count(k.Starved),
			format.Count(k.Counts.Contended+k.Counts.TimedOut+k.Counts.Dropped))
	}
	if !c.Open() {
		t = t.without(3).without(2) // responses
	}
	return t
}

// overTrials are the metrics whose intervals over the trials are shown.
var overTrials = []string{"locks/s", "response.p50", "response.p99", "acquire.p50", "acquire.p99", "handoff.p50", "jain"}

// trials writes the intervals over the trials, if there are enough of them.
func (p *cellPage) trials(c *results.Cell) {
	if !manyTrials(c) {
		return
	}
	t := figures("Trials", fmt.Sprintf("over %d trials", len(c.Trials)), "median", "95 % low", "high", "min", "max")
	for _, m := range metric.All() {
		e := stats.Of(m.Values(c.Trials))
		if e.N == 0 || !slices.Contains(overTrials, m.Name) {
			continue
		}
		row := []string{m.Title()}
		for _, v := range []float64{e.Median, e.Low, e.High, e.Min, e.Max} {
			row = append(row, m.Unit.Format(v))
		}
		t.line(row...)
	}
	p.add(t)
	p.item(Plain, "", "a trial is one observation; a quantile is each trial's own here, and of all values together above")
}

// ranks says who made the load together, in the first trial: each by its own clock and as a generator of its own.
func (p *cellPage) ranks(c *results.Cell) {
	ranks := c.First().Ranks
	if len(ranks) == 0 {
		return
	}
	caption := "Processes"
	if manyTrials(c) {
		caption = "Processes, in the first trial"
	}
	t := figures(caption, "rank", "host", "clients", "locks/s", "cores", "round trip", "clock ±", "began late")
	for _, r := range ranks {
		rate := 0.0
		if e := c.First().Elapsed; e > 0 {
			rate = float64(r.Acquired) / e.Seconds()
		}
		t.line(strconv.Itoa(r.Rank), r.Host, format.Count(int64(r.Clients)), metric.PerSecond.Format(rate), format.Three(r.Generator.CPU),
			format.Duration(r.RTT), format.Duration(r.Bound), format.Duration(r.Late))
	}
	p.add(t)
}
