package results

import (
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"
)

// trial returns a whole trial with that many grants in its four seconds.
func trial(n int, acquired int64) *Record {
	r := numbered(n)
	r.Counts.Acquired = acquired
	return r
}

// shape writes the cells as lists of record IDs.
func shape(cells []*Cell) string {
	var all []string
	for _, c := range cells {
		var ids []string
		for _, r := range c.Trials {
			ids = append(ids, r.ID)
		}
		all = append(all, strings.Join(ids, " "))
	}
	return strings.Join(all, " | ")
}

func TestGroup(t *testing.T) {
	external := func(a, b *Record) {
		a.Server.Kind, b.Server.Kind, b.Server.Addr = "external", "external", "elsewhere:6379"
	}
	withoutSides := func(a, b *Record) { a.Side, a.Pair, b.Side, b.Pair, b.Run = "", 0, "", 0, "run2" }
	for _, both := range []struct {
		change func(a, b *Record)
		want   string
	}{{external, "r1 | r2"}, {withoutSides, "r1 r2"}} {
		a, b := trial(1, 100), trial(2, 100)
		both.change(a, b)
		if cells, err := Group([]*Record{a, b}); err != nil || shape(cells) != both.want {
			t.Errorf("%s, %v; want %s", shape(cells), err, both.want)
		}
	}
	for _, c := range []struct {
		name   string
		change func(b *Record)
		want   string
	}{
		{"same", func(*Record) {}, "r1 r2"},
		{"seed", func(b *Record) { b.Plan.Seed++ }, "r1 r2"},
		{"command", func(b *Record) { b.Plan.Command = "other" }, "r1 r2"},
		{"address of a private server", func(b *Record) { b.Server.Addr = "127.0.0.1:7001" }, "r1 r2"},
		{"when", func(b *Record) { b.Started = b.Started.Add(time.Hour) }, "r1 r2"},
		{"connections", func(b *Record) { b.Server.Connections++ }, "r1 r2"},
		{"what happened to the server", func(b *Record) { b.Server.Replaced, b.Server.Evicted = true, 5 }, "r1 r2"},
		{"durability", func(b *Record) { b.Plan.Durability = "strict" }, "r1 | r2"},
		{"driver", func(b *Record) { b.Plan.Driver = "go-redis" }, "r1 | r2"},
		{"hold", func(b *Record) { b.Plan.Hold++ }, "r1 | r2"},
		{"oracle", func(b *Record) { b.Plan.Oracle = false }, "r1 | r2"},
		{"traits", func(b *Record) { b.Traits.Fair = false }, "r1 | r2"},
		{"persistence", func(b *Record) { b.Server.Persistence = "rdb" }, "r1 | r2"},
		{"version", func(b *Record) { b.Env.Lockbench = "v0.2.0" }, "r1 | r2"},
		{"library", func(b *Record) { b.Env.Libraries = map[string]string{"rueidis": "v1.0.80"} }, "r1 | r2"},
		{"machine", func(b *Record) { b.Env.CPUs = 64 }, "r1 | r2"},
		{"revision", func(b *Record) { b.Env.Revision = "v2" }, "r1 | r2"},
		{"side", func(b *Record) { b.Side = SideBase }, "r1 | r2"},
		{"pair", func(b *Record) { b.Pair++ }, "r1 | r2"},
		{"run of a side", func(b *Record) { b.Run = "run2" }, "r1 | r2"},
		{"partial", func(b *Record) { b.Partial = "interrupted" }, "r1 | r2"},
		{"duplicate", func(b *Record) { b.ID = "r1" }, "r1"},
	} {
		a, b := trial(1, 100), trial(2, 100)
		c.change(b)
		cells, err := Group([]*Record{a, b})
		if err != nil {
			t.Fatal(err)
		}
		if got := shape(cells); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

func TestGroupKeepsPartialsApart(t *testing.T) {
	recs := []*Record{trial(1, 10), trial(2, 20), trial(3, 30), trial(4, 40)}
	recs[1].Partial, recs[3].Partial = "interrupted", "interrupted"
	cells, err := Group(append(recs, recs[1]))
	if err != nil || shape(cells) != "r1 r3 | r2 | r4" {
		t.Fatalf("%s, %v", shape(cells), err)
	}
	if cells[0].Partial() != "" || cells[1].Partial() != "interrupted" || cells[1].Duplicates != 1 {
		t.Errorf("partial %q and %q, %d duplicates", cells[0].Partial(), cells[1].Partial(), cells[1].Duplicates)
	}
}

func TestGroupSums(t *testing.T) {
	var recs []*Record
	for i, acquired := range []int64{400, 4000, 800} {
		r := trial(i+1, acquired)
		r.Cost.Commands = []float64{-1, 3, 5}[i]
		r.Cost.RoundTrips = []float64{-1, 2, 3}[i] // -1: the driver does not count
		r.Cost.Notices, r.Cost.KeepAlives = []float64{9, 2, 4}[i], []float64{9, 1, 2}[i]
		r.Fairness.Jain = []float64{0.5, 0.9, 0.7}[i]
		r.Fairness.LongestWait = time.Duration(i) * time.Second
		r.Generator.Saturated = i == 1
		r.Safety.Longest = []time.Duration{1, 9, 2}[i]
		r.Counts.ErrorSample = map[string]string{"timeout": fmt.Sprint("sample ", i)}
		r.Warnings = []string{"all", fmt.Sprint("only ", i)}
		recorder := NewRecorder(1)
		for j := range 10 {
			recorder.Borrow().Record(AcquireIndex, time.Duration(1+10*i+j)*time.Millisecond)
		}
		r.Latency[Acquire] = recorder.Latency(AcquireIndex)
		recs = append(recs, r)
	}
	before := maps.Clone(recs[0].Counts.Errors)
	cells, err := Group(recs)
	if err != nil || len(cells) != 1 {
		t.Fatalf("%d cells, %v", len(cells), err)
	}
	c := cells[0]
	if want := (Spread{Median: 200, Min: 100, Max: 1000}); c.Rate != want {
		t.Errorf("rate %+v, want %+v", c.Rate, want)
	}
	if c.Counts.Acquired != 5200 || c.Counts.Errors["timeout"] != 12 || c.Counts.ErrorSample["timeout"] != "sample 0" {
		t.Errorf("counts %+v", c.Counts)
	}
	if !maps.Equal(recs[0].Counts.Errors, before) {
		t.Error("grouping changed a record")
	}
	if c.Cost.Commands != 4 || c.Cost.Wakeups != -1 || c.Cost.RoundTrips != 2.5 || c.Cost.Notices != 3 || c.Cost.KeepAlives != 1.5 {
		t.Errorf("cost %+v", c.Cost)
	}
	if c.Fairness.Jain != 0.7 || c.Fairness.LongestWait != 2*time.Second || c.Fairness.OwnerChanges != 240 {
		t.Errorf("fairness %+v", c.Fairness)
	}
	if c.Safety.Violations != 3 || c.Safety.Grants != 360 || c.Safety.Longest != 9 || !c.Safety.Checked || len(c.Safety.Events) != 3 {
		t.Errorf("safety %+v", c.Safety)
	}
	if c.Generator.Saturated { // one of three
		t.Errorf("generator %+v", c.Generator)
	}
	for delayed, want := range map[bool]string{true: "true true", false: "true false"} {
		recs[1].Generator.Delayed = true
		recs[0].Generator.Saturated, recs[0].Generator.Delayed = true, delayed
		if g := sumGenerator(recs[:3]); fmt.Sprint(g.Saturated, g.Delayed) != want {
			t.Errorf("two of three saturated, one of them delayed: %+v", g)
		}
	}
	if got := strings.Join(c.Warnings, ", "); got != "all, only 0, only 1, only 2" {
		t.Errorf("warnings %s", got)
	}
	// 30 values of 1 to 30 ms: the median is the 15th, where the mean of the three medians would be the same by
	// symmetry, so the 90th percentile tells merging (27 ms) from averaging (19 ms).
	l := c.Latency[Acquire]
	h, err := l.Histogram()
	if err != nil {
		t.Fatal(err)
	}
	p90 := Quantile(h, 0.9)
	if off := p90 - 27*time.Millisecond; l.Count != 30 || off < 0 || off > 27*time.Microsecond {
		t.Errorf("%d values, p90 %v; want 30 and 27 ms", l.Count, p90)
	}
}

func TestGroupReportsDamage(t *testing.T) {
	a, b := trial(1, 1), trial(2, 1)
	l := b.Latency[Hold]
	l.HDR = "?"
	b.Latency[Hold] = l
	if _, err := Group([]*Record{a, b}); err == nil || !strings.HasPrefix(err.Error(), "results: collect: record r2: latency.hold.hdr: ") {
		t.Errorf("error %v", err)
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		vs   []float64
		want float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{9, 1}, 5}, {[]float64{9, 1, 2}, 2}, {[]float64{4, 1, 3, 2}, 2.5}} {
		if got := median(c.vs); got != c.want {
			t.Errorf("median(%v) = %v, want %v", c.vs, got, c.want)
		}
	}
}

// TestGroupKeepsTheMatrix renders interleaved trials in the order of the matrix, and a second run after the first.
func TestGroupKeepsTheMatrix(t *testing.T) {
	var recs []*Record
	for i, place := range []struct {
		run   string
		cell  int
		trial int
	}{{"b", 1, 1}, {"b", 0, 1}, {"a", 0, 1}, {"b", 0, 2}, {"b", 1, 2}} {
		r := trial(i, 100)
		r.Run, r.Cell, r.Trial = place.run, place.cell, place.trial
		r.Plan.Keys = 1 + place.cell + 10*int(place.run[0]-'a')
		recs = append(recs, r)
	}
	cells, err := Group(recs)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := shape(cells), "r1 r3 | r0 r4 | r2"; got != want {
		t.Errorf("cells %s, want %s", got, want)
	}
}

// TestEveryCountIsAdded finds fields that were added to Counts and forgotten in add.
func TestEveryCountIsAdded(t *testing.T) {
	var sum, one Counts
	v := reflect.ValueOf(&one).Elem()
	for i := range v.NumField() {
		if f := v.Field(i); f.CanInt() {
			f.SetInt(int64(i + 1))
		}
	}
	Add(&sum, one)
	Add(&sum, one)
	for i, s := 0, reflect.ValueOf(sum); i < s.NumField(); i++ {
		if f := s.Field(i); f.CanInt() && f.Int() != int64(2*(i+1)) {
			t.Errorf("%s is %d, want %d", s.Type().Field(i).Name, f.Int(), 2*(i+1))
		}
	}
}

// TestMediansOfTheKnown: a trial that does not know a value takes no part in its median, whatever stands for that.
func TestMediansOfTheKnown(t *testing.T) {
	of := func(changes ...func(*Record)) *Cell {
		var recs []*Record
		for i, change := range changes {
			r := closed()
			r.ID, r.Trial = string(rune('a'+i)), i+1
			change(r)
			recs = append(recs, r)
		}
		c := &Cell{Trials: recs}
		c.sum(nil)
		return c
	}
	const us = time.Microsecond
	known := func(r *Record) {
		r.Bound = Bound{RTT: 100 * us, LoadRTT: 90 * us, LocksPerS: 1000, Efficiency: 0.8, Little: 0.99, InSystem: 5, LittleOpen: 0.98}
		r.Generator.CPU, r.Generator.Machine, r.Generator.RunQueue, r.Thread = 3, 0.7, 40*us, Thread{Ran: 0.5, Waited: 0.1}
		r.Counts.Acquired, r.Fairness.Clients, r.Fairness.Jain = 1e6, 8, 0.9
	}
	unknown := func(r *Record) {
		r.Bound, r.Thread = Bound{}, Thread{}
		r.Generator.CPU, r.Generator.Machine, r.Generator.RunQueue = -1, -1, 0
		r.Counts.Acquired, r.Fairness.Clients, r.Fairness.Jain = 8, 8, 0
	}
	want := of(known)
	for _, c := range []*Cell{of(known, unknown), of(unknown, known, unknown)} {
		if b := c.Bound; b.RTT != 100*us || b.LoadRTT != 90*us || b.LocksPerS != 1000 || b.Efficiency != 0.8 || b.Little != 0.99 || b.InSystem != 5 || b.LittleOpen != 0.98 {
			t.Errorf("bound %+v", b)
		}
		if g := c.Generator; g.CPU != 3 || g.Machine != 0.7 || g.RunQueue != 40*us || c.Thread != want.Thread || c.Fairness.Jain != 0.9 {
			t.Errorf("generator %+v, thread %+v, fairness %+v", g, c.Thread, c.Fairness)
		}
	}
	if c := of(unknown, unknown); c.Generator.CPU != -1 || c.Generator.Machine != -1 || c.Bound != (Bound{}) || c.Thread != (Thread{}) {
		t.Errorf("of what nobody knows: %+v, %+v, %+v", c.Generator, c.Bound, c.Thread)
	}
	// A round trip that was no sooner under the load is what it was before it, and not unknown.
	same := func(r *Record) { known(r); r.Bound.LoadRTT = 0 }
	under := func(r *Record) { known(r); r.Bound.RTT = 0 } // known under the load alone
	for _, tc := range []struct {
		c    *Cell
		want time.Duration
	}{{of(known, same), 95 * us}, {of(same, same), 0}, {of(under), 90 * us}, {of(known, same, same), 0}} {
		if got := tc.c.Bound.LoadRTT; got != tc.want {
			t.Errorf("round trip under the load %v, want %v", got, tc.want)
		}
	}
}
