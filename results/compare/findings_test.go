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

// TestJudged: what is judged comes with the worst first.
func TestJudged(t *testing.T) {
	both := cells(clients(1), clients(2))
	head := slices.Concat(cells(clients(1)), each(series(0.9e5), clients(2)))
	var got []int
	for _, j := range compared(t, both, head, Options{Thresholds: thresholds(t, "locks/s<-5%")}).Judged() {
		got = append(got, j.Cell)
	}
	if !slices.Equal(got, []int{1, 0}) {
		t.Errorf("cells %v, want the regressed one first", got)
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
