package report

// The page of runs: charts, tables and details, section by section.

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/view"
)

// How much a page shows at once; the rest is folded away.
const (
	shownLimits   = 8 // thresholds of cells
	shownPageRows = 24
	shownCharts   = 6
	shownCourses  = 12
	shownEvents   = 10
	shownFirst    = 8 // rows of the picture below the title
	shownFindings = 6
)

// RunPage returns what a page says of cells, as results.Group makes them, in their order. Trials may have lost their histograms and
// series: distributions are those of the cells, figures those of the trials, and the course in time is that of the first trial that
// has one. Check is what became of thresholds; nil: there are none.
func RunPage(cells []*results.Cell, check *compare.Check) *Document {
	d := &Document{Kind: "lockbench report"}
	if len(cells) == 0 {
		return d
	}
	v := newRunPage(cells)
	v.missed = missed(check)
	f := verdict(v.Run)
	d.verdict(f, check)
	d.When, d.Key = format.Join(v.title(), began(v.trials())), v.key()
	d.Picture = v.picture(f)
	d.mean(v.means(f), limits(check)...)
	d.add(v.findings(f)...)
	if v.Common != "" {
		text := v.Common
		if v.several() {
			text = "All rows have in common: " + text
		}
		d.add(note(text))
	}
	classes := Section{} // the table of several cells has them
	if !v.several() && len(cells[0].Classes) > 0 {
		classes = section("classes", "Classes of clients", classTable(cells[0]))
	}
	sections := []Section{v.throughput(shownPageRows), v.latency(shownPageRows), v.percentiles(), v.overSettings(), v.courses(),
		classes, v.safety(), v.fairness(), v.costs(), v.full(), v.warnings(), v.details(), v.environment(), v.commands()}
	if len(cells) == 1 && len(cells[0].Trials) == 1 {
		sections = sections[2:]
	}
	for _, s := range sections {
		if s.ID != d.Picture.ID {
			d.add(s)
		}
	}
	return d
}

// runPage is what the parts of the page are made of.
type runPage struct {
	*view.Run
	shared []string // guarantees that all cells claim
	missed bool     // a threshold
}

func newRunPage(cells []*results.Cell) runPage {
	v := runPage{Run: view.NewRun(cells), shared: claimsOf(cells[0])}
	for _, c := range cells[1:] {
		its := claimsOf(c)
		v.shared = slices.DeleteFunc(v.shared, func(claim string) bool { return !slices.Contains(its, claim) })
	}
	return v
}

func (v runPage) several() bool { return len(v.Cells) > 1 }

// claimsOf returns the guarantees that the design of a cell claims.
func claimsOf(c *results.Cell) []string {
	return strings.FieldsFunc(view.Claims(c.First().Traits), func(r rune) bool { return r == ',' || r == ' ' })
}

// ownClaims returns those that not all cells have.
func (v runPage) ownClaims(c *results.Cell) string {
	return strings.Join(slices.DeleteFunc(claimsOf(c), func(claim string) bool { return slices.Contains(v.shared, claim) }), ", ")
}

// limits says what became of each threshold in each cell.
func limits(c *compare.Check) []Block {
	var all Findings
	for _, l := range thresholds(c) {
		all = append(all, Finding{Tone: l.Tone, Lead: l.Mark, Text: l.Text})
	}
	if all == nil {
		return nil
	}
	return folded(all, shownLimits, "more threshold")
}

// title returns what was measured: the drivers, if they are few, and what they had to do.
func (v runPage) title() string {
	var drivers []string
	load, several := "", false
	for i, c := range v.Cells {
		p := c.First().Plan
		if !slices.Contains(drivers, p.Driver) {
			drivers = append(drivers, p.Driver)
		}
		its := format.Plural(p.Clients, "client") + " on " + format.Plural(p.Keys, "key")
		several = several || i > 0 && its != load
		load = its
	}
	title := "Locks with " + format.Few(drivers, 5)
	if several {
		return title
	}
	return title + ": " + load
}

