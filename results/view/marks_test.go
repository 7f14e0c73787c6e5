package view

import (
	"slices"
	"testing"

	"github.com/lockbench/lockbench/results"
)

// TestMarks: what happened to the server, and to keys whose holders died, follows from fields of records.
func TestMarks(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(c *results.Cell)
		want   string // of the marks; empty: it has none of these
	}{
		{"as usual", func(*results.Cell) {}, ""},
		{"replaced in one of two trials", func(c *results.Cell) { c.Trials[1].Server.Replaced = true }, "replaced"},
		{"evicted in both", func(c *results.Cell) { c.Trials[0].Server.Evicted, c.Trials[1].Server.Evicted = 3, 1200 }, "evicted 1,203"},
		{"most dead holders recovered", func(c *results.Cell) {
			c.Trials[0].Counts.Crashed, c.Trials[0].Bound.DeadKeys = 10, 5
		}, ""},
		{"few dead holders recovered", func(c *results.Cell) {
			c.Trials[0].Counts.Crashed, c.Trials[0].Bound.DeadKeys = 10, 6
		}, "dead keys 6"},
		{"the key died in the warm-up of both", func(c *results.Cell) {
			c.Trials[0].Bound.DeadKeys, c.Trials[1].Bound.DeadKeys = 1, 1
		}, "dead keys 1"},
		{"nobody wanted the keys of the dead, whose leases ended", func(c *results.Cell) { c.Trials[0].Counts.Crashed = 10 }, ""},
		{"1 % refused for lack of room, with the warm-up", func(c *results.Cell) {
			c.Counts.Acquired, c.Counts.Errors, c.Counts.EarlyErrors = 400, map[string]int64{"full": 1}, map[string]int64{"full": 3}
		}, "no room 4"},
		{"the library gave up", func(c *results.Cell) { c.Counts.GaveUp = 29 }, "gave up 29"},
		{"an adapter", func(c *results.Cell) { c.Generator.Outside = 0.1 }, "bridge"},
		{"less than 1 %", func(c *results.Cell) {
			c.Counts.Acquired, c.Counts.Errors = 400, map[string]int64{"full": 3}
		}, ""},
	} {
		c := &results.Cell{Trials: []*results.Record{{}, {}}}
		tt.change(c)
		got := ""
		for _, m := range Marks(c) {
			if slices.Contains([]string{"replaced", "evicted", "dead keys", "no room", "gave up", "bridge"}, m.Code) {
				got += m.Text
			}
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
