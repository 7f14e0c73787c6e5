package report

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
)

// changed returns a record for each change of it.
func changed(of func(int) *results.Record, changes ...func(*results.Record)) (recs []*results.Record) {
	for i, change := range changes {
		r := of(i)
		r.ID = fmt.Sprint("changed", i)
		change(r)
		recs = append(recs, r)
	}
	return recs
}

func clients(n int, lock string) func(*results.Record) {
	return func(r *results.Record) { r.Plan.Clients, r.Plan.Lock = n, lock }
}

// TestPictures: which are drawn of which cells, the one that says most first, and their lines.
func TestPictures(t *testing.T) {
	keys := func(n int) func(*results.Record) { return func(r *results.Record) { r.Plan.Keys = n } }
	rate := func(text string) func(*results.Record) {
		return func(r *results.Record) { r.Plan.Rate = spec.Must(spec.ParseRate(text)) }
	}
	for want, recs := range map[string][]*results.Record{
		"percentiles 1":                          changed(record, func(*results.Record) {}),
		"percentiles 2":                          changed(opened, func(*results.Record) {}),
		"throughput 2, latency 2, percentiles 2": changed(record, clients(8, "set-nx"), clients(8, "fenced")),
		"clients 1, clients-wait 1, throughput 3, latency 3, percentiles 3": changed(record, clients(1, "set-nx"), clients(8, "set-nx"),
			clients(64, "set-nx")),
		"clients 2, clients-wait 2, throughput 6, latency 6, percentiles 2": changed(record, clients(1, "set-nx"), clients(8, "set-nx"),
			clients(64, "set-nx"), clients(1, "fenced"), clients(8, "fenced"), clients(64, "fenced")),
		"throughput 4, latency 4, percentiles 2": changed(record, clients(8, "set-nx"), clients(8, "fenced"), clients(64, "set-nx"),
			clients(64, "fenced")),
		"keys 1, keys-wait 1, throughput 3, latency 3, percentiles 3":     changed(record, keys(1), keys(2), keys(9)),
		"rate-wait 2, rate 1, throughput 3, latency 3, percentiles 3":     changed(opened, rate("100"), rate("200"), rate("900")),
		"throughput 2, latency 2, percentiles 2, course 2, course-wait 2": changed(record, series(9, 2000), series(9, 2000)),
	} {
		var got []string
		for _, c := range Pictures(cellsOf(t, recs...)) {
			got = append(got, fmt.Sprintf("%s %d", c.Name, len(c.Series)))
		}
		if got := strings.Join(got, ", "); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// series gives a record so many seconds, each with so many grants.
func series(n int, acquired int64) func(*results.Record) {
	return func(r *results.Record) {
		r.Plan.Lock = fmt.Sprint(r.Plan.Lock, r.Plan.Seed)
		for i := range n {
			r.Series = append(r.Series, results.Interval{At: time.Duration(i) * time.Second, Length: time.Second, Warmup: i < 2,
				Acquired: acquired, P99: 2 * time.Millisecond, Max: 9 * time.Millisecond})
		}
	}
}

// TestFewValues: of too few values no p99 is drawn, and a second without a grant is a gap.
func TestFewValues(t *testing.T) {
	few := changed(record, series(4, 20), series(4, 20))
	few[0].Series[3] = results.Interval{At: 3 * time.Second, Length: time.Second, Violations: 2}
	cells := cellsOf(t, few...)
	for _, c := range cells {
		c.Latency = map[results.Metric]results.Latency{results.Acquire: {Count: 20, P50: 1e6, P99: 5e6, Max: 5e6}}
	}
	for _, c := range Pictures(cells) {
		p := c.Series[0].Points
		switch c.Name {
		case "throughput":
			if strings.Contains(c.Series[0].Text, "·") {
				t.Errorf("a p99 of 20 values: %s", c.Series[0].Text)
			}
		case "latency":
			if p[0].Low != 1e6 || !math.IsNaN(p[0].X) || !math.IsNaN(p[0].High) || c.Series[0].Text != "p50 1.00 ms" {
				t.Errorf("%+v %s", p[0], c.Series[0].Text)
			}
		case "course":
			if last := c.Series[len(c.Series)-1]; last.Name != "violations" || len(last.Points) != 1 || c.Shade != 2e9 {
				t.Errorf("%+v, shaded %+v", last, c.Shade)
			}
		case "course-wait":
			if p[1].Y != 9e6 {
				t.Errorf("longest wait %v", p[1].Y)
			}
		}
	}
	open := cellsOf(t, opened(0))
	open[0].Latency = map[results.Metric]results.Latency{results.Response: {Count: 3}}
	if all := Pictures(open); len(all) > 0 {
		t.Errorf("of 3 responses: %+v", all)
	}
}

// TestLive: progress and the present trial stand before what is known.
func TestLive(t *testing.T) {
	r := changed(opened, series(4, 2000))[0]
	l := &Live{Command: "lockbench run", Doing: "trial 3 of 12", Words: []string{"measure 4s of 10s", "3 errors", "2m left"},
		Series: r.Series, Length: 12 * time.Second, Violated: true}
	found := &Document{Title: "7,000 locks/s", Blocks: []Block{{Heading: "Found", Text: []Text{{Text: "so far"}}}}}
	golden(t, "live", l.Document(found))
	if d := l.Document(nil); !strings.HasPrefix(d.Title, "2,000") || !strings.HasPrefix(d.When, "trial") || len(d.Blocks) != 2 {
		t.Error(dump(d))
	}
	l.Words, l.Series = nil, nil
	if d := l.Document(nil); d.Title != l.Doing || d.Blocks != nil {
		t.Error(dump(d))
	}
}
