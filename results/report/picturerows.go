package report

// Pictures with a row a cell.

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/results/view"
)

// detailsOf is the section of a page with all that is known of a cell.
func detailsOf(index int) string { return fmt.Sprintf("cell-%d", index+1) }

// rateRows is a bar a cell: the median of its trials, with their interval or range. All bars have one scale.
func rateRows(g view.Group) Intervals {
	out := Intervals{Title: g.Title, Look: Bars, Axis: Axis{Unit: PerSecond}}
	farthest := 0.0 // bound
	for i, c := range g.Cells {
		e := view.Rate(c)
		row := Interval{
			Name: g.Short[i], Link: detailsOf(g.Index[i]), Badges: badges(c), Tone: stateOf(c), Mid: c.Rate.Median, Low: e.Low, High: e.High,
			Value: format.Three(c.Rate.Median), Bound: keysBound(c),
		}
		if by := c.Limit().By; by != "" {
			row.Status = "limited by " + string(by)
		}
		if !e.Known() {
			row.Low, row.High = e.Min, e.Max
		}
		if e.N > 1 {
			what := "95 % interval"
			if !e.Known() {
				what = fmt.Sprintf("range of %d trials", e.N)
			}
			row.Beside = fmt.Sprintf("%s – %s, %s", format.Three(row.Low), format.Three(row.High), what)
			for _, r := range c.Trials {
				row.Trials = append(row.Trials, r.Throughput())
			}
		} else {
			row.Low, row.High = math.NaN(), math.NaN()
		}
		out.Axis.take(row.Mid, row.High)
		farthest = max(farthest, row.Bound)
		out.Rows = append(out.Rows, row)
	}
	if far := 1.5; farthest <= far*out.Axis.Most { // or it would make the bars short
		out.Axis.take(farthest)
		return out
	}
	for i := range out.Rows {
		out.Rows[i].Bound = 0
	}
	return out
}

// keysBound returns what the keys of a cell let through at the most, 0 if something else bounds it or a key had several holders
// at once.
func keysBound(c *results.Cell) float64 {
	if c.Bound.By != "keys" || c.Breaches() > 0 {
		return 0
	}
	return c.Bound.LocksPerS
}

func eachOf(groups []chosen, rows func(view.Group) Intervals) (all []Intervals) {
	for _, g := range groups {
		all = append(all, rows(g.Group))
	}
	return all
}

// throughputs draws the locks a second of each cell.
func throughputs(v *view.Run) *Picture {
	groups, left := choose(v, func(c *results.Cell) bool { return c.Rate.Median > 0 }, best(v))
	if len(v.Cells) < 2 || len(groups) == 0 {
		return nil
	}
	rows := eachOf(groups, rateRows)
	return &Picture{
		Name: "throughput", Title: "Locks per second", About: []string{about(v, groups), aboutBars(v, rows)}, Rows: rows,
		Notes: append(leftOut(groups, left), unlikeGuarantees(cellsOf(groups))...),
		Alt:   altOf(v, groups, "Locks per second", func(c *results.Cell) string { return format.Three(c.Rate.Median) }),
	}
}

func hasWait(c *results.Cell) bool { return view.P99(c) > 0 || waitOf(c, 0.5) > 0 }

// waitOf returns a quantile of what the clients of a cell feel.
func waitOf(c *results.Cell, q float64) float64 { return c.Latency[view.Waiting(c)].Quantile(q) }

// tailOf is what cells are ordered by: p99, or the median where there are too few values.
func tailOf(c *results.Cell) float64 {
	if t := view.P99(c); known(t) {
		return t
	}
	return waitOf(c, 0.5)
}

// waitAxis is that of the waits of all cells.
func waitAxis(cells []*results.Cell, quantiles ...float64) Axis {
	axis := Axis{Unit: Nanoseconds, Log: true, Least: math.Inf(1)}
	for _, c := range cells {
		for _, q := range quantiles {
			axis.take(waitOf(c, q))
		}
	}
	return axis
}

