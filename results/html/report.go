package html

// The report as the template sees it.

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/render"
)

// report is all that the page says.
type report struct {
	Title, When, Common string
	Key                 []keyFigure
	Takeaways           []takeaway
	Throughput, Latency rowChart
	Curves              charts
	Courses, MoreCourse []course
	Stairs              []stair
	Classes             table
	Fairness, Costs     table
	Safety              table
	Evidence            []evidence
	Full                fullTable
	Warnings            []warning
	Details             []detail
	Places              []placed
	Commands            []command
	Several, Open       bool // cells; an open loop
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
	Facts  []render.Item
	Trials []trial
}

type trial struct{ Number, Rate, P50, P99, Started, ID string }

// placed is a fact about where cells ran, a machine or a server.
type placed struct {
	Label, Text string
	Names       string // of the designs of which it is true; empty for all
}

type command struct{ Names, Text string }

// fullTable is render's table of everything.
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

func (v *view) report(o Options) *report {
	r := &report{
		Title: o.Title, When: v.when(), Common: v.common, Takeaways: v.takeaways(), Key: v.key(),
		Throughput: v.throughput(), Latency: v.latency(), Curves: v.curves(), Stairs: v.stairs(), Classes: v.classes(),
		Fairness: v.fairness(), Costs: v.costs(), Full: v.full(), Warnings: v.warnings(), Details: v.details(),
		Places: v.places(), Commands: v.commands(), Several: len(v.cells) > 1,
		Open: slices.ContainsFunc(v.cells, (*results.Cell).Open),
	}
	if r.Title == "" {
		r.Title = v.title()
	}
	r.Courses, r.MoreCourse = v.courses()
	r.Safety, r.Evidence = v.safety()
	r.Throughput.Finding, r.Latency.Finding = v.findings()
	return r
}

// title is what was measured: the drivers, if they are few, and what they had to do.
func (v *view) title() string {
	var drivers []string
	load, several := "", false
	for i, c := range v.cells {
		p := c.First().Plan
		if !slices.Contains(drivers, p.Driver) {
			drivers = append(drivers, p.Driver)
		}
		its := format.Plural(p.Clients, "client") + " on " + format.Plural(p.Keys, "key")
		several = several || i > 0 && its != load
		load = its
	}
	title := "Locks with " + listed(drivers, 5)
	if several {
		return title
	}
	return title + ": " + load
}

// when is from the first trial to the last.
func (v *view) when() string {
	first, last := v.cells[0].First().Started, v.cells[0].First().Started
	for _, c := range v.cells {
		for _, r := range c.Trials {
			if r.Started.Before(first) {
				first = r.Started
			}
			if r.Started.After(last) {
				last = r.Started
			}
		}
	}
	return span(first, last)
}

// span is from the first time to the last, to the minute.
func span(first, last time.Time) string {
	const minute = "2006-01-02 15:04"
	a, b := first.UTC().Format(minute), last.UTC().Format(minute)
	switch {
	case a == b:
		return a + " UTC"
	case a[:10] == b[:10]:
		return a + " – " + b[11:] + " UTC"
	}
	return a + " – " + b + " UTC"
}

func (v *view) key() (all []keyFigure) {
	trials := 0
	var grants int64
	for _, c := range v.cells {
		trials += len(c.Trials)
		grants += c.Counts.Acquired
	}
	if len(v.cells) > 1 {
		all = append(all, keyFigure{format.Count(len(v.cells)), "rows"})
	}
	count, noun, _ := strings.Cut(format.Plural(trials, "trial"), " ")
	all = append(all, keyFigure{count, noun},
		keyFigure{format.Count(grants), "locks granted"})
	if len(v.cells) == 1 {
		all = append(all, keyFigure{format.Three(v.cells[0].Rate.Median), "locks/s"}, keyFigure{took(p99(v.cells[0])), "p99"})
	}
	return all
}

