package report

// Pictures of lines: over a setting, over the rate of arrivals, and over the percentiles.

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

const (
	mostLines  = 8
	mostCurves = 6 // cells that have their percentile curves in one chart
)

// overSettings draws a picture for each setting in which the cells differ and that has an axis of its own.
func overSettings(v *view.Run) (all []*Picture) {
	for _, s := range spec.Recorded {
		var p *Picture
		switch {
		case !s.Axis:
		case s.Name == "rate":
			p = overRate(v, s)
		case slices.Contains([]string{"N", "TIME", "TIMES"}, s.Value):
			p = overNumbers(v, s)
		case s.Group != spec.GroupLoad && !slices.Contains([]string{"driver", "lock", "wait"}, s.Name):
			p = fromTo(v, s)
		}
		if p != nil {
			all = append(all, p)
		}
	}
	return all
}

// settingOf returns the value of a setting in a cell, in nanoseconds if it is a time.
func settingOf(s spec.Setting) func(c *results.Cell) (float64, bool) {
	return func(c *results.Cell) (float64, bool) {
		text := s.Typed(c.Plan(), &c.Plan().Load)
		switch {
		case len(c.Plan().Classes) > 0:
		case s.Value == "N":
			n, err := spec.ParseInt(text)
			return float64(n), err == nil
		case s.Value == "RATE":
			n, err := strconv.ParseFloat(text, 64)
			return n, err == nil && n > 0
		default:
			d, err := time.ParseDuration(text)
			return float64(d), err == nil
		}
		return 0, false
	}
}

// line is cells that differ in one setting alone.
type line struct {
	cells  []*results.Cell
	values []float64
}

// linesOver sorts cells into lines over a setting: those of the load under which there are most. It says how many loads are left out.
func linesOver(v *view.Run, s spec.Setting, value func(*results.Cell) (float64, bool)) (all []line, left int) {
	const separator = "\x00"
	var loads view.Grouped[string, *line]
	lines := map[string]*line{}
	for _, c := range v.Cells {
		n, ok := value(c)
		if !ok || c.Rate.Median <= 0 || c.Partial() != "" {
			continue
		}
		load, key := []string{view.ServerKind(c)}, placeOf(c, s)
		for _, other := range spec.Recorded {
			if other.Name == s.Name || slices.Contains(s.Implies, other.Name) {
				continue
			}
			text := other.Text(c.Plan(), &c.Plan().Load)
			if key = append(key, text); other.Group == spec.GroupLoad || other.Name == "durability" {
				load = append(load, text)
			}
		}
		l := strings.Join(load, separator)
		k := l + separator + strings.Join(key, separator)
		if lines[k] == nil {
			lines[k] = &line{}
			loads.Add(l, lines[k])
		}
		lines[k].cells, lines[k].values = append(lines[k].cells, c), append(lines[k].values, n)
	}
	if loads.Keys == nil {
		return nil, 0
	}
	points := func(load string) (n int) {
		for _, l := range loads.Of[load] {
			n += len(l.cells)
		}
		return n
	}
	most := slices.MinFunc(loads.Keys, func(a, b string) int {
		return cmp.Or(cmp.Compare(points(b), points(a)), -view.Contention(loads.Of[a][0].cells[0], loads.Of[b][0].cells[0]))
	})
	for _, l := range loads.Of[most] {
		all = append(all, l.sorted())
	}
	return all, len(loads.Keys) - 1
}

// placeOf returns what else has to be the same in the cells of a line over a setting: what was measured, and where.
func placeOf(c *results.Cell, s spec.Setting) (values []string) {
	serversDiffer := s.Name == "topology" || s.Name == "durability" // by themselves
	for _, a := range view.Axes {
		if a.Server && !serversDiffer || slices.Contains([]string{"side", "revision", "machine", "lockbench", "libraries", "library"}, a.Title) {
			values = append(values, a.Value(c))
		}
	}
	return values
}