// trials returns those of all cells.
func (v runPage) trials() (all []*results.Record) {
	for _, c := range v.Cells {
		all = append(all, c.Trials...)
	}
	return all
}

func (v runPage) key() (all []Figure) {
	var grants int64
	for _, c := range v.Cells {
		grants += c.Counts.Acquired
	}
	if v.several() {
		all = append(all, Figure{format.Count(len(v.Cells)), "rows"})
	}
	count, noun, _ := strings.Cut(format.Plural(len(v.trials()), "trial"), " ")
	all = append(all, Figure{count, noun}, Figure{format.Count(grants), "locks granted"})
	if !v.several() {
		c := v.Cells[0]
		all = append(all, Figure{format.Three(c.Rate.Median), "locks/s"},
			Figure{metric.Duration.Format(waitOf(c, 0.5)), "p50"}, Figure{metric.Duration.Format(view.P99(c)), "p99"})
	}
	return all
}

// findings are those that neither the verdict says nor what is said of its meaning, warnings first; of many the rest is folded away.
func (v runPage) findings(verdict view.Finding) []Block {
	list := v.Findings()
	if !v.several() {
		list = v.Broken()
	}
	all := findingsOf(slices.DeleteFunc(list, func(f view.Finding) bool {
		return f.Kind == view.Bad || strings.HasPrefix(verdict.Text, strings.TrimSuffix(f.Lead+" "+f.Text, "."))
	}))
	slices.SortStableFunc(all, func(a, b Finding) int { return cmp.Compare(max(b.Tone, Good), max(a.Tone, Good)) })
	return folded(all, shownFindings, "more finding")
}

// rowCharts are charts with a row a cell, load by load; those for which there is no room at once are folded away.
func (v runPage) rowCharts(room int, rows func(view.Group) Intervals, order func(view.Group) []int) (blocks []Block) {
	most := room
	var folded []Block
	more := 0
	for i, g := range v.Groups {
		group := picked(g, order(g))
		if g.Title != "" {
			group.Title = g.Load
		}
		its := rows(group)
		its.Most = most
		if i > 0 && len(its.Rows) > room || folded != nil {
			folded, more = append(folded, its), more+len(its.Rows)
			continue
		}
		room -= len(its.Rows)
		blocks = append(blocks, its)
	}
	if folded == nil {
		return blocks
	}
	loads := "another load"
	if len(folded) > 1 {
		loads = fmt.Sprintf("%d other loads", len(folded))
	}
	return append(blocks, Section{Folded: true, Title: fmt.Sprintf("%s of %s", format.Plural(more, "more row"), loads), Blocks: folded})
}

func (v runPage) throughput(room int) Section {
	text := "Granted locks a second."
	if c := v.Cells[0]; !v.several() {
		text += " " + format.Three(c.Rate.Median) + " locks/s."
	} else if v.Rivals && len(v.Groups) == 1 { // figures of different loads have no common range, but for what the verdict says
		order := v.Sorted(func(c *results.Cell) float64 { return c.Rate.Median })
		text += v.extremes("From %s (%s) to %s (%s).", order, func(c *results.Cell) string { return format.Three(c.Rate.Median) + " locks/s" })
	}
	blocks := v.rowCharts(room, func(g view.Group) Intervals {
		rows := rateRows(g)
		for i, c := range g.Cells {
			rows.Rows[i].Under = v.ownClaims(c)
		}
		return rows
	}, best(v.Run))
	hint := "A bar ends at the median over the trials; dots are trials; the whisker is the 95 % confidence interval of that median, or, of " +
		"fewer trials than that takes, their range. Dotted is the most that hold and round trip allow. "
	if len(blocks) < len(v.Groups) {
		hint += "Each load has a scale of its own. "
	}
	hint += "Rows with a mark beside their name are not to be believed as they stand, and are drawn in its colour."
	if slices.ContainsFunc(v.Cells, func(c *results.Cell) bool { return v.ownClaims(c) != "" }) {
		hint += " Below a name stands what its design guarantees beyond what all do (" + cmp.Or(strings.Join(v.shared, ", "), "nothing") + ")."
	}
	return section("throughput", "Throughput", slices.Concat([]Block{note(text)}, blocks, []Block{howToRead(hint)})...)
}

