package compare

import (
	"slices"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/stats"
)

// TestNeededOfMany: what one of many figures takes is not said of all of them.
func TestNeededOfMany(t *testing.T) {
	limits, err := ParseThresholds("locks/s<-5%")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		trials int // of each side
		needed []int
		want   string
	}{
		{10, []int{0}, ""},
		{10, []int{13}, "To see −5 % takes about 13 trials a side."},
		{10, []int{13, 13}, "To see −5 % takes about 13 trials a side."},
		{10, []int{40, 73, 0, 13}, "To see −5 % takes about 13 to 73 trials a side."},
		{10, []int{1000}, "To see −5 % takes about 1,000 trials a side."},
		{10, []int{1001, 73}, "To see −5 % takes about 73 to more than 1,000 trials a side."},
		{10, []int{2000, 1001}, "To see −5 % would take more than 1,000 trials a side: it scatters too much."},
		{5, []int{13, 20}, "To see −5 % takes about 13 to 20 trials a side, if not many more: fewer than 6 show little of the scatter."},
	} {
		var list []*Result
		for _, n := range c.needed {
			e := stats.Estimate{N: c.trials}
			list = append(list, &Result{Figure: limits[0].Figure, Threshold: &limits[0], Verdict: Inconclusive, Needed: n,
				Change: stats.Change{Base: e, Head: e}})
		}
		if got := strings.ReplaceAll(Needs(list...), format.Unbroken, " "); got != c.want {
			t.Errorf("%d: %q, want %q", c.needed, got, c.want)
		}
	}
	if got := Needs(&Result{}); got != "" {
		t.Errorf("of a figure that nothing judges: %q", got)
	}
}

// TestSentenceOfUnknown: a head that does not know a metric is not held against its limit.
func TestSentenceOfUnknown(t *testing.T) {
	limits, err := ParseThresholds("watched<5")
	if err != nil {
		t.Fatal(err)
	}
	r := Result{Figure: limits[0].Figure, Threshold: &limits[0], Verdict: Inconclusive, Reason: Unmeasured,
		Why: "the head does not know it: the oracle was off"}
	if got, want := r.Sentence(), r.Why+"."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestWords: one cell is not counted, two are, and a cell that the head lacks is said.
func TestWords(t *testing.T) {
	both := cells(clients(1), clients(2))
	for name, c := range map[string]struct {
		base, head     []*results.Record
		headline, lead string
		judged         []int // cells
	}{
		"one": {cells(clients(1)), each(series(0.9e5), clients(1)), "regressed: locks/s −10.0 % (p < 0.0001)", "locks/s regressed:", []int{0}},
		"two": {both, slices.Concat(cells(clients(1)), each(series(0.9e5), clients(2))),
			"regressed in 1 of 2 cells: clients 2, locks/s −10.0 % (p < 0.0001)", "locks/s regressed in 1 of 2 cells:", []int{1, 0}},
		"one of two": {cells(clients(1), clients(4)), each(series(0.9e5), clients(1)),
			"regressed: clients 1, locks/s −10.0 % (p < 0.0001) · 1 cell only in the base", "locks/s regressed:", []int{0}},
	} {
		got := compared(t, c.base, c.head, Options{Thresholds: thresholds(t, "locks/s<-5%"), Subset: true})
		var judged []int
		for _, j := range got.Judged() {
			judged = append(judged, j.Cell)
		}
		plain := strings.NewReplacer(format.Unbroken, " ")
		if h, lead := plain.Replace(got.Headline()), got.Findings()[0].Lead; h != c.headline || lead != c.lead || !slices.Equal(judged, c.judged) {
			t.Errorf("%s: %q, %q, cells %v; want %q, %q, %v", name, h, lead, judged, c.headline, c.lead, c.judged)
		}
	}
}

func TestRevisions(t *testing.T) {
	var recs []*results.Record
	for _, env := range []results.Env{{Revision: "a", Lockbench: "v1"}, {}, {Lockbench: "v2"}, {Revision: "a"}} {
		recs = append(recs, &results.Record{Env: env})
	}
	if got, want := Revisions(recs), []string{"a", "v2"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestPartOf(t *testing.T) {
	for _, tt := range []struct {
		n, all int
		want   string
	}{{1, 2, "1 of 2 cells"}, {2, 2, "both cells"}, {3, 3, "all 3 cells"}} {
		if got := partOf(tt.n, tt.all); got != tt.want {
			t.Errorf("%d of %d: %q, want %q", tt.n, tt.all, got, tt.want)
		}
	}
}
