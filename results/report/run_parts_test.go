package report

import (
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
)

func TestCellFacts(t *testing.T) {
	cells, err := results.Group([]*results.Record{{
		ID: "a", Elapsed: time.Second, Counts: results.Counts{Acquired: 7}, Safety: results.Safety{Checked: true, Grants: 70},
		Generator: results.Generator{Saturated: true, Why: "the machine was  busy"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	facts := map[string]Fact{}
	for _, f := range CellFacts(cells[0], false) {
		facts[f.Label] = f
	}
	for label, want := range map[string]string{
		"throughput": "7.00 locks/s", "safety": "0 violations in 70 grants", "generator": "the machine was  busy",
	} {
		if f := facts[label]; !strings.Contains(format.Line(strings.Join(f.Lines, " ")), want) {
			t.Errorf("%s: %q, want %q", label, f.Lines, want)
		}
	}
	if facts["generator"].Tone != Warn || facts["throughput"].Tone != Plain {
		t.Errorf("tone of generator %v, of throughput %v", facts["generator"].Tone, facts["throughput"].Tone)
	}
}
