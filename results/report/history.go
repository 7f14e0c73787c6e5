package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/stats"
	"github.com/lockbench/lockbench/results/view"
)

// listedPoints is how many points of all cells together have a row without -v.
const listedPoints = 8

// point is one revision on one day.
type point struct{ day, revision string }

// past is the trials of each point, in the order of time: what one plan gave on one kind of server and machine.
type past = view.Grouped[point, *results.Record]

// History returns what plans gave over revisions. Records of runs that ended early are left out.
func History(cells []*results.Cell) *Document {
	pasts, samples, all, partial := pastsOf(cells)
	d := &Document{Command: "lockbench history", Title: format.Plural(len(pasts), "cell") + " over revisions",
		When: format.Join(format.Plural(len(all), "point"), view.Common(samples, func(a view.Axis) bool { return a.Title == "at" }))}
	c := &Chart{Name: "history", Title: "locks/s over revisions"}
	c.X, c.Y = Axis{Name: "revision"}, Axis{Name: "locks/s", Label: metric.PerSecond.Format}
	for i := 0; i < len(all); i += 1 + len(all)/6 {
		c.X.Ticks = append(c.X.Ticks, Line{float64(i), shortRevision(all[i].revision)})
	}
	last := columns("date", "revision", "n", "locks/s", "change", "p99", "change")
	last.Columns[1].Left, last.Columns[2].About, last.Columns[6].Drop = true, "trials; the figures are medians", 1
	last.Columns[5].About = "of the wait; in an open loop of the response"
	whole := &Table{Columns: last.Columns}
	for i, name := range view.Names(samples) {
		rows, line := pointRows(pasts[i], all)
		line.Name = name
		c.Series = append(c.Series, line)
		listed := slices.Clone(rows[max(0, len(rows)-max(2, listedPoints/len(pasts))):])
		if len(pasts) > 1 {
			rows[0].Group, listed[0].Group = line.Name, line.Name
		} else {
			newest := rows[len(rows)-1].Cells
			d.Title = fmt.Sprintf("%s locks/s at %s · change %s", newest[3].Text, newest[1].Text, newest[4].Text)
		}
		last.Rows, whole.Rows = append(last.Rows, listed...), append(whole.Rows, rows...)
	}
	d.add(Block{Table: facts("left out", format.Labelled("partial records", int64(partial)))})
	if d.add(Block{Chart: c}, Block{Table: last}); len(whole.Rows) > len(last.Rows) {
		d.add(Block{Heading: "All points", Detail: true, Table: whole})
	}
	return d
}

// pastsOf sorts trials by what they measure, each past with a sample, and tells all points and how many it left out.
func pastsOf(cells []*results.Cell) (pasts []*past, samples []*results.Cell, all []point, partial int) {
	var trials []*results.Record
	for _, c := range cells {
		trials = append(trials, c.Trials...)
	}
	slices.SortStableFunc(trials, func(a, b *results.Record) int { return a.Started.Compare(b.Started) })
	places := map[string]int{}
	for _, r := range trials {
		if r.Partial != "" {
			partial++
			continue
		}
		sample, at := sampleOf(r), point{r.Started.UTC().Format(time.DateOnly), cmp.Or(r.Env.Revision, r.Env.Lockbench)}
		key, _ := json.Marshal(sample) // it has been read from JSON
		place, known := places[string(key)]
		if !known {
			place, places[string(key)] = len(pasts), len(pasts)
			pasts, samples = append(pasts, &past{}), append(samples, &results.Cell{Trials: []*results.Record{sample}})
		}
		if pasts[place].Add(at, r); !slices.Contains(all, at) {
			all = append(all, at)
		}
	}
	return pasts, samples, all, partial
}

// sampleOf returns what records of one past have in common. What may change with time, such as versions, is left out.
func sampleOf(r *results.Record) *results.Record {
	s := &results.Record{Plan: r.Plan}
	s.Plan.Seed, s.Plan.Command, s.Plan.Workload = 0, "", ""
	s.Env = results.Env{OS: r.Env.OS, Arch: r.Env.Arch, CPU: r.Env.CPU, CPUs: r.Env.CPUs, GOMAXPROCS: r.Env.GOMAXPROCS}
	s.Server = results.Server{Kind: r.Server.Kind, Name: r.Server.Name}
	if r.Server.Kind == "external" {
		s.Server.Addr = r.Server.Addr
	}
	return s
}

// pointRows returns a row for each point, and the line through its locks/s. A change is one from the last known figure.
func pointRows(p *past, all []point) (rows []Row, line Series) {
	tail := "acquire.p99"
	if c := (&results.Cell{Trials: p.Of[p.Keys[0]]}); c.Open() {
		tail = "response.p99"
	}
	var t Table
	before := map[string]float64{"locks/s": math.NaN(), tail: math.NaN()}
	for _, at := range p.Keys {
		trials := p.Of[at]
		texts := []string{at.day, shortRevision(at.revision), strconv.Itoa(len(trials))}
		for _, name := range []string{"locks/s", tail} {
			m, _ := metric.Named(name)
			v := stats.Of(m.Values(trials)).Median
			texts = append(texts, m.Unit.Format(v), format.Change(v/before[name]-1))
			if !math.IsNaN(v) {
				before[name] = v
			}
			if name != tail {
				line.Points = append(line.Points, Point{X: float64(slices.Index(all, at)), Y: v})
			}
		}
		t.row(texts...).Marks = pointMarks(trials)
	}
	return t.Rows, line
}

// pointMarks returns what makes the figures of trials doubtful.
func pointMarks(trials []*results.Record) (marks []Mark) {
	sound := func(r *results.Record) bool { return !r.Generator.Saturated }
	saturated := len(slices.DeleteFunc(slices.Clone(trials), sound))
	if violations := (&results.Cell{Trials: trials}).Broken(); violations > 0 {
		marks = append(marks, Mark{"violated", format.Count(violations), "two clients held a key at once", Bad})
	}
	if saturated > 0 {
		share := fmt.Sprintf("%d/%d", saturated, len(trials))
		marks = append(marks, Mark{"saturated", share, "lockbench was at its limit", Warn})
	}
	return marks
}

// shortRevision returns a revision as it fits into a column: of a build without a tag the hash.
func shortRevision(name string) string {
	if i := strings.LastIndexByte(name, '-'); len(name)-i == 13 {
		name = name[i+1:]
	}
	return format.Cut(name, 16)
}
