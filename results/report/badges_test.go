package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
)

// TestBadgesOfTheGenerator: what was paused is in doubt; an estimate that was beaten is marked, and says nothing against the
// figure.
func TestBadgesOfTheGenerator(t *testing.T) {
	cells := func(change func(*results.Record)) []*results.Cell {
		recs := []*results.Record{{
			ID: "a", Run: "run", Trial: 1, Elapsed: time.Second,
			Plan:   spec.Plan{Driver: "d", Lock: "set-nx", Load: spec.Load{Clients: 4}, Keys: 1},
			Traits: results.Traits{Exclusive: true}, Server: results.Server{Kind: "private"}, Counts: results.Counts{Acquired: 1000},
			Safety: results.Safety{Checked: true, Grants: 1000, Power: &results.Power{Watched: 500, Refusals: 1000}},
		}}
		change(recs[0])
		all, err := results.Group(recs)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	paused := cells(func(r *results.Record) { r.Generator.Pauses = []results.Pause{{Length: time.Second}} })
	if got := badges(paused[0]); !slices.Equal(got, []Badge{doubt("paused")}) || stateOf(paused[0]) != Warn {
		t.Errorf("paused: %v, %v", got, stateOf(paused[0]))
	}
	beaten := cells(func(r *results.Record) { r.Bound.LocksPerS, r.Bound.Efficiency = 800, 1.3 })
	if got := badges(beaten[0]); !slices.Equal(got, []Badge{doubt("beaten")}) || stateOf(beaten[0]) != Good {
		t.Errorf("beaten: %v, %v", got, stateOf(beaten[0]))
	}
	if text := fmt.Sprint(RunPage(beaten, nil).Blocks); !strings.Contains(text, "of which 130 % was reached") {
		t.Error("the page does not say that the estimate was too low")
	}
}

// TestAlarms: a row has the colour of a warning for whatever its figures are not to be quoted for.
func TestAlarms(t *testing.T) {
	for name, change := range map[string]func(c *results.Cell){
		"":       func(*results.Cell) {},
		"paused": func(c *results.Cell) { c.Generator.Pauses = []results.Pause{{Length: time.Second}} },
		"stuck":  func(c *results.Cell) { c.Counts.StuckKeys = 1 },
		"drifts": func(c *results.Cell) { c.Drifting = 1 },
	} {
		c := &results.Cell{Trials: []*results.Record{{}}}
		change(c)
		if got := alarm(c); (got == Warn) != (name != "") {
			t.Errorf("a row that is %q has the tone %v", name, got)
		}
	}
}