func (l *line) sorted() (s line) {
	order := make([]int, len(l.cells))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(l.values[a], l.values[b]) })
	for _, i := range order {
		s.cells, s.values = append(s.cells, l.cells[i]), append(s.values, l.values[i])
	}
	return s
}

func cellsOfLines(all []line) (cells []*results.Cell) {
	for _, l := range all {
		cells = append(cells, l.cells...)
	}
	return cells
}

// namesOf tells lines apart.
func namesOf(all []line, s spec.Setting) []string {
	var first []*results.Cell
	for _, l := range all {
		first = append(first, l.cells[0])
	}
	return view.NamesBut(first, view.AxisOf(s).Title)
}

// across is the axis of a setting, with a tick at each value.
func across(all []line, label func(float64) string) (x Axis, distinct int) {
	var values []float64
	for _, l := range all {
		values = append(values, l.values...)
	}
	slices.Sort(values)
	if values = slices.Compact(values); len(values) < 2 {
		return x, len(values)
	}
	x = Axis{Least: values[0], Most: values[len(values)-1]}
	if x.Log = x.Least > 0 && x.Most >= 8*x.Least; !x.Log && x.Least < 0.5*x.Most {
		x.Least = 0
	}
	for _, v := range values {
		x.Ticks = append(x.Ticks, Line{v, label(v)})
	}
	return x, len(values)
}

// asRate leaves it to the axis to write a value.
func asRate(float64) string { return "" }

// joined returns a name with a word behind it.
func joined(name, word string) string { return strings.TrimPrefix(name+" · "+word, " · ") }

// overNumbers draws locks a second, and the p99 of the wait below, over at least three values of a setting.
func overNumbers(v *view.Run, s spec.Setting) *Picture {
	if !severalValues(v, s) {
		return nil
	}
	all, left := linesOver(v, s, settingOf(s))
	x, distinct := across(all, settingLabel(s))
	all = slices.DeleteFunc(all, func(l line) bool { return len(l.cells) < 2 })
	if distinct < 3 || len(all) == 0 {
		return nil
	}
	return rateAndWait(v, s, all, left, x, strings.ReplaceAll(s.Name, "-", " "), settingLabel(s))
}

// severalValues reports whether cells have enough values of a setting for a line over them.
func severalValues(v *view.Run, s spec.Setting) bool {
	value, seen := settingOf(s), map[float64]bool{}
	for _, c := range v.Cells {
		if n, ok := value(c); ok {
			seen[n] = true
		}
	}
	return len(seen) > 2
}

func rateAndWait(v *view.Run, s spec.Setting, all []line, left int, x Axis, word string, label func(float64) string) *Picture {
	names := namesOf(all, s)
	if len(all) == 1 {
		names[0] = ""
	}
	dropped := max(0, len(all)-mostLines)
	every := all
	all = all[:len(all)-dropped]
	rates := Panel{Head: "Locks per second", Y: Axis{Unit: PerSecond, Least: math.Inf(1)}}
	tails := Panel{Head: "Wait, p99", Y: Axis{Unit: Nanoseconds, Log: true, Least: math.Inf(1)}}
	var texts []string
	for i, l := range all {
		rate := Series{Name: names[i], Colour: i}
		if slices.ContainsFunc(l.cells, (*results.Cell).Violated) {
			rate.Name, rate.Tone = joined(names[i], violatedBadge.Text), Bad
		}
		tail := rate
		var text []string
		for n, c := range l.cells {
			p99 := view.P99(c)
			rates.Y.take(c.Rate.Median, c.Rate.Min, c.Rate.Max)
			tails.Y.take(p99)
			rate.Points = append(rate.Points, Point{l.values[n], c.Rate.Median, c.Rate.Min, c.Rate.Max})
			tail.Points = append(tail.Points, Point{X: l.values[n], Y: p99})
			text = append(text, fmt.Sprintf("%s locks/s and p99 %s with %s%s", format.Three(c.Rate.Median),
				metric.Duration.Format(p99), label(l.values[n]), inBrackets(c)))
		}
		rates.Series, tails.Series = append(rates.Series, rate), append(tails.Series, tail)
		texts = append(texts, strings.TrimPrefix(names[i]+": ", ": ")+strings.Join(text, ", "))
	}
	rates.Y.Log = rates.Y.Most > 20*rates.Y.Least // or the least would not be seen
	p := &Picture{
		Name: s.Name, Title: "Locks per second and wait over " + word, About: []string{aboutCells(cellsOfLines(every)), "One trial each."},
		Chart: Chart{X: x, Across: word, Panels: []Panel{rates}},
		Notes: append(doubtsOf(all, names), linesLeftOut(left, dropped)...),
		Alt:   fmt.Sprintf("Locks per second and the p99 of the wait over %s. %s.", word, strings.Join(texts, "; ")),
	}
	if trials, several := trialsOf(v); several {
		p.About[1] = "Dots: median of " + trials + "; line through them: range."
	}
	if tails.Y.Most > 0 {
		p.Chart.Panels = append(p.Chart.Panels, tails)
	}
	return p
}