// extremes says from which cell to which a figure goes.
func (v runPage) extremes(text string, order []int, write func(*results.Cell) string) string {
	if len(order) == 0 {
		return ""
	}
	top, low := order[0], order[len(order)-1]
	return " " + fmt.Sprintf(text, write(v.Cells[low]), v.Names[low], write(v.Cells[top]), v.Names[top])
}

func (v runPage) latency(room int) Section {
	text := "How long a client waited for its lock."
	if p99 := view.P99(v.Cells[0]); !v.several() && p99 > 0 {
		text += " 99 % of the grants took " + metric.Duration.Format(p99) + " at the most."
	} else if v.several() && len(v.Groups) == 1 {
		order := slices.DeleteFunc(v.Sorted(view.P99), func(i int) bool { return !(view.P99(v.Cells[i]) > 0) })
		text += v.extremes("The p99 goes from %s (%s) to %s (%s).", order, func(c *results.Cell) string { return metric.Duration.Format(view.P99(c)) })
	}
	blocks := []Block{note(text)}
	if axis := waitAxis(v.Cells, 0.5, 0.99, 0.999); axis.Most > 0 {
		blocks = append(blocks, v.rowCharts(room, func(g view.Group) Intervals { return waitRows(g, axis) }, shortest(v.Run, view.P99))...)
	}
	hint := "From the median (ring) to p99 (dot) and p99.9 (line), on a logarithmic scale."
	if slices.ContainsFunc(v.Cells, (*results.Cell).Open) {
		hint += " In an open loop it is the response, from when an arrival was due to its grant, with the queue before it."
	}
	return section("latency", "Latency", append(blocks, howToRead(hint+" A quantile for which there are too few values is left out."))...)
}

// percentiles are curves of the wait of all cells, a few in each chart.
func (v runPage) percentiles() Section {
	var all Charts
	acquire := false
	for _, g := range v.Groups {
		for from := 0; from < len(g.Cells); from += mostCurves {
			to := min(from+mostCurves, len(g.Cells))
			part := view.Group{Cells: g.Cells[from:to], Short: g.Short[from:to], Index: g.Index[from:to]}
			if g.Title != "" {
				part.Title = g.Load
			}
			if len(g.Cells) > mostCurves {
				part.Title = joined(part.Title, fmt.Sprintf("rows %d to %d of %d", from+1, to, len(g.Cells)))
			}
			if chart, any := curvesOf(part); any {
				all = append(all, chart)
				acquire = acquire || slices.ContainsFunc(chart.Panels[0].Series, func(s Series) bool { return s.Dashed })
			}
		}
	}
	hint := "Across: the share of the grants that took no longer. Each further nine has the same room, which shows the tail. Up: how long, on a " +
		"logarithmic scale. A line ends where there are too few values to go on."
	if acquire {
		hint += " A line named acquire is the acquisition alone, without the wait for a free client."
	}
	return section("percentiles", "Percentiles", append(folded(all, shownCharts, "more chart"), howToRead(hint))...)
}

func curvesOf(g view.Group) (c Chart, any bool) {
	const both = 3 // cells of an open loop that have both of their curves
	named := g
	if len(g.Cells) == 1 {
		named.Short = []string{""}
	}
	all, most := curveSeries(named, len(g.Cells) <= both)
	if len(all) == 0 {
		return c, false
	}
	c = Chart{Title: g.Title, X: Axis{Unit: Nines, Most: most}, Panels: []Panel{{Y: timesAxis(all), Series: all}}}
	worst, longest := "", 0.0
	for i, cell := range g.Cells {
		if t := view.P99(cell); t > longest {
			worst, longest = g.Short[i], t
		}
	}
	switch {
	case worst == "":
	case len(g.Cells) == 1:
		c.Finding = "Wait by percentile: 99 % within " + metric.Duration.Format(longest) + "."
		c.Uprights = []Line{{At: -math.Log10(1 - 0.99)}}
	default:
		c.Finding = fmt.Sprintf("Wait by percentile. The highest p99 is that of %s, %s.", worst, metric.Duration.Format(longest))
	}
	return c, true
}

