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

// listedPoints is how many points of a cell have a row. Its chart has all.
const listedPoints = 20

// point is what was measured of a revision on one day.
type point struct{ revision, day string }

// History returns what plans gave over revisions: of each plan on one kind of server and machine a chart of the medians, and a
// row for each of the last points. Records of runs that ended early are left out.
func History(cells []*results.Cell) *Document {
	var pasts view.Grouped[string, *results.Record]
	partial, trials, revisions := 0, 0, map[string]bool{}
	for _, c := range cells {
		for _, r := range c.Trials {
			if r.Partial != "" {
				partial++
				continue
			}
			trials, revisions[revisionOf(r)] = trials+1, true
			key, _ := json.Marshal(sampleOf(r)) // as it was read
			pasts.Add(string(key), r)
		}
	}
	var samples []*results.Cell
	for _, key := range pasts.Keys {
		samples = append(samples, &results.Cell{Trials: []*results.Record{sampleOf(pasts.Of[key][0])}})
	}
	d := &Document{Kind: "lockbench history", Title: fmt.Sprintf("%s of %s over %s", format.Plural(trials, "trial"),
		format.Plural(len(samples), "cell"), format.Plural(len(revisions), "revision"))}
	d.add(Paragraph{Text: view.InCommon(samples)})
	for i, name := range view.Labels(samples) {
		name = cmp.Or(name, samples[i].First().Plan.Driver+" · "+samples[i].First().Plan.Lock)
		d.add(Section{ID: "cell-" + strconv.Itoa(i+1), Title: format.Line(name), Folded: true, Open: true, Blocks: past(pasts.Of[pasts.Keys[i]])})
	}
	if partial > 0 {
		d.add(note(format.Plural(partial, "record") + " of runs that ended early: left out."))
	}
	return d
}

func revisionOf(r *results.Record) string { return cmp.Or(r.Env.Revision, r.Env.Lockbench) }

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

// shortRevision returns a revision as it fits into a column: of a build without a tag the hash.
func shortRevision(name string) string {
	if i := strings.LastIndexByte(name, '-'); len(name)-i == 13 {
		name = name[i+1:]
	}
	return format.Cut(format.Clean(name), 16)
}

// past draws the course of the figures of a cell, and has a row a point.
func past(trials []*results.Record) []Block {
	var points view.Grouped[point, *results.Record]
	slices.SortStableFunc(trials, func(a, b *results.Record) int { return a.Started.Compare(b.Started) })
	for _, r := range trials {
		points.Add(point{revisionOf(r), r.Started.UTC().Format(time.DateOnly)}, r)
	}
	t := Table{Caption: "Points", Columns: []Column{{Title: "date", Left: true}, {Title: "revision", Left: true}, {Title: "n"}}}
	for _, p := range points.Keys {
		t.Rows = append(t.Rows, Row{Cells: values(p.day, shortRevision(p.revision), strconv.Itoa(len(points.Of[p])))})
	}
	latency := "acquire.p99"
	if slices.ContainsFunc(trials[0].Plan.Groups(), func(g spec.Class) bool { return g.Open() }) {
		latency = "response.p99"
	}
	var facts Facts
	for _, name := range []string{"locks/s", latency} {
		f, _ := metric.Named(name)
		course := &Course{}
		for _, p := range points.Keys {
			course.Values = append(course.Values, stats.Of(f.Values(points.Of[p])).Median)
		}
		low, high := course.Range()
		if low > high {
			continue // nobody knows the figure
		}
		facts = append(facts, Fact{Label: name, Course: course, Lines: []string{format.Glue(f.Unit.Format(low) + " to " + f.Unit.Format(high))}})
		t.Columns = append(t.Columns, Column{Title: name}, Column{Title: "change", Drop: 1})
		before := math.NaN()
		for i, v := range course.Values {
			t.Rows[i].Cells = append(t.Rows[i].Cells, values(f.Unit.Format(v), format.Change(v/before-1))...)
			if !math.IsNaN(v) {
				before = v
			}
		}
	}
	from, noted := max(0, len(t.Rows)-listedPoints), false
	for i, p := range points.Keys {
		notes := pointNotes(points.Of[p])
		t.Rows[i].Cells = append(t.Rows[i].Cells, values(notes)...)
		noted = noted || i >= from && notes != ""
	}
	if noted {
		t.Columns = append(t.Columns, Column{Title: "notes", Left: true})
	}
	t.Rows = t.Rows[from:]
	return []Block{facts, t}
}

// pointNotes returns what makes the figures of trials doubtful.
func pointNotes(trials []*results.Record) string {
	violations, saturated := int64(0), 0
	for _, r := range trials {
		violations += r.Broken()
		if r.Generator.Saturated {
			saturated++
		}
	}
	var words []string
	if violations > 0 {
		words = append(words, format.Plural(violations, "violation"))
	}
	if saturated > 0 {
		words = append(words, fmt.Sprintf("saturated %d/%d", saturated, len(trials)))
	}
	return strings.Join(words, ", ")
}