// overRate draws the response, from when an arrival was due, against the acquisition, from when a client took it up, over the
// rate of arrivals: what the second leaves out is the wait for a free client.
func overRate(v *view.Run, s spec.Setting) *Picture {
	if !severalValues(v, s) {
		return nil
	}
	all, left := linesOver(v, s, settingOf(s))
	x, distinct := across(all, asRate)
	if distinct < 3 {
		return nil
	}
	if len(all) > 1 {
		return rateAndWait(v, s, all, left, x, "arrivals per second", format.Three)
	}
	var curves []Series
	for _, curve := range []struct {
		m    results.Metric
		q    float64
		name string
	}{
		{results.Response, 0.99, "response p99"},
		{results.Acquire, 0.99, "acquire p99"},
		{results.Response, 0.5, "response median"},
		{results.Acquire, 0.5, "acquire median"},
	} {
		line := Series{Name: curve.name, Dashed: curve.m == results.Acquire}
		if curve.q == 0.99 {
			line.Colour = 1
		}
		for i, c := range all[0].cells {
			line.Points = append(line.Points, Point{X: all[0].values[i], Y: c.Latency[curve.m].Quantile(curve.q)})
		}
		curves = append(curves, line)
	}
	last := all[0].cells[len(all[0].cells)-1]
	return ratePicture(&Picture{
		Title: "The wait that the acquisition does not show",
		About: []string{aboutCells(cellsOfLines(all)), "Response: from when an arrival was due. Acquire: from when a client was free for it."},
		Notes: linesLeftOut(left, 0),
		Alt: fmt.Sprintf("Response and acquire time over the rate of arrivals. At %s arrivals per second the p99 is %s by response and %s by acquire.",
			format.Three(all[0].values[len(all[0].values)-1]), metric.Duration.Format(last.Latency[results.Response].Quantile(0.99)),
			metric.Duration.Format(last.Latency[results.Acquire].Quantile(0.99))),
	}, curves, x)
}

// ratePicture is one of curves over the rate; nil if too few locks were granted for any quantile.
func ratePicture(p *Picture, curves []Series, x Axis) *Picture {
	panel := Panel{Head: "Time to the grant", Y: timesAxis(curves), Series: curves}
	if panel.Y.Most == 0 {
		return nil
	}
	p.Name, p.Chart = "rate", Chart{X: x, Across: "arrivals per second", Panels: []Panel{panel}}
	return p
}

// timesAxis has room for the times of series.
func timesAxis(all []Series) Axis {
	axis := Axis{Unit: Nanoseconds, Log: true, Least: math.Inf(1)}
	for _, s := range all {
		for _, p := range s.Points {
			axis.take(p.Y)
		}
	}
	return axis
}

