package compare

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results"
)

// Sides whose holds did not last equally long did not have the same load, which a reader has to know.
func TestUnlikeHolds(t *testing.T) {
	side := func(asked, lasted time.Duration) []*results.Record {
		return each(series(1000), func(r *results.Record) {
			r.Plan.Hold = asked
			r.Latency[results.Hold] = results.Latency{Count: 1000, P50: lasted, Mean: lasted}
		})
	}
	const us = time.Microsecond
	for _, c := range []struct {
		name       string
		base, head []*results.Record
		want       string
	}{
		{"a coarse timer in the head", side(200*us, 204*us), side(200*us, 1046*us),
			"holds lasted 204µs in the base, 1.046ms in the head, where 200µs was asked for: the load was not the same"},
		{"another in the base", side(200*us, 635*us), side(200*us, 420*us), "holds lasted 635µs in the base, 420µs in the head"},
		{"alike", side(200*us, 204*us), side(200*us, 220*us), ""},
		{"both coarse, and alike", side(200*us, 1046*us), side(200*us, 1020*us), ""},
		{"no hold", series(1000), series(1000), ""},
	} {
		cmp, err := Compare(input("base", c.base), input("head", c.head), Options{})
		if err != nil {
			t.Fatal(c.name, err)
		}
		notes := cmp.Notes
		for _, cell := range cmp.Cells {
			notes = append(notes, cell.Notes...)
		}
		at := slices.IndexFunc(notes, func(note string) bool { return strings.HasPrefix(note, "holds lasted") })
		if at >= 0 != (c.want != "") || at >= 0 && !strings.HasPrefix(notes[at], c.want) {
			t.Errorf("%s: notes %q, want %q", c.name, notes, c.want)
		}
	}
}
