package results

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// collected returns a collector of recs.
func collected(t *testing.T, recs ...*Record) *Collector {
	t.Helper()
	c := new(Collector)
	for _, r := range recs {
		if err := c.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// TestCollectorInAnyOrder: interleaved trials of a run make the same cells in whatever order they come.
func TestCollectorInAnyOrder(t *testing.T) {
	var recs []*Record
	for cell := range 3 {
		for n := range 4 {
			r := trial(1+n, int64(100+10*n+cell))
			r.ID, r.Cell, r.Pair, r.Plan.Keys = fmt.Sprintf("c%dt%d", cell, 1+n), cell, cell, 5+cell
			r.Warnings = append(r.Warnings, r.ID)
			recs = append(recs, r)
		}
	}
	want := collected(t, recs...).Cells()
	if got := shape(want); got != "c0t1 c0t2 c0t3 c0t4 | c1t1 c1t2 c1t3 c1t4 | c2t1 c2t2 c2t3 c2t4" {
		t.Fatal(got)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 4 {
		random.Shuffle(len(recs), func(i, j int) { recs[i], recs[j] = recs[j], recs[i] })
		if got := collected(t, recs...).Cells(); !reflect.DeepEqual(got, want) {
			t.Fatalf("got %s, or other sums", shape(got))
		}
	}
}

// TestCollectorKeepsFigures: of a trial all is kept but histograms and, after the first, its course.
func TestCollectorKeepsFigures(t *testing.T) {
	a, b := trial(1, 100), trial(2, 200)
	b.Plan.Seed, b.Plan.Command, b.Plan.Workload = 9, "another", "preset"
	b.Server.Addr, b.Server.Connections = "elsewhere", 5
	b.Started = b.Started.Add(time.Minute)
	cells := collected(t, a, b).Cells()
	if !reflect.DeepEqual(a, trial(1, 100)) {
		t.Error("collecting has changed a record")
	}
	without := func(all map[Metric]Latency) map[Metric]Latency {
		kept := map[Metric]Latency{}
		for m, l := range all {
			if l.HDR = ""; l.Count > 0 {
				kept[m] = l
			}
		}
		return kept
	}
	for i, r := range []*Record{a, b} {
		r.Latency = without(r.Latency)
		r.Classes[0].Latency = without(r.Classes[0].Latency)
		if i > 0 {
			r.Series = nil
		}
		if got := cells[0].Trials[i]; !reflect.DeepEqual(got, r) {
			t.Errorf("trial %d: got  %+v\nwant %+v", 1+i, got, r)
		}
	}
}

// TestCollectorGivesItsCellsAway: what Cells has returned stays as it was when more is added.
func TestCollectorGivesItsCellsAway(t *testing.T) {
	c := collected(t, trial(2, 200), trial(3, 300))
	cells, again := c.Cells(), c.Cells()
	if err := c.Add(trial(1, 100)); err != nil { // before the first, which has its course no more
		t.Fatal(err)
	}
	if !reflect.DeepEqual(cells, again) || cells[0].First().Series == nil {
		t.Error("a cell that was given away has changed")
	}
	now := c.Cells()
	if shape(now) != "r1 r2 r3" || now[0].Trials[0].Series == nil || now[0].Trials[1].Series != nil {
		t.Errorf("now %s", shape(now))
	}
}

// TestCollectorMerges compares the distributions of cells and classes with the library's sum.
func TestCollectorMerges(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	var recs []*Record
	var parts []Latency
	for i := range 5 {
		r := trial(1+i, 100)
		recorder := NewRecorder(1)
		draw(random, 1000*i, recorder) // the first is empty
		if i == 3 {
			recorder.Borrow().Record(AcquireIndex, 2*time.Hour)
		}
		l := recorder.Latency(AcquireIndex)
		r.Latency[Acquire], r.Classes[0].Latency = l, map[Metric]Latency{Acquire: l}
		recs, parts = append(recs, r), append(parts, l)
	}
	sum, overflow := newHistogram(), int64(0)
	for _, l := range parts {
		h, err := l.Histogram()
		if err != nil {
			t.Fatal(err)
		}
		sum.Merge(h)
		overflow += l.Overflow
	}
	want := latencyOf(sum, overflow)
	want.HDR = ""
	cell := collected(t, recs...).Cells()[0]
	for name, got := range map[string]Latency{"cell": cell.Latency[Acquire], "class": cell.Classes[0].Latency[Acquire]} {
		h, err := got.Histogram()
		if err != nil || !unpacked(h).Equals(unpacked(sum)) {
			t.Errorf("%s: another histogram, %v", name, err)
		}
		if got.merged = ""; got != want {
			t.Errorf("%s: got  %+v\nwant %+v", name, got, want)
		}
	}
}

// TestCollectorCountsTrialsOnce: the same trial twice is one observation, whatever else the records say.
func TestCollectorCountsTrialsOnce(t *testing.T) {
	a, b, moved := trial(1, 100), trial(2, 200), trial(2, 200)
	moved.Plan.Keys++
	c := collected(t, a, b, moved, trial(1, 100))
	cells := c.Cells()
	if shape(cells) != "r1 r2" || c.Duplicates() != 2 || cells[0].Duplicates != 2 || cells[0].Counts.Acquired != 300 {
		t.Errorf("%s; %d duplicates, %d of the cell, %d acquired", shape(cells), c.Duplicates(), cells[0].Duplicates, cells[0].Counts.Acquired)
	}
}

func TestCollectorOutline(t *testing.T) {
	c := Collector{Outline: true}
	for n := range 3 {
		if err := c.Add(trial(1+n, 100)); err != nil {
			t.Fatal(err)
		}
	}
	cell := c.Cells()[0]
	if len(cell.Latency) > 0 || len(cell.Classes[0].Latency) > 0 {
		t.Errorf("distributions %v, %v", cell.Latency, cell.Classes[0].Latency)
	}
	if got, want := cell.Trials[2].Latency[Hold].P99, trial(3, 100).Latency[Hold].P99; got != want || cell.Counts.Acquired != 300 {
		t.Errorf("p99 %v, want %v; %d acquired", got, want, cell.Counts.Acquired)
	}
}

// TestCollectorRead skips a line whose histogram is damaged, as Read does, and adds nothing of it.
func TestCollectorRead(t *testing.T) {
	bad := trial(2, 100)
	l := bad.Classes[0].Latency[Acquire]
	l.Count++
	bad.Classes[0].Latency = map[Metric]Latency{Acquire: l}
	text := line(t, trial(1, 100)) + line(t, bad) + line(t, trial(3, 100))
	for _, outline := range []bool{false, true} {
		c := Collector{Outline: outline}
		got, err := c.Read(strings.NewReader(text))
		_, want, _ := readString(text)
		if err != nil || !reflect.DeepEqual(got, want) || got.Damaged != 1 || shape(c.Cells()) != "r1 r3" {
			t.Errorf("%+v, %v, %s; want %+v", got, err, shape(c.Cells()), want)
		}
	}
	var c Collector
	if _, err := c.Read(strings.NewReader(line(t, bad))); err == nil || len(c.Cells()) > 0 ||
		err.Error() != "results: read: no readable record: line 1: classes[0].latency.acquire.hdr: payload holds 100 values, but count is 101" {
		t.Errorf("%d cells, %v", len(c.Cells()), err)
	}
}

func TestCollectorBoundsEvents(t *testing.T) {
	var recs []*Record
	for n := range 3 {
		r := trial(1+n, 100)
		r.Safety.Events = slices.Repeat(r.Safety.Events, 60)
		recs = append(recs, r)
	}
	c := collected(t, recs...).Cells()[0]
	if got := len(c.Safety.Events); got != maxEvents {
		t.Errorf("%d events, want %d", got, maxEvents)
	}
	if a, b, c := len(c.Trials[0].Safety.Events), len(c.Trials[1].Safety.Events), len(c.Trials[2].Safety.Events); a != 60 || b != 40 || c != 0 {
		t.Errorf("%d, %d and %d of the trials", a, b, c)
	}
}