// curveSeries returns one line a cell over its percentiles, and of an open loop, if asked for, a broken one beside it for the
// acquisition without the queue before it; and the share in nines up to which there are values enough.
func curveSeries(g view.Group, both bool) (all []Series, most float64) {
	most = 1
	add := func(name string, i int, dashed bool, l results.Latency) {
		s := Series{Name: name, Colour: i, Dashed: dashed}
		if g.Cells[i].Violated() {
			s.Name, s.Tone = joined(name, violatedBadge.Text), Bad
		}
		for _, p := range percentileCurve(l) {
			s.Points = append(s.Points, Point{X: p.X, Y: max(1, p.Y)})
			most = max(most, p.X)
		}
		if len(s.Points) > 0 {
			all = append(all, s)
		}
	}
	for i, c := range g.Cells {
		m, name := view.Waiting(c), g.Short[i]
		if m == results.Response && both {
			add(joined(name, "acquire"), i, true, c.Latency[results.Acquire])
			name = joined(name, "response")
		}
		add(name, i, false, c.Latency[m])
	}
	return all, most
}

// percentileCurve returns a latency by nines, as far as there are values enough for a quantile. One that has lost its histogram has
// the quantiles that are spelt out.
func percentileCurve(l results.Latency) (points []Point) {
	const mostNines, each = 6, 10
	nine := func(q float64) float64 { return -math.Log10(1 - q) }
	h, err := l.Histogram()
	if err != nil || l.Count == 0 {
		for _, q := range []float64{0.5, 0.9, 0.99, 0.999} {
			if t := l.Quantile(q); !math.IsNaN(t) {
				points = append(points, Point{X: nine(q), Y: t})
			}
		}
		return points
	}
	var percentiles []float64
	for i := 0; i <= mostNines*each; i++ {
		q := 1 - math.Pow(10, -float64(i)/each)
		if !results.Enough(l.Count, q) {
			break
		}
		percentiles = append(percentiles, 100*q)
	}
	for i, v := range h.ValueAtPercentilesSlice(percentiles) {
		points = append(points, Point{X: float64(i) / each, Y: float64(max(time.Duration(v), l.Min))})
	}
	return points
}

// percentiles draws the whole distribution of the wait, of a few cells under one load. Of a single cell in an open loop the
// acquisition is drawn beside the response.
func percentiles(v *view.Run) *Picture {
	groups, _ := choose(v, hasWait, asRun)
	if len(groups) == 0 || len(groups[0].Cells) > mostCurves {
		return nil
	}
	g := groups[0]
	single := len(g.Cells) == 1
	if single {
		g.Group.Short = []string{""}
	}
	all, most := curveSeries(g.Group, single)
	axis := timesAxis(all)
	if axis.Most == 0 {
		return nil
	}
	var texts []string
	quantiles := func(name string, c *results.Cell, l results.Latency) {
		texts = append(texts, fmt.Sprintf("%s p50 %s, p99 %s, p99.9 %s%s", name, metric.Duration.Format(l.Quantile(0.5)),
			metric.Duration.Format(l.Quantile(0.99)), metric.Duration.Format(l.Quantile(0.999)), inBrackets(c)))
	}
	for i, c := range g.Cells {
		m := view.Waiting(c)
		if single && m == results.Response {
			quantiles("response", c, c.Latency[m])
			quantiles("acquire", c, c.Latency[results.Acquire])
			continue
		}
		quantiles(groups[0].Short[i], c, c.Latency[m])
	}
	return &Picture{
		Name: "percentiles", Title: "How long a client waits for its lock", About: []string{nameAndLoad(v, groups[0]), aboutWaits(v)},
		Chart: Chart{X: Axis{Unit: Nines, Most: most}, Across: "share of the grants that took no longer",
			Panels: []Panel{{Head: "Wait", Y: axis, Series: all}}},
		Alt: "The wait by percentile. " + strings.Join(texts, "; ") + ".",
	}
}

// nameAndLoad says what was measured, also of a single cell, whose line has no name.
func nameAndLoad(v *view.Run, g chosen) string {
	text := about(v, []chosen{g})
	if len(g.Cells) == 1 {
		return g.Short[0] + ": " + text
	}
	return text
}
