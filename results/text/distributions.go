package text

// The distributions of a cell: of the whole, of its classes, and over its trials.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/stats"
)

// titleOf returns a metric as the table names it. Beside a response, what an acquisition takes is the service.
func titleOf(m results.Metric, c *results.Cell) string {
	if m == results.Acquire && c.Latency[results.Response].Count > 0 {
		return "acquire (service)"
	}
	return metric.Latency(m).Title
}

// rows are the latencies of the short form, three of them.
func rows(c *results.Cell) []results.Metric {
	if c.Latency[results.Response].Count > 0 {
		return []results.Metric{results.Response, results.Acquire, results.Release}
	}
	last := results.Release
	if c.Counts.Crashed > 0 {
		last = results.Recovery
	}
	return []results.Metric{results.Acquire, results.Handoff, last}
}

// latencies writes the distributions that have values, a row each; acquire and release always. Hiccups are lockbench's own and
// no latency of the lock: see generator.
func (p *page) latencies(c *results.Cell) error {
	g := grid{Head: []string{"latency", "count", "mean", "p50", "p90", "p99", "p99.9", "max"}}
	g.Right = []bool{false, true, true, true, true, true, true, true}
	var overflow []string
	few, short := false, rows(c)
	for _, d := range metric.Distributions {
		m := d.Metric
		l := c.Latency[m]
		if m == results.Hiccup || l.Count == 0 && m != results.Acquire && m != results.Release || !p.verbose && !slices.Contains(short, m) {
			continue
		}
		title := titleOf(m, c)
		g.Rows = append(g.Rows, append([]string{title}, distribution(l)...))
		few = few || l.Count > 0 && !results.Enough(l.Count, 0.999)
		if l.Overflow > 0 {
			overflow = append(overflow, title+" "+format.Count(l.Overflow))
		}
	}
	if err := p.block(g, 4, 2); err != nil { // p90, then the mean
		return err
	}
	if few && p.verbose {
		p.item("", "", tooFew)
	}
	if overflow != nil {
		p.item(yellow, "", "above one hour, counted as one hour: "+strings.Join(overflow, ", "))
	}
	if probed(c) {
		p.item("", "neighbour", fmt.Sprintf("p50 %s before the load, %s under it (%s times as long)",
			format.Glue(format.Duration(c.Latency[results.ProbeIdle].P50)), format.Glue(format.Duration(c.Latency[results.Probe].P50)),
			metric.Ratio.Format(c.Disturbance())))
	}
	return nil
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

// block adds a table within the page, after a blank line. If the page is too narrow, it goes without the spare columns, the first of
// them first.
func (p *page) block(g grid, spare ...int) error {
	const indent = "  "
	fits := g
	for n := 1; n <= len(spare) && fits.Width()+len(indent) > p.width; n++ {
		fits = g.Keeping(func(col int) bool { return !slices.Contains(spare[:n], col) })
	}
	lines, err := fits.Text()
	if err != nil {
		return err
	}
	for i, line := range lines {
		lines[i] = indent + line
	}
	p.blank()
	p.add(bold, lines[0])
	p.add("", lines[1:]...)
	return nil
}

// classes writes what each class had of the whole.
func (p *page) classes(c *results.Cell) error {
	if len(c.Classes) == 0 {
		return nil
	}
	g := grid{Head: []string{"class", "locks/s", "response p50", "p99", "acquire p50", "p99", "Jain", "starved", "not granted"}}
	g.Right = []bool{false, true, true, true, true, true, true, true, true}
	for i := range c.Classes {
		k := &c.Classes[i]
		refused := k.Counts.Contended + k.Counts.TimedOut + k.Counts.Dropped
		g.Rows = append(g.Rows, []string{
			format.Clean(k.Name), metric.PerSecond.Format(k.Rate.Median),
			metric.Duration.Format(k.Latency[results.Response].Quantile(0.5)), metric.Duration.Format(k.Latency[results.Response].Quantile(0.99)),
			metric.Duration.Format(k.Latency[results.Acquire].Quantile(0.5)), metric.Duration.Format(k.Latency[results.Acquire].Quantile(0.99)),
			metric.Ratio.Format(k.Figures().Jain()), format.Count(k.Starved), format.Count(refused),
		})
	}
	if !c.Open() {
		g = g.Keeping(func(col int) bool { return col != 2 && col != 3 }) // responses
	}
	last := len(g.Head) - 1
	return p.block(g, last-2, last-1) // Jain, then starved: the fairness of all has both
}

// overTrials are the metrics whose intervals over the trials are shown.
var overTrials = []string{"locks/s", "response.p50", "response.p99", "acquire.p50", "acquire.p99", "handoff.p50", "jain"}

// trials writes the intervals over the trials, if there are enough of them.
func (p *page) trials(c *results.Cell) error {
	if !manyTrials(c) {
		return nil
	}
	g := grid{Head: []string{fmt.Sprintf("over %d trials", len(c.Trials)), "median", "95 % low", "high", "min", "max"}}
	g.Right = []bool{false, true, true, true, true, true}
	for _, m := range metric.All() {
		e := stats.Of(m.Values(c.Trials))
		if e.N == 0 || !slices.Contains(overTrials, m.Name) {
			continue
		}
		row := []string{m.Title()}
		for _, v := range []float64{e.Median, e.Low, e.High, e.Min, e.Max} {
			row = append(row, m.Unit.Format(v))
		}
		g.Rows = append(g.Rows, row)
	}
	if err := p.block(g); err != nil {
		return err
	}
	p.item("", "", "a trial is one observation; a quantile is each trial's own here, and of all values together above")
	return nil
}