// overSettings are the pictures of files that no other section has.
func (v runPage) overSettings() Section {
	var blocks []Block
	for _, p := range append([]*Picture{recovery(v.Run)}, overSettings(v.Run)...) {
		if p != nil && !(p.Name == "rate" && len(v.Cells) == 1) { // of which there is a section
			blocks = append(blocks, *p)
		}
	}
	return section("settings", "Over settings", blocks...)
}

// courses are the cells that have a series, second by second.
func (v runPage) courses() Section {
	var all Charts
	for i, c := range v.Cells {
		at := slices.IndexFunc(c.Trials, func(r *results.Record) bool { return len(r.Series) > 1 })
		if at < 0 {
			continue
		}
		chart := secondsOf(c.Trials[at])
		chart.Title, chart.Badges, chart.Finding = v.Names[i], badges(c), format.Upper(Steadiness(c))
		if len(c.Trials) > 1 && chart.Finding != "" {
			chart.Finding = "The first trial is drawn. " + chart.Finding
		}
		all = append(all, chart)
	}
	if all == nil {
		return Section{}
	}
	return section("course", "Over time", append(folded(all, shownCourses, "more row"),
		note("The warm-up is shaded; it is in no other figure. Each chart has a scale of its own."))...)
}

// secondsOf draws throughput and latency of a trial over time.
func secondsOf(r *results.Record) Chart {
	wait, quantile := courseWait(slices.DeleteFunc(slices.Clone(r.Series), func(i results.Interval) bool { return i.Warmup })), "longest"
	if wait.p99 {
		quantile = "p99"
	}
	last := r.Series[len(r.Series)-1]
	end := last.At + last.Length
	rates := Panel{Head: "locks/s", Y: Axis{Unit: PerSecond}}
	waits := Panel{Head: quantile + " of the wait", Y: Axis{Unit: Nanoseconds, Log: true, Least: math.Inf(1)}}
	rate, times := Series{Area: true}, Series{Name: quantile, Colour: 1}
	violations := Signs{Kind: 4}
	c := Chart{X: Axis{Unit: Nanoseconds, Most: float64(end) / 1.04}}
	for _, i := range r.Series {
		mid := float64(i.At + i.Length/2)
		its := perSecond(i.Acquired, i.Length)
		rates.Y.Most = max(rates.Y.Most, its)
		rate.Points = append(rate.Points, Point{X: mid, Y: its})
		y := math.NaN()
		if t := wait.of(i); t > 0 {
			y = float64(t)
			waits.Y.take(y)
		}
		times.Points = append(times.Points, Point{X: mid, Y: y})
		if i.Warmup {
			c.To = max(c.To, float64(i.At+i.Length))
		}
		if i.Violations > 0 {
			violations.Points = append(violations.Points, Point{X: mid, Y: its})
		}
	}
	rates.Series, waits.Series, rates.Signs = []Series{rate}, []Series{times}, []Signs{violations}
	c.Panels = []Panel{rates, waits}
	return c
}

// full is the table of everything.
func (v runPage) full() Section {
	if !v.several() {
		return Section{}
	}
	var all block // in their own order
	for i, c := range v.Cells {
		all.add(i, v.Names[i], c)
	}
	of := newCellTable(v.Run)
	of.blocks = []block{all}
	t := of.table()
	t.Caption, t.Whole, t.Columns[0].Title = "All figures, a row a cell", true, "cell"
	for i, r := range all.rows {
		t.Rows[i].Tone = stateOf(v.Cells[r.cell])
	}
	return section("table", "All figures", append([]Block{t}, asNotes(of.below(true))...)...)
}

// asNotes returns blocks in small letters.
func asNotes(blocks []Block) (all []Block) {
	for _, b := range blocks {
		switch b := b.(type) {
		case Paragraph:
			all = append(all, note(b.Text))
		case List:
			for _, item := range b {
				all = append(all, note(item.Mark+" "+item.Text))
			}
		case Section:
			all = append(append(all, note(b.Title+":")), asNotes(b.Blocks)...)
		}
	}
	return all
}

