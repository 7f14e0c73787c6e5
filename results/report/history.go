package report

// The document of a history: what each cell gave at each revision.

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
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/results/stats"
	"github.com/lockbench/lockbench/results/view"
)

// History collects records, one at a time and in any order, and keeps a few numbers of each. A cell is a plan on one kind of
// server and one machine; a point is what was measured of a revision on one day, as the median over its trials. Records of runs
// that ended early, and records that came before, are left out and counted. The zero value is empty.
type History struct {
	Records, Partial, Again int

	cells []*past
	seen  map[string]bool
}

// past is a cell over time.
type past struct {
	key     string
	sample  *results.Record // what its records have in common
	figures []*metric.Metric
	points  []*point
}

// point is a point.
type point struct {
	revision   string
	day        time.Time
	values     [][]float64 // of each figure, a value a trial
	saturated  int
	violations int64
}

// Add takes a valid record, and keeps no pointer into it.
func (h *History) Add(r *results.Record) error {
	if h.seen == nil {
		h.seen = map[string]bool{}
	}
	switch {
	case h.seen[r.ID]:
		h.Again++
		return nil
	case r.Partial != "":
		h.Partial++
		return nil
	}
	h.seen[r.ID] = true
	h.Records++
	c := h.cell(r)
	revision, day := cmp.Or(r.Env.Revision, r.Env.Lockbench), r.Started.UTC().Truncate(24*time.Hour)
	i := slices.IndexFunc(c.points, func(p *point) bool { return p.revision == revision && p.day.Equal(day) })
	if i < 0 {
		i, c.points = len(c.points), append(c.points, &point{revision: revision, day: day, values: make([][]float64, len(c.figures))})
	}
	p := c.points[i]
	for j, f := range c.figures {
		p.values[j] = append(p.values[j], f.Of(r.Figures()))
	}
	p.violations += r.Broken()
	if r.Generator.Saturated {
		p.saturated++
	}
	return nil
}

// cell returns the cell of a record. What may change with time, such as versions, does not make another one.
func (h *History) cell(r *results.Record) *past {
	s := &results.Record{Schema: results.SchemaVersion, Plan: r.Plan, Trial: 1}
	s.Plan.Seed, s.Plan.Command, s.Plan.Workload = 0, "", ""
	s.Env = results.Env{OS: r.Env.OS, Arch: r.Env.Arch, CPU: r.Env.CPU, CPUs: r.Env.CPUs, GOMAXPROCS: r.Env.GOMAXPROCS}
	s.Server = results.Server{Kind: r.Server.Kind, Name: r.Server.Name}
	if r.Server.Kind == "external" {
		s.Server.Addr = r.Server.Addr
	}
	key, _ := json.Marshal(s) // as it was read
	i := slices.IndexFunc(h.cells, func(c *past) bool { return c.key == string(key) })
	if i >= 0 {
		return h.cells[i]
	}
	latency := "acquire.p99"
	if slices.ContainsFunc(r.Plan.Groups(), func(g spec.Class) bool { return g.Open() }) {
		latency = "response.p99"
	}
	c := &past{key: string(key), sample: s}
	s.Plan.Classes, s.Traits = slices.Clone(r.Plan.Classes), r.Traits
	for _, name := range []string{"locks/s", latency} {
		f, _ := metric.Named(name)
		c.figures = append(c.figures, f)
	}
	h.cells = append(h.cells, c)
	return c
}

