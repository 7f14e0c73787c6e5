package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/compare/comparetest"
	"github.com/lockbench/lockbench/results/pagetest"
)

func TestComparisons(t *testing.T) {
	all := comparetest.All()
	golden(t, "comparison-slower", Comparison(all["slower"], "lockbench compare base.jsonl head.jsonl"))
	for _, name := range []string{"within", "violated", "few", "unlike", "lone", "eight", "zero"} {
		text, _ := firstScreen(Comparison(all[name], ""))
		pagetest.Golden(t, "comparison-"+name+".txt", text)
	}
	for name, c := range all {
		d := Comparison(c, "")
		for _, b := range d.Blocks {
			if b.Table != nil && b.Table.Columns != nil {
				b.Table.Rows = nil
			}
		}
		if text, lines := firstScreen(d); lines > 12 {
			t.Errorf("%s: %d lines beside the rows: %s", name, lines, text)
		}
	}
}

// TestCrowdedComparison: of thousands of rows the worst are listed and the others counted, and a violation comes first.
func TestCrowdedComparison(t *testing.T) {
	c := comparetest.Crowd(300, func(i int) string { return fmt.Sprint("clients ", i) })
	c.Cells[299].Notes = append(c.Cells[299].Notes, "violated: 1 of 10 trials of the head")
	d := Comparison(c, "")
	table, risks := d.Blocks[1].Table, d.Blocks[2].Table
	if len(table.Rows) != manyRows || table.Rows[0].Group != "locks/s" || table.Rows[0].Tone != Bad {
		t.Errorf("%d rows: %+v", len(table.Rows), table.Rows[0])
	}
	if r := risks.Rows[1]; r.Cells[0].Text != "violated" || r.Cells[1].Tone != Bad || r.Cells[1].Text != "1 of 10 trials of the head (clients 299)" {
		t.Errorf("first of the notes: %+v", r)
	}
	text, _ := firstScreen(d)
	for _, want := range []string{"(clients 0; clients 1; clients 2; and 297 more)", "not listed | locks/s < −5 % in 260 cells · acquire.p99 > +10 % in 300 cells"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q", want)
		}
	}
}

// TestComparedWithNothing: what a file of JSON has may lack trials, and a cell that only the head has decides.
func TestComparedWithNothing(t *testing.T) {
	c := &compare.Comparison{Added: []string{"a"}, Broken: 1, Verdict: compare.Regressed, Notes: []string{"violated: 1 trial of a", "b"}}
	text := dump(Comparison(c, ""))
	for _, want := range []string{"✗ mutual exclusion violated (bad)\n", "only in head | a\n", "violated | 1 trial of a (bad)\n", "note | b\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
}

// TestChangesAreDrawn: beyond the threshold is shaded, and what has no ratio is left out.
func TestChangesAreDrawn(t *testing.T) {
	var charts []*Chart
	for _, b := range Comparison(comparetest.All()["eight"], "").Blocks {
		if b.Chart != nil {
			charts = append(charts, b.Chart)
		}
	}
	if len(charts) != 2 || charts[0].Name != "changes-locks-s" || charts[0].Shade != (Range{0, 0.95}) || charts[1].Shade.Low != 1.1 {
		t.Fatalf("%+v", charts)
	}
	if s := charts[0].Series[0]; len(charts[0].Series) != 8 || s.Name != "go-redis · clients 48" || s.Tone != Bad || s.Bound != 0.95 {
		t.Errorf("%+v", s)
	}
	for _, b := range Comparison(comparetest.All()["zero"], "").Blocks {
		if b.Chart != nil && b.Chart.Name != "changes-locks-s" {
			t.Errorf("a chart of what was 0: %+v", b.Chart)
		}
	}
}