// byText collects the cells that have the same text, in the order of the texts.
func (v runPage) byText(texts func(c *results.Cell) []string) (all view.Grouped[string, string]) {
	for i, c := range v.Cells {
		for _, text := range texts(c) {
			all.Add(text, v.Names[i])
		}
	}
	return all
}

// warnings returns those of the records, each with the cells that have it.
func (v runPage) warnings() Section {
	var list List
	cells := v.byText(func(c *results.Cell) []string { return c.Warnings })
	for _, text := range cells.Keys {
		if names := cells.Of[text]; len(names) < len(v.Cells) {
			text += " (" + format.Few(names, view.NamedCells) + ")"
		}
		list = append(list, Item{Tone: Warn, Text: text})
	}
	return section("warnings", "Warnings", list)
}

// details is a section for each cell with all that is known of it.
func (v runPage) details() Section {
	s := Section{ID: "details", Title: "Details"}
	if v.several() {
		s.Title = "Row by row"
	}
	for i, c := range v.Cells {
		facts := CellFacts(c, v.missed)
		if !v.several() {
			facts = slices.DeleteFunc(facts, func(f Fact) bool { return f.Label == "limited by" || f.Label == "next" }) // see means
		}
		one := Section{ID: detailsOf(i), Title: v.Names[i], Folded: true, Open: !v.several(), Blocks: []Block{facts}}
		for _, b := range badges(c) {
			one.Status, one.Tone = strings.TrimPrefix(one.Status+", "+b.Text, ", "), max(one.Tone, b.Tone)
		}
		if len(c.Trials) > 1 {
			t := figures("Trials", "trial", "locks/s", "p50", "p99", "started (UTC)", "record")
			for _, r := range c.Trials {
				l := r.Latency[view.Waiting(c)]
				t.line(fmt.Sprint(r.Trial), format.Three(r.Throughput()), metric.Duration.Format(l.Quantile(0.5)),
					metric.Duration.Format(l.Quantile(0.99)), r.Started.UTC().Format(time.DateTime), r.ID)
			}
			one.Blocks = append(one.Blocks, t)
		}
		s.Blocks = append(s.Blocks, one)
	}
	return s
}

// places are the labels of view.Place, in their order.
var places = []string{"server", "machine", "program", "libraries"}

// environment returns where the cells ran: what is true of all once, and what differs with the designs of which it is true.
func (v runPage) environment() Section {
	var names view.Grouped[view.Fact, string]
	count := map[view.Fact]int{}
	for _, g := range v.Groups {
		for i, c := range g.Cells {
			for _, f := range view.Place(c) {
				count[f]++
				names.Once(f, g.Names[i])
			}
		}
	}
	slices.SortStableFunc(names.Keys, func(a, b view.Fact) int { return slices.Index(places, a.Label) - slices.Index(places, b.Label) })
	var all Facts
	for _, f := range names.Keys {
		lines := []string{f.Text}
		if count[f] < len(v.Cells) {
			lines = append(lines, "("+format.Few(names.Of[f], 2*view.NamedCells)+")")
		}
		all = append(all, Fact{Label: f.Label, Lines: lines})
	}
	return section("environment", "Environment", all)
}

// commands returns the command lines that make the cells again, each once.
func (v runPage) commands() Section {
	all := v.byText(func(c *results.Cell) []string {
		text := strings.TrimSpace(c.First().Plan.Command)
		if text == "" {
			return nil
		}
		return []string{text}
	})
	hint := note("What makes this run again, secrets left out.")
	switch {
	case all.Keys == nil:
		hint = Paragraph{}
	case v.several():
		hint = note("What makes each row again, secrets left out.")
	}
	var lines []Block
	for _, text := range all.Keys {
		if v.several() {
			lines = append(lines, note(format.Few(all.Of[text], view.NamedCells)))
		}
		lines = append(lines, Command(text))
	}
	return section("commands", "Commands", append([]Block{hint}, commandLines(len(all.Keys), lines)...)...)
}
