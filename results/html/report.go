package html

// The report as the template sees it.

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/draw"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
	docs "github.com/lockbench/lockbench/results/report"
	"github.com/lockbench/lockbench/results/view"
)

// report is all that the page says.
type report struct {
	Title, When, Common string
	Key                 []keyFigure
	Limits, MoreLimits  []view.Finding // what became of thresholds, the worst first
	Takeaways           []view.Finding
	Throughput, Latency rowChart
	Curves              charts
	Courses, MoreCourse []course
	RateSteps           []rateStep
	Classes             table
	Fairness, Costs     table
	Safety              table
	Evidence            []evidence
	Full                fullTable
	Warnings            []warning
	Details             []detail
	Places              []placed
	Commands            []command
	Shared              string // guarantees that all cells claim, if some claim more
	Several, Open       bool   // cells; an open loop
	Ranges              bool   // the charts with a row a cell say more than the percentiles
}

func (r *report) title() string { return r.Title }

type keyFigure struct{ Value, Label string }

type warning struct {
	Text  string
	Names string
}

// detail is a cell with all that is known of it.
type detail struct {
	ID     int
	Name   string
	Badges []badge
	Facts  []view.Item
	Trials []trial
}

type trial struct{ Number, Rate, P50, P99, Started, ID string }

// placed is a fact about where cells ran, a machine or a server.
type placed struct {
	Label, Text string
	Names       string // of the designs of which it is true; empty for all
}

type command struct{ Names, Text string }

// fullTable is the table of everything.
type fullTable struct {
	Head  []string
	Right []bool
	Rows  []fullRow
	Notes []string
}

type fullRow struct {
	Name  string // of the cell, or of one of its classes
	Cells []string
	State string
	Class bool
}

func (v content) report(o Options) *report {
	r := &report{
		Title: o.Title, When: v.when(), Common: v.Common, Takeaways: cleanFindings(v.Findings()), Key: v.key(),
		Throughput: v.throughput(), Latency: v.latency(), Curves: v.curves(), RateSteps: v.rateSteps(), Classes: v.classes(),
		Fairness: v.fairness(), Costs: v.costs(), Full: v.full(), Warnings: v.warnings(), Details: v.details(),
		Places: v.places(), Commands: v.commands(), Several: len(v.Cells) > 1,
		Open: slices.ContainsFunc(v.Cells, (*results.Cell).Open),
	}
	if r.Title == "" {
		r.Title = v.title()
	}
	r.Limits = limits(o.Check)
	if len(r.Limits) > shownLimits {
		r.Limits, r.MoreLimits = r.Limits[:shownLimits], r.Limits[shownLimits:]
	}
	r.Ranges = r.Several || len(v.Cells[0].Trials) > 1
	if slices.ContainsFunc(v.Cells, func(c *results.Cell) bool { return v.ownClaims(c) != "" }) {
		r.Shared = cmp.Or(strings.Join(v.shared, ", "), "nothing")
	}
	if by, why, known := strings.Cut(format.Line(view.Limit(v.Cells[0])), ": "); known && !r.Several {
		r.Takeaways = slices.Insert(r.Takeaways, min(1, len(r.Takeaways)), view.Finding{Kind: view.Note, Lead: "Limited by " + by + ":", Text: why + "."})
	}
	r.Courses, r.MoreCourse = v.courses()
	r.Safety, r.Evidence = v.safety()
	r.Throughput.Finding, r.Latency.Finding = v.findings()
	return r
}

const shownLimits = 8 // thresholds of cells; more are folded away

// limits says what became of each threshold in each cell.
func limits(c *compare.Check) (all []view.Finding) {
	d := docs.Check(c)
	if d == nil {
		return nil
	}
	kinds := map[docs.Tone]view.Kind{docs.Bad: view.Bad, docs.Warn: view.Warn, docs.Good: view.Good}
	for _, l := range d.Blocks[0].(docs.List) {
		all = append(all, view.Finding{Kind: kinds[l.Tone], Lead: l.Mark, Text: format.Line(l.Text)})
	}
	return all
}

