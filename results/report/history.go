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

func pointOf(r *results.Record) point {
	return point{r.Started.UTC().Format(time.DateOnly), cmp.Or(r.Env.Revision, r.Env.Lockbench)}
}

// History returns what plans gave over revisions, each on one kind of server and machine. Records of runs that ended
// early are left out.
func History(cells []*results.Cell) *Document {
	var trials []*results.Record
	for _, c := range cells {
		trials = append(trials, c.Trials...)
	}
	slices.SortStableFunc(trials, func(a, b *results.Record) int { return a.Started.Compare(b.Started) })
	whole := slices.DeleteFunc(slices.Clone(trials), func(r *results.Record) bool { return r.Partial != "" })
	var pasts view.Grouped[string, *results.Record]
	var samples []*results.Cell
	var all []point
	for _, r := range whole {
		sample := sampleOf(r)
		key, _ := json.Marshal(sample) // it has been read from JSON
		if pasts.Of[string(key)] == nil {
			samples = append(samples, &results.Cell{Trials: []*results.Record{sample}})
		}
		if pasts.Add(string(key), r); !slices.Contains(all, pointOf(r)) {
			all = append(all, pointOf(r))
		}
	}
	common := view.Common(samples, func(a view.Axis) bool {
		return slices.Contains([]string{"at", "io-timeout", "node-timeout"}, a.Title)
	})
	d := &Document{Command: "lockbench history", Title: format.Plural(len(samples), "cell") + " over revisions",
		When: format.Join(format.Plural(len(all), "point"), common)}
	c := &Chart{Name: "history", Title: "locks/s over revisions"}
	c.X, c.Y = Axis{Name: "revision"}, Axis{Name: "locks/s", Label: metric.PerSecond.Format}
	for i := 0; i < len(all); i += 1 + len(all)/6 {
		c.X.Ticks = append(c.X.Ticks, Line{float64(i), shortRevision(all[i].revision)})
	}
	last := columns("date", "revision", "n", "locks/s", "change", "p99", "change")
	last.Columns[1].Left, last.Columns[2].About, last.Columns[6].Drop = true, "trials; the figures are medians", 1
	last.Columns[5].About = "of the wait; in an open loop of the response"
	every := &Table{Columns: last.Columns}
	for i, name := range view.Names(samples) {
		rows, line := pointRows(pasts.Of[pasts.Keys[i]], all)
		line.Name = name
		c.Series = append(c.Series, line)
		listed := slices.Clone(rows[max(0, len(rows)-max(2, listedPoints/len(samples))):])
		if len(samples) > 1 {
			rows[0].Group, listed[0].Group = line.Name, line.Name
		} else {
			newest := rows[len(rows)-1].Cells
			d.Title = fmt.Sprintf("%s locks/s at %s · change %s", newest[3].Text, newest[1].Text, newest[4].Text)
		}
		last.Rows, every.Rows = append(last.Rows, listed...), append(every.Rows, rows...)
	}
	left := format.Labelled("partial records", int64(len(trials)-len(whole)))
	d.add(Block{Table: last}, Block{Table: facts("left out", left)}, Block{Chart: c})
	if len(every.Rows) > len(last.Rows) {
		d.add(Block{Heading: "All points", Detail: true, Table: every})
	}
	return d
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
func pointRows(trials []*results.Record, all []point) (rows []Row, line Series) {
	var at view.Grouped[point, *results.Record]
	for _, r := range trials {
		at.Add(pointOf(r), r)
	}
	tail := "acquire.p99"
	if c := (&results.Cell{Trials: trials}); c.Open() {
		tail = "response.p99"
	}
	var t Table
	before := map[string]float64{"locks/s": math.NaN(), tail: math.NaN()}
	for _, here := range at.Keys {
		trials := at.Of[here]
		texts := []string{here.day, shortRevision(here.revision), strconv.Itoa(len(trials))}
		for _, name := range []string{"locks/s", tail} {
			m, _ := metric.Named(name)
			v := stats.Of(m.Values(trials)).Median
			texts = append(texts, m.Unit.Format(v), format.Change(v/before[name]-1))
			if !math.IsNaN(v) {
				before[name] = v
			}
			if name != tail {
				line.Points = append(line.Points, Point{X: float64(slices.Index(all, here)), Y: v})
			}
		}
		row := t.row(texts...)
		if n := (&results.Cell{Trials: trials}).Broken(); n > 0 {
			row.Marks = append(row.Marks, Mark{"violated", format.Count(n), "two clients held a key at once", Bad})
		}
		if slices.ContainsFunc(trials, func(r *results.Record) bool { return r.Generator.Saturated }) {
			row.Marks = append(row.Marks, Mark{"saturated", "", "lockbench was at its limit", Warn})
		}
	}
	return t.Rows, line
}

// shortRevision returns a revision as it fits into a column: of a build without a tag the hash.
func shortRevision(name string) string {
	if i := strings.LastIndexByte(name, '-'); len(name)-i == 13 {
		name = name[i+1:]
	}
	return format.Cut(name, 16)
}
