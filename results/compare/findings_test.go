package compare

import (
	"slices"
	"testing"

	"github.com/lockbench/lockbench/results"
)

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
