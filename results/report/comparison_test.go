package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/pagetest"
)

// screenLines is how many lines a first screen has above what -v has.
const screenLines = 12

func TestComparisons(t *testing.T) {
	all := allComparisons()
	golden(t, "comparison-slower", Comparison(all["slower"]))
	for _, name := range []string{"within", "violated", "few", "unlike", "replaced", "lone", "eight", "zero"} {
		text, _ := firstScreen(Comparison(all[name]))
		pagetest.Golden(t, "comparison-"+name+".txt", text)
	}
	for name, c := range all {
		if text, lines := firstScreen(Comparison(c)); lines > screenLines {
			t.Errorf("%s: %d lines: %s", name, lines, text)
		}
	}
}

// TestCrowdedComparison: of hundreds of rows the worst of a few cells are listed, and a violation comes first.
func TestCrowdedComparison(t *testing.T) {
	c := ofCells(60, "", asIs)
	c.Cells[59].Notes = append(c.Cells[59].Notes, "violated: 1 of 10 trials of the head", "note: of a cell")
	c.Cells[58].Notes = append(c.Cells[58].Notes, "note: of another", "note: of a cell")
	d := Comparison(c)
	table, risks, chart := d.Blocks[0].Table, d.Blocks[1].Table, d.Blocks[2].Chart
	if len(table.Rows) != fewRows || table.Rows[0].Tone != Bad || len(chart.Series) != manyRows {
		t.Errorf("%d rows: %+v; %d in the chart", len(table.Rows), table.Rows, len(chart.Series))
	}
	if r := risks.Rows[0]; r.Cells[0].Text != "violated" || r.Cells[1].Tone != Bad || !strings.HasPrefix(r.Cells[1].Text, "1 of 10 trials of the head (") {
		t.Errorf("first of the notes: %+v", r)
	}
	more := d.Blocks[4]
	if text := fmt.Sprint(more.Table.Rows); !more.Detail || !strings.Contains(text, "of a cell (rueidis · 472 clients; go-redis · 480 clients)") {
		t.Errorf("other notes: %s: %s", more.Heading, text)
	}
}

// TestComparedWithNothing: what a file of JSON has may lack trials, and a cell that only the head has decides.
func TestComparedWithNothing(t *testing.T) {
	c := &compare.Comparison{Added: []string{"a"}, Broken: 1, Verdict: compare.Regressed, Notes: []string{"violated: 1 trial of a", "partial: b"}}
	text := dump(Comparison(c))
	for _, want := range []string{"✗ mutual exclusion violated (bad)\n", "only in head | a\n", "violated | 1 trial of a (bad)\n", "partial | b\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
}

// TestNext: how many trials would tell is said as far as it is known.
func TestNext(t *testing.T) {
	for needed, want := range map[int]string{0: "-trials NUMBER", 7: "-trials 7", 5000: "-trials 1000"} {
		c := ofCells(7, "locks/s<-5%", asIs)
		c.Verdict, c.Cells = compare.Inconclusive, c.Cells[6:]
		c.Cells[0].Figures[0].Needed = needed
		if text := dump(Comparison(c)); !strings.Contains(text, "next | run more trials a side: "+want+", or -n of a gate\n") {
			t.Errorf("no %q in %s", want, text)
		}
	}
}

// TestChangesAreDrawn: each cell has a heading, and what has no ratio is left out.
func TestChangesAreDrawn(t *testing.T) {
	for name, want := range map[string]int{"eight": 16, "zero": 2} {
		for _, b := range Comparison(allComparisons()[name]).Blocks {
			if b.Chart == nil {
				continue
			}
			if s := b.Chart.Series[0]; len(b.Chart.Series) != want || s.Group == "" || s.Name != "locks/s" || s.Bound != 0.95 {
				t.Errorf("%s: %d rows: %+v", name, len(b.Chart.Series), s)
			}
		}
	}
}