// findings are what the two charts with a row a cell show, in a sentence.
func (v *view) findings() (rate, wait string) {
	if len(v.cells) == 1 {
		c := v.cells[0]
		return format.Three(c.Rate.Median) + " locks/s.", "99 % of the grants took " + took(p99(c)) + " at the most."
	}
	all := group{cells: v.cells, names: v.names}
	byRate := all.sorted(func(c *results.Cell) float64 { return c.Rate.Median })
	top, low := byRate[0], byRate[len(byRate)-1]
	rate = fmt.Sprintf("From %s locks/s (%s) to %s locks/s (%s).",
		format.Three(v.cells[low].Rate.Median), v.names[low], format.Three(v.cells[top].Rate.Median), v.names[top])
	byWait := slices.DeleteFunc(all.sorted(p99), func(i int) bool { return !(p99(v.cells[i]) > 0) })
	if len(byWait) > 0 {
		top, low = byWait[0], byWait[len(byWait)-1]
		wait = fmt.Sprintf("The p99 goes from %s (%s) to %s (%s).",
			took(p99(v.cells[low])), v.names[low], took(p99(v.cells[top])), v.names[top])
	}
	return rate, wait
}

func (v *view) full() fullTable {
	s := render.Full(v.cells)
	t := fullTable{Head: s.Head, Right: s.Right, Notes: s.Notes}
	nth := 0 // class of the cell
	for i, cells := range s.Rows {
		class := i > 0 && s.Cells[i] == s.Cells[i-1]
		name := v.names[s.Cells[i]]
		if nth++; !class {
			nth = -1
		} else {
			name = format.Line(v.cells[s.Cells[i]].Classes[nth].Name)
		}
		t.Rows = append(t.Rows, fullRow{name, cells, state(v.cells[s.Cells[i]]), class})
	}
	return t
}

// warnings are those of the records, each with the cells that have it.
func (v *view) warnings() (all []warning) {
	var texts []string
	names := map[string][]string{}
	for i, c := range v.cells {
		for _, w := range c.Warnings {
			w = format.Line(w)
			if names[w] == nil {
				texts = append(texts, w)
			}
			names[w] = append(names[w], v.names[i])
		}
	}
	for _, text := range texts {
		w := warning{Text: text, Names: listed(names[text], namedCells)}
		if len(names[text]) == len(v.cells) {
			w.Names = ""
		}
		all = append(all, w)
	}
	return all
}

func (v *view) details() (all []detail) {
	for i, c := range v.cells {
		d := detail{ID: i + 1, Name: v.names[i], Badges: badges(c), Facts: render.Facts(c)}
		if len(c.Trials) > 1 {
			for _, r := range c.Trials {
				l := r.Latency[waiting(c)]
				d.Trials = append(d.Trials, trial{fmt.Sprint(r.Trial), format.Three(r.Throughput()), took(l.Quantile(0.5)),
					took(l.Quantile(0.99)), r.Started.UTC().Format(time.DateTime), r.ID})
			}
		}
		all = append(all, d)
	}
	return all
}

// places are where the cells ran: what is true of all once, and what differs with the designs of which it is true.
func (v *view) places() (all []placed) {
	type fact struct{ label, text string }
	var facts []fact
	names, count := map[fact][]string{}, map[fact]int{}
	type nameOf struct {
		fact fact
		name string
	}
	named := map[nameOf]bool{}
	for _, g := range v.groups {
		for i, c := range g.cells {
			for _, item := range render.Place(c) {
				f := fact{item.Label, strings.Join(item.Lines, " ")}
				if f.text == "" {
					continue
				}
				if count[f]++; count[f] == 1 {
					facts = append(facts, f)
				}
				if of := (nameOf{f, g.names[i]}); !named[of] {
					named[of] = true
					names[f] = append(names[f], g.names[i])
				}
			}
		}
	}
	labels := []string{"server", "machine", "program", "libraries"}
	slices.SortStableFunc(facts, func(a, b fact) int { return slices.Index(labels, a.label) - slices.Index(labels, b.label) })
	for _, f := range facts {
		p := placed{f.label, f.text, ""}
		if count[f] < len(v.cells) {
			p.Names = listed(names[f], 2*namedCells)
		}
		all = append(all, p)
	}
	return all
}

// commands are the command lines that make the cells again, each once.
func (v *view) commands() (all []command) {
	var texts []string
	names := map[string][]string{}
	for i, c := range v.cells {
		text := strings.TrimSpace(format.Line(c.First().Plan.Command))
		if text == "" {
			continue
		}
		if names[text] == nil {
			texts = append(texts, text)
		}
		names[text] = append(names[text], v.names[i])
	}
	for _, text := range texts {
		all = append(all, command{listed(names[text], namedCells), text})
	}
	return all
}