// waitRows is a span a cell, from the median of the wait to its p99 and p99.9.
func waitRows(g view.Group, axis Axis) Intervals {
	out := Intervals{Title: g.Title, Look: Spans, Axis: axis}
	for i, c := range g.Cells {
		p50, p99, p999 := waitOf(c, 0.5), waitOf(c, 0.99), waitOf(c, 0.999)
		row := Interval{
			Name: g.Short[i], Link: detailsOf(g.Index[i]), Badges: waitBadges(c), Tone: stateOf(c), Low: p50, Mid: p99, High: p999,
			Value:  "p99 " + metric.Duration.Format(p99),
			Beside: "p50 " + metric.Duration.Format(p50) + " · p99.9 " + metric.Duration.Format(p999),
			Ends:   [2]string{metric.Duration.Format(p50), metric.Duration.Format(p99)},
		}
		if !known(p99) {
			row.Ends = [2]string{"", metric.Duration.Format(p50)}
		}
		if view.Waiting(c) == results.Response {
			row.Beside += " · response"
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

// toP99 returns spans without what is beyond their p99.
func toP99(c Intervals) Intervals {
	for i := range c.Rows {
		c.Rows[i].High = math.NaN()
	}
	return c
}

// waits draws how long the clients of each cell wait, on one logarithmic scale.
func waits(v *view.Run) *Picture {
	groups, left := choose(v, hasWait, shortest(v, tailOf))
	if len(v.Cells) < 2 || len(groups) == 0 {
		return nil
	}
	axis := waitAxis(cellsOf(groups), 0.5, 0.99)
	rows := eachOf(groups, func(g view.Group) Intervals { return toP99(waitRows(g, axis)) })
	rows[0].Ends = [2]string{"median", "p99"}
	return &Picture{
		Name: "latency", Title: "How long a client waits for its lock", About: []string{about(v, groups), aboutWaits(v)}, Rows: rows,
		Notes: leftOut(groups, left),
		Alt:   altOf(v, groups, "Wait, p99", func(c *results.Cell) string { return metric.Duration.Format(tailOf(c)) }),
	}
}

// overview draws throughput and wait beside each other, of the load with most contention.
func overview(v *view.Run) *Picture {
	groups, _ := choose(v, func(c *results.Cell) bool { return c.Rate.Median > 0 && hasWait(c) }, best(v))
	if !v.Rivals || len(groups) == 0 || len(groups[0].Cells) < 2 {
		return nil
	}
	groups = groups[:1]
	g := groups[0].Group
	rate, wait := rateRows(g), toP99(waitRows(g, waitAxis(g.Cells, 0.5, 0.99)))
	rate.Title, wait.Title = "Locks per second", "Wait, median to p99"
	var texts []string
	for i, c := range g.Cells {
		wait.Rows[i].Badges, wait.Rows[i].Ends[0] = waitBadges(c), ""
		texts = append(texts, fmt.Sprintf("%s %s locks/s and p99 %s%s", g.Short[i], format.Three(c.Rate.Median), metric.Duration.Format(view.P99(c)), inBrackets(c)))
	}
	return &Picture{
		Name: "overview", Title: "Throughput and wait of each lock", About: []string{about(v, groups), aboutBars(v, []Intervals{rate})},
		Rows: []Intervals{rate, wait}, Notes: append(leftOut(groups, 0), unlikeGuarantees(g.Cells)...),
		Alt: "Locks per second and the p99 of the wait, most locks first: " + strings.Join(texts, "; ") + ".",
	}
}

// recovery draws how long a key stays locked after its holder has died: the median, and p99 or, where there are too few deaths
// for that, the longest. The TTL is a line across.
func recovery(v *view.Run) *Picture {
	median := func(c *results.Cell) float64 { return c.Latency[results.Recovery].Quantile(0.5) }
	groups, left := choose(v, func(c *results.Cell) bool { return known(median(c)) }, shortest(v, median))
	if len(groups) == 0 {
		return nil
	}
	cells := cellsOf(groups)
	far, farName := func(c *results.Cell) float64 { return c.Latency[results.Recovery].Quantile(0.99) }, "p99"
	if slices.ContainsFunc(cells, func(c *results.Cell) bool { return !known(c.Latency[results.Recovery].Quantile(0.99)) }) {
		far, farName = func(c *results.Cell) float64 { return float64(c.Latency[results.Recovery].Max) }, "longest"
	}
	axis := Axis{Unit: Nanoseconds, Log: true, Least: math.Inf(1)}
	ttl := cells[0].Plan().TTL
	for _, c := range cells {
		axis.take(median(c), far(c))
		if c.Plan().TTL != ttl {
			ttl = 0
		}
	}
	upright := Line{}
	if ttl > 0 {
		axis.take(float64(ttl))
		upright = Line{float64(ttl), "TTL " + format.Exact(ttl)}
	}
	rows := eachOf(groups, func(g view.Group) Intervals {
		out := Intervals{Title: g.Title, Look: Spans, Axis: axis, Upright: upright}
		for i, c := range g.Cells {
			out.Rows = append(out.Rows, Interval{
				Name: g.Short[i], Link: detailsOf(g.Index[i]), Badges: badges(c), Tone: stateOf(c), Low: median(c), Mid: far(c), High: math.NaN(),
				Value: metric.Duration.Format(median(c)), Beside: farName + " " + metric.Duration.Format(far(c)),
				Ends: [2]string{metric.Duration.Format(median(c)), metric.Duration.Format(far(c))},
			})
		}
		return out
	})
	rows[0].Ends = [2]string{"median", farName}
	p := &Picture{
		Name: "recovery", Title: "From the death of a holder to the next grant", Rows: rows, Notes: leftOut(groups, left),
		About: []string{about(v, groups), "Logarithmic scale. The holders released nothing."},
	}
	p.Alt = altOf(v, groups, p.Title+", median", func(c *results.Cell) string { return metric.Duration.Format(median(c)) })
	if ttl > 0 {
		p.Alt += fmt.Sprintf(" The TTL is %s.", format.Exact(ttl))
	}
	return p
}

// fromTo draws the step of locks a second from one value of a setting to the other.
func fromTo(v *view.Run, s spec.Setting) *Picture {
	axis := view.AxisOf(s)
	valueOf := func(c *results.Cell) string { return cmp.Or(axis.Value(c), s.Zero, "default") }
	var values []string
	for _, c := range v.Cells {
		if value := valueOf(c); !slices.Contains(values, value) {
			values = append(values, value)
		}
	}
	if len(values) != 2 {
		return nil
	}
	all, left := linesOver(v, s, func(c *results.Cell) (float64, bool) { return float64(slices.Index(values, valueOf(c))), true })
	all = slices.DeleteFunc(all, func(l line) bool { return len(l.cells) != 2 || l.values[0] == l.values[1] })
	if len(all) == 0 {
		return nil
	}
	slices.SortStableFunc(all, func(a, b line) int { return cmp.Compare(b.cells[0].Rate.Median, a.cells[0].Rate.Median) })
	names := namesOf(all, s)
	if len(all) == 1 {
		names[0] = "locks/s"
	}
	rows := Intervals{Look: Spans, Axis: Axis{Unit: PerSecond, Log: true, Least: math.Inf(1)}, Ends: [2]string{values[0], values[1]}}
	var texts []string
	for i, l := range all {
		from, to := l.cells[0], l.cells[1]
		rows.Axis.take(from.Rate.Median, to.Rate.Median)
		change := changeWords(from.Rate, to.Rate)
		row := Interval{Name: names[i], Tone: Good, Low: from.Rate.Median, Mid: to.Rate.Median, High: math.NaN(), Value: change,
			Beside: format.Three(from.Rate.Median) + " → " + format.Three(to.Rate.Median), Ends: [2]string{"", change}}
		for _, b := range slices.Concat(badges(from), badges(to)) {
			if !slices.Contains(row.Badges, b) {
				row.Badges = append(row.Badges, b)
			}
			row.Tone = max(row.Tone, b.Tone)
		}
		rows.Rows = append(rows.Rows, row)
		texts = append(texts, fmt.Sprintf("%s %s → %s (%s%s)", names[i], format.Three(from.Rate.Median), format.Three(to.Rate.Median), change, inBrackets(to)))
	}
	trials, _ := trialsOf(v)
	p := &Picture{
		Name: s.Name, Title: fmt.Sprintf("Locks per second: %s %s → %s", strings.ReplaceAll(s.Name, "-", " "), values[0], values[1]),
		About: []string{aboutCells(cellsOfLines(all)), "Logarithmic scale; dots are medians of " + trials + "."},
		Rows:  []Intervals{rows}, Notes: linesLeftOut(left, 0),
	}
	p.Alt = p.Title + ". " + strings.Join(texts, "; ") + "."
	return p
}

// changeWords says how many more or fewer locks there are; trials whose ranges overlap show no difference.
func changeWords(from, to results.Spread) string {
	ratio := to.Median / from.Median
	overlap := from.Min < from.Max && to.Min <= from.Max && from.Min <= to.Max
	switch {
	case overlap || math.Abs(ratio-1) < 0.02:
		return "no difference"
	case ratio < 1:
		return format.Percent(1-ratio) + " fewer"
	case ratio < 2:
		return format.Percent(ratio-1) + " more"
	}
	return strconv.FormatFloat(ratio, 'f', 1, 64) + " times as many"
}

// settingLabel writes a value of a setting that has numbers: a count, or a time in nanoseconds.
func settingLabel(s spec.Setting) func(float64) string {
	if s.Value == "N" {
		return func(n float64) string { return format.Count(int64(n)) }
	}
	return func(n float64) string { return format.Exact(time.Duration(n)) }
}