// Document returns the course of each cell and its last points, so many or for 0 all.
func (h *History) Document(last int) *Document {
	var cells []*results.Cell
	revisions := map[string]bool{}
	for _, c := range h.cells {
		cells = append(cells, &results.Cell{Trials: []*results.Record{c.sample}})
		slices.SortStableFunc(c.points, func(a, b *point) int { return a.day.Compare(b.day) })
		for _, p := range c.points {
			revisions[p.revision] = true
		}
	}
	d := &Document{Kind: "lockbench history", Title: fmt.Sprintf("%s of %s over %s", format.Plural(h.Records, "trial"),
		format.Plural(len(cells), "cell"), format.Plural(len(revisions), "revision"))}
	d.add(Paragraph{Text: view.InCommon(cells)})
	for i, name := range view.Labels(cells) {
		name = cmp.Or(name, h.cells[i].sample.Plan.Driver+" · "+h.cells[i].sample.Plan.Lock)
		d.add(Section{ID: "cell-" + strconv.Itoa(i+1), Title: format.Line(name), Folded: true, Open: true, Blocks: h.cells[i].blocks(last)})
	}
	if h.Partial > 0 {
		d.add(note(format.Plural(h.Partial, "record") + " of runs that ended early: left out."))
	}
	if h.Again > 0 {
		d.add(note(format.Plural(h.Again, "record") + " read before: left out."))
	}
	return d
}

// blocks draw the course of the figures of a cell, and have a row a point.
func (c *past) blocks(last int) []Block {
	var facts Facts
	from := 0
	if last > 0 {
		from = max(0, len(c.points)-last)
	}
	t := Table{Caption: "Points", Columns: []Column{{Title: "date", Left: true}, {Title: "revision", Left: true}, {Title: "n"}}}
	for _, p := range c.points {
		t.Rows = append(t.Rows, Row{Cells: values(p.day.Format(time.DateOnly), format.Cut(revisionName(p.revision), 24), strconv.Itoa(len(p.values[0])))})
	}
	for j, f := range c.figures {
		course, before, known := &Course{}, math.NaN(), false // whether there is an interval
		var points []stats.Estimate
		for _, p := range c.points {
			e := stats.Of(p.values[j])
			points, course.Values, known = append(points, e), append(course.Values, e.Median), known || e.Known()
		}
		low, high := course.Range()
		if low > high {
			continue // nobody knows the figure
		}
		facts = append(facts, Fact{Label: f.Name, Course: course, Lines: []string{format.Glue(f.Unit.Format(low) + " to " + f.Unit.Format(high))}})
		t.Columns = append(t.Columns, Column{Title: f.Name}, Column{Title: "change", Drop: 1})
		if known {
			t.Columns = append(t.Columns, Column{Title: "±", Drop: 2})
		}
		for i, e := range points {
			cells := values(f.Unit.Format(e.Median), format.Change(e.Median/before-1))
			if known {
				cells = append(cells, values(view.HalfWidth(e))...)
			}
			t.Rows[i].Cells = append(t.Rows[i].Cells, cells...)
			if e.N > 0 {
				before = e.Median
			}
		}
	}
	if slices.ContainsFunc(c.points[from:], func(p *point) bool { return p.notes() != "" }) {
		t.Columns = append(t.Columns, Column{Title: "notes", Left: true})
		for i, p := range c.points {
			t.Rows[i].Cells = append(t.Rows[i].Cells, values(p.notes())...)
		}
	}
	t.Rows = t.Rows[from:]
	return []Block{facts, t}
}

// notes return what makes a point's figures doubtful.
func (p *point) notes() string {
	var words []string
	if p.violations > 0 {
		words = append(words, format.Plural(p.violations, "violation"))
	}
	if p.saturated > 0 {
		words = append(words, fmt.Sprintf("saturated %d/%d", p.saturated, len(p.values[0])))
	}
	return strings.Join(words, ", ")
}

// revisionName returns a revision as short as it can be told from others: Go's names of untagged builds and git's hashes have
// a part that does it.
func revisionName(revision string) string {
	name, dirty := strings.CutSuffix(revision, "+dirty")
	if parts := strings.Split(name, "-"); len(parts) >= 3 && len(parts[len(parts)-1]) == 12 && isHex(parts[len(parts)-1]) {
		name = parts[len(parts)-1]
	} else if len(name) == 40 && isHex(name) {
		name = name[:12]
	}
	if dirty {
		name += "+dirty"
	}
	return format.Clean(name)
}

func isHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }
