package report

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/spec"
)

// recorded returns the cells of a run that is kept with the scripts.
func recorded(t testing.TB, name string) []*results.Cell {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "..", "scripts", "recorded", name+".jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all results.Collector
	if _, err := results.Read(results.Inflate(f), all.Add); err != nil {
		t.Fatal(err)
	}
	return all.Cells()
}

// plantedLatency returns a distribution with a value of its own for each percentile, in milliseconds from at: 1 for the median, and
// 2, 3 and 4 for p90, p99 and p99.9.
func plantedLatency(at int) results.Latency {
	rec := results.NewRecorder(1)
	shard := rec.Borrow()
	for i, n := range []int{5500, 3600, 810, 81, 9} {
		for range n {
			shard.Record(results.AcquireIndex, time.Duration(at+i+1)*time.Millisecond)
		}
	}
	return rec.Latencies()[results.Acquire]
}

// plantedCell returns a cell of two trials, with two classes, whose metrics all have percentiles of their own.
func plantedCell(t *testing.T) *results.Cell {
	t.Helper()
	var recs []*results.Record
	for n := range 2 {
		r := *recorded(t, "front-door")[0].First()
		r.ID, r.Trial, r.Partial, r.Started = string(rune('a'+n)), n+1, "", time.Unix(int64(n), 0)
		r.Latency = map[results.Metric]results.Latency{results.Acquire: plantedLatency(10), results.Handoff: plantedLatency(20), results.Release: plantedLatency(30)}
		r.Plan.Classes = []spec.Class{{Name: "slow", Load: r.Plan.Load}, {Name: "open", Load: r.Plan.Load}}
		r.Plan.Classes[1].Rate = spec.Must(spec.ParseRate("1000"))
		r.Classes = []results.ClassResult{
			{Name: "slow", Latency: map[results.Metric]results.Latency{results.Acquire: plantedLatency(40), results.Response: plantedLatency(50)}},
			{Name: "open", Latency: map[results.Metric]results.Latency{results.Acquire: plantedLatency(60), results.Response: plantedLatency(70)}},
		}
		recs = append(recs, &r)
	}
	cells, err := results.Group(recs)
	if err != nil || len(cells) != 1 {
		t.Fatal(len(cells), err)
	}
	return cells[0]
}

// TestPlantedPage looks for each percentile in each place where the page has it.
func TestPlantedPage(t *testing.T) {
	c := plantedCell(t)
	c.Latency[results.Response] = results.Latency{} // the page shows what the clients wait for: here the acquisition
	v := newRunPage([]*results.Cell{c})
	ms := func(n int) string { return format.Duration(time.Duration(n) * time.Millisecond) }

	for q, want := range map[float64]float64{0.5: 11, 0.9: 12, 0.99: 13, 0.999: 14} {
		if got := c.Latency[results.Acquire].Quantile(q) / 1e6; math.Abs(got-want) > 0.02 {
			t.Errorf("the %v quantile is %v ms, want %v", q, got, want)
		}
	}
	if text := v.latency(shownPageRows).Blocks[0].(Paragraph).Text; !strings.Contains(text, ms(13)) {
		t.Errorf("the finding on the wait is %q, want %s", text, ms(13))
	}
	if key := v.key(); key[len(key)-1].Unit != "p99" || key[len(key)-1].Value != ms(13) {
		t.Errorf("the key figures are %+v", key)
	}
	row := v.latency(shownPageRows).Blocks[1].(Intervals).Rows[0]
	if row.Value != "p99 "+ms(13) || !strings.HasPrefix(row.Beside, "p50 "+ms(11)+" · p99.9 "+ms(14)) {
		t.Errorf("the row of the latency is %q beside %q", row.Value, row.Beside)
	}
	for _, trial := range tableIn(v.details().Blocks[0].(Section)).Rows {
		if trial.Cells[2].Text != ms(11) || trial.Cells[3].Text != ms(13) {
			t.Errorf("a trial is %+v", trial)
		}
	}
	if cells := tableIn(v.fairness()).Rows[0].Cells; cells[1].Text != ms(21) || cells[2].Text != ms(23) {
		t.Errorf("the hand-off is %q, %q", cells[1].Text, cells[2].Text)
	}
	if d := RunPage([]*results.Cell{c}, nil); !slices.ContainsFunc(d.Blocks, func(b Block) bool {
		s, is := b.(Section)
		return is && s.ID == "classes"
	}) {
		t.Error("the page has no classes")
	}
	for i, at := range []int{50, 40, 70, 60} { // response and acquisition of each class
		if cells := classTable(c).Rows[i/2].Cells[2+i%2*2:]; cells[0].Text != ms(at+1) || cells[1].Text != ms(at+3) {
			t.Errorf("class %d has %q, %q", i/2, cells[0].Text, cells[1].Text)
		}
	}
}

// tableIn returns the first table of a section.
func tableIn(s Section) Table {
	for _, b := range s.Blocks {
		if t, is := b.(Table); is {
			return t
		}
	}
	return Table{}
}

// TestPlantedCurve holds the curve over the percentiles to the spelt ones, with a histogram and without.
func TestPlantedCurve(t *testing.T) {
	whole := plantedLatency(10)
	bare := whole
	bare.HDR = ""
	for name, l := range map[string]results.Latency{"histogram": whole, "quantiles": bare} {
		at := percentileCurve(l)
		for q, want := range map[float64]float64{0.5: 11, 0.9: 12, 0.99: 13, 0.999: 14} {
			got := math.NaN()
			for _, p := range at {
				if p.X <= -math.Log10(1-q)+1e-9 {
					got = p.Y / 1e6
				}
			}
			if math.Abs(got-want) > 0.02 {
				t.Errorf("%s: the curve has %v ms at %v, want %v", name, got, q, want)
			}
		}
	}
}