// title returns what was measured: the drivers, if they are few, and what they had to do.
func (v content) title() string {
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

// when is from the first trial to the last.
func (v content) when() string {
	first, last := v.Cells[0].First().Started, v.Cells[0].First().Started
	for _, c := range v.Cells {
		for _, r := range c.Trials {
			if r.Started.Before(first) {
				first = r.Started
			}
			if r.Started.After(last) {
				last = r.Started
			}
		}
	}
	return format.Span(first, last)
}

func (v content) key() (all []keyFigure) {
	trials := 0
	var grants int64
	for _, c := range v.Cells {
		trials += len(c.Trials)
		grants += c.Counts.Acquired
	}
	if len(v.Cells) > 1 {
		all = append(all, keyFigure{format.Count(len(v.Cells)), "rows"})
	}
	count, noun, _ := strings.Cut(format.Plural(trials, "trial"), " ")
	all = append(all, keyFigure{count, noun},
		keyFigure{format.Count(grants), "locks granted"})
	if len(v.Cells) == 1 {
		c := v.Cells[0]
		all = append(all, keyFigure{format.Three(c.Rate.Median), "locks/s"},
			keyFigure{metric.Duration.Format(c.Latency[view.Waiting(c)].Quantile(0.5)), "p50"}, keyFigure{metric.Duration.Format(view.P99(c)), "p99"})
	}
	return all
}

// findings returns what the two charts with a row a cell show, in a sentence.
func (v content) findings() (rate, wait string) {
	if len(v.Cells) == 1 {
		c := v.Cells[0]
		if p99 := view.P99(c); p99 > 0 {
			wait = "99 % of the grants took " + metric.Duration.Format(p99) + " at the most."
		}
		return format.Three(c.Rate.Median) + " locks/s.", wait
	}
	if len(v.Groups) > 1 {
		return "", "" // figures of different loads have no common range
	}
	byRate := v.Sorted(func(c *results.Cell) float64 { return c.Rate.Median })
	top, low := byRate[0], byRate[len(byRate)-1]
	rate = fmt.Sprintf("From %s locks/s (%s) to %s locks/s (%s).",
		format.Three(v.Cells[low].Rate.Median), v.Names[low], format.Three(v.Cells[top].Rate.Median), v.Names[top])
	byWait := slices.DeleteFunc(v.Sorted(view.P99), func(i int) bool { return !(view.P99(v.Cells[i]) > 0) })
	if len(byWait) > 0 {
		top, low = byWait[0], byWait[len(byWait)-1]
		wait = fmt.Sprintf("The p99 goes from %s (%s) to %s (%s).",
			metric.Duration.Format(view.P99(v.Cells[low])), v.Names[low], metric.Duration.Format(view.P99(v.Cells[top])), v.Names[top])
	}
	return rate, wait
}

func (v content) full() fullTable {
	table, of, below := docs.Full(v.Cells)
	t := fullTable{Notes: textsOf(below)}
	for _, c := range table.Columns {
		t.Head, t.Right = append(t.Head, draw.OneLine(c.Title)), append(t.Right, !c.Left)
	}
	nth := 0 // class of the cell
	for i, row := range table.Rows {
		class := i > 0 && of[i] == of[i-1]
		name := v.Names[of[i]]
		if nth++; !class {
			nth = -1
		} else {
			name = format.Line(v.Cells[of[i]].Classes[nth].Name)
		}
		var cells []string
		for _, value := range row.Cells {
			cells = append(cells, format.Line(value.Text))
		}
		t.Rows = append(t.Rows, fullRow{name, cells, state(v.Cells[of[i]]), class})
	}
	return t
}

// textsOf returns the texts of blocks.
func textsOf(blocks []docs.Block) (all []string) {
	for _, b := range blocks {
		switch b := b.(type) {
		case docs.Paragraph:
			all = append(all, format.Line(b.Text))
		case docs.List:
			for _, item := range b {
				all = append(all, format.Line(item.Mark+" "+item.Text))
			}
		case docs.Section:
			all = append(append(all, format.Line(b.Title)+":"), textsOf(b.Blocks)...)
		}
	}
	return all
}

// items returns facts as this page has them.
func items(facts docs.Facts) (all []view.Item) {
	for _, f := range facts {
		item := view.Item{Label: f.Label, Alarm: f.Tone >= docs.Warn}
		for _, line := range f.Lines {
			item.Lines = append(item.Lines, format.Line(line))
		}
		all = append(all, item)
	}
	return all
}

// warnings returns those of the records, each with the cells that have it.
func (v content) warnings() (all []warning) {
	var texts []string
	names := map[string][]string{}
	for i, c := range v.Cells {
		for _, w := range c.Warnings {
			w = format.Line(w)
			if names[w] == nil {
				texts = append(texts, w)
			}
			names[w] = append(names[w], v.Names[i])
		}
	}
	for _, text := range texts {
		w := warning{Text: text, Names: format.Few(names[text], view.NamedCells)}
		if len(names[text]) == len(v.Cells) {
			w.Names = ""
		}
		all = append(all, w)
	}
	return all
}

func (v content) details() (all []detail) {
	for i, c := range v.Cells {
		d := detail{ID: i + 1, Name: v.Names[i], Badges: badges(c), Facts: items(docs.CellFacts(c))}
		if len(c.Trials) > 1 {
			for _, r := range c.Trials {
				l := r.Latency[view.Waiting(c)]
				d.Trials = append(d.Trials, trial{fmt.Sprint(r.Trial), format.Three(r.Throughput()), metric.Duration.Format(l.Quantile(0.5)),
					metric.Duration.Format(l.Quantile(0.99)), r.Started.UTC().Format(time.DateTime), r.ID})
			}
		}
		all = append(all, d)
	}
	return all
}

// places returns where the cells ran: what is true of all once, and what differs with the designs of which it is true.
func (v content) places() (all []placed) {
	type fact struct{ label, text string }
	var facts []fact
	names, count := map[fact][]string{}, map[fact]int{}
	type nameOf struct {
		fact fact
		name string
	}
	named := map[nameOf]bool{}
	for _, g := range v.Groups {
		for i, c := range g.Cells {
			for _, item := range view.Place(c) {
				f := fact{item.Label, strings.Join(item.Lines, " ")}
				if f.text == "" {
					continue
				}
				if count[f]++; count[f] == 1 {
					facts = append(facts, f)
				}
				if of := (nameOf{f, g.Names[i]}); !named[of] {
					named[of] = true
					names[f] = append(names[f], g.Names[i])
				}
			}
		}
	}
	labels := []string{"server", "machine", "program", "libraries"}
	slices.SortStableFunc(facts, func(a, b fact) int { return slices.Index(labels, a.label) - slices.Index(labels, b.label) })
	for _, f := range facts {
		p := placed{f.label, f.text, ""}
		if count[f] < len(v.Cells) {
			p.Names = format.Few(names[f], 2*view.NamedCells)
		}
		all = append(all, p)
	}
	return all
}

// commands returns the command lines that make the cells again, each once.
func (v content) commands() (all []command) {
	var texts []string
	names := map[string][]string{}
	for i, c := range v.Cells {
		text := strings.TrimSpace(format.Line(c.First().Plan.Command))
		if text == "" {
			continue
		}
		if names[text] == nil {
			texts = append(texts, text)
		}
		names[text] = append(names[text], v.Names[i])
	}
	for _, text := range texts {
		all = append(all, command{format.Few(names[text], view.NamedCells), text})
	}
	return all
}
