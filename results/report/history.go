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

// newestPoints is how many points of all cells have a row without -v.
const newestPoints = 4

// point is one revision on one day.
type point struct{ day, revision string }

// past is the records of one plan on one kind of server and machine.
type past struct {
	at       view.Grouped[point, *results.Record]
	rows     []Row   // one for each point
	line     Series  // through its locks/s
	last     string  // what the title says of its last point
	change   float64 // of its locks/s there; infinite if it is not known
	violated bool    // there
}

// History returns what plans gave over revisions. Of records of runs that ended early only the violations count. Its tone
// is bad if mutual exclusion was violated at the last point of a cell.
func History(cells []*results.Cell) *Document {
	var trials []*results.Record
	for _, c := range cells {
		trials = append(trials, c.Trials...)
	}
	slices.SortStableFunc(trials, func(a, b *results.Record) int { return a.Started.Compare(b.Started) })
	var points []point
	var samples []*results.Cell
	var pasts []*past
	of, partial := map[string]*past{}, int64(0)
	for _, r := range trials {
		if r.Partial != "" {
			if partial++; !r.Violated() {
				continue
			}
		}
		sample := sampleOf(r)
		key, _ := json.Marshal(sample) // it has been read from JSON
		p := of[string(key)]
		if p == nil {
			p = &past{}
			of[string(key)], pasts = p, append(pasts, p)
			samples = append(samples, &results.Cell{Trials: []*results.Record{sample}})
		}
		here := point{r.Started.UTC().Format(time.DateOnly), cmp.Or(r.Env.Revision, r.Env.Lockbench)}
		if p.at.Add(here, r); !slices.Contains(points, here) {
			points = append(points, here)
		}
	}
	titles := []string{"date", "revision", "trials", "locks/s", "median p99", "cell"}
	titles = titles[:min(len(titles), 4+len(pasts))] // one cell needs no name
	for i, name := range view.Names(samples) {
		if pasts[i].tell(name, points, len(titles)); len(pasts) > 1 {
			pasts[i].last = spaced(name) + ": " + pasts[i].last
		}
	}
	slices.SortStableFunc(pasts, func(a, b *past) int {
		if a.violated != b.violated {
			return map[bool]int{true: -1, false: 1}[a.violated]
		}
		return cmp.Compare(a.change, b.change)
	})
	t := columns(titles...)
	t.Columns[1].Left, t.Columns[len(titles)-1].Left = true, len(pasts) > 1
	t.Columns[3].About, t.Columns[4].About = "median, and its change", "of the trials; in an open loop the response"
	c := &Chart{Name: "history", Title: "locks/s over revisions", X: Axis{Name: "revision"},
		Y: Axis{Name: "locks/s", Label: metric.PerSecond.Format}}
	for i := 0; i < len(points); i += 1 + len(points)/6 {
		c.X.Ticks = append(c.X.Ticks, Line{float64(i), shortRevision(points[i].revision)})
	}
	newest, each := *t, max(1, newestPoints/len(pasts))
	for _, p := range pasts {
		newest.Rows = append(newest.Rows, p.rows[max(0, len(p.rows)-each):]...)
		t.Rows, c.Series = append(t.Rows, p.rows...), append(c.Series, p.line)
	}
	newest.rest(newestPoints, "")
	d := &Document{Command: "lockbench history", Title: pasts[0].last}
	switch n := len(pasts); {
	case pasts[0].violated:
		d.Title, d.Tone = "✗ mutual exclusion violated: "+d.Title, Bad
	case n > 1 && math.IsInf(pasts[0].change, 1):
		d.Title = fmt.Sprintf("nothing to compare: no cell of %d has two points", n)
	case n > 1:
		d.Title = fmt.Sprintf("%d cells · %s", n, d.Title)
	}
	d.When = format.Join(format.Plural(len(t.Rows), "point"), asked(samples), format.Labelled("without partial records:", partial))
	d.add(Block{Table: &newest}, Block{Chart: c})
	if len(t.Rows) > len(newest.Rows) {
		d.add(Block{Heading: fmt.Sprintf("All %d points", len(t.Rows)), Detail: true, Table: t})
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

// tell makes the rows of a past, of so many columns, and its line. A change is one from the last known figure.
func (p *past) tell(name string, points []point, columns int) {
	var t Table
	before := map[string]float64{}
	for _, here := range p.at.Keys {
		c, tail := &results.Cell{Trials: p.at.Of[here]}, "acquire.p99"
		if c.Open() {
			tail = "response.p99"
		}
		whole := slices.DeleteFunc(slices.Clone(c.Trials), func(r *results.Record) bool { return r.Partial != "" })
		figure := func(name string) (v float64, text, change string) {
			m, _ := metric.Named(name)
			v, p.change = stats.Of(m.Values(whole)).Median, math.Inf(1)
			if v > 0 && before[name] > 0 {
				p.change = v/before[name] - 1
				change = " (" + format.Change(p.change) + ")"
			}
			if v > 0 {
				before[name] = v
			}
			return v, m.Unit.Format(v), change
		}
		_, wait, waits := figure(tail)
		v, rate, rates := figure("locks/s")
		revision := shortRevision(here.revision)
		p.last, p.violated = rate+" locks/s at "+revision+rates, c.Violated()
		p.line.Points = append(p.line.Points, Point{X: float64(slices.Index(points, here)), Y: v})
		texts := []string{here.day, revision, strconv.Itoa(len(whole)), rate + rates, wait + waits, name}
		row := t.row(texts[:columns]...)
		if n := c.Broken(); n > 0 {
			row.Marks = append(row.Marks, Mark{"violated", format.Count(n), "two clients held a key at once", Bad})
		}
		if slices.ContainsFunc(whole, func(r *results.Record) bool { return r.Generator.Saturated }) {
			row.Marks = append(row.Marks, Mark{"saturated", "", "lockbench or its machine was too busy: the lock may do better", Warn})
		}
	}
	p.rows, p.line.Name = t.Rows, name
}

// shortRevision returns a revision as it fits into a column: of a build without a tag the hash.
func shortRevision(name string) string {
	if i := strings.LastIndexByte(name, '-'); len(name)-i == 13 {
		name = name[i+1:]
	}
	return format.Cut(name, 16)
}
