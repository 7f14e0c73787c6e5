package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/scripts/bench"
)

func TestMain(m *testing.M) {
	bench.Itself()
	os.Exit(m.Run())
}

// TestPlants: lockbench takes the flags of each load.
func TestPlants(t *testing.T) {
	servertest.Redis(t, servers.RedisOptions{}) // skips the test if there is no server to plan with
	all := plants
	for _, l := range loads {
		all = append(all, plant{what: l.flags, flags: fmt.Sprintf("%s -keys %d", l.flags, l.keys)})
	}
	for _, p := range all {
		c := bench.Command(t.Context(), append(strings.Fields(p.flags), "-server", "private", "-dry-run")...)
		if out, err := c.CombinedOutput(); err != nil && !strings.Contains(string(out), "need a core each") {
			t.Errorf("%s: %v: %s", p.what, err, out)
		}
	}
}

// TestReport: a limit is found if most of the runs name it, whatever the others say.
func TestReport(t *testing.T) {
	p := plant{what: "a lock", flags: "-driver rueidis"}
	recs, err := bench.Records(filepath.Join("..", "recorded", "front-door.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := only(recs)
	if err != nil {
		t.Fatal(err)
	}
	other := *c
	other.Counts.Acquired, other.Rate.Median = 0, 0 // a load without a lock has no limit that is known
	p.want = c.Limit().By
	for _, tt := range []struct {
		cells []*results.Cell
		want  string
		found bool
	}{
		{[]*results.Cell{c, &other, c}, string(p.want) + " (2 of 3), not known (1 of 3) ✓", true},
		{[]*results.Cell{c, &other}, "✗ not " + string(p.want), false},
		{[]*results.Cell{&other}, "not known (1 of 1) ✗ not " + string(p.want), false},
	} {
		var out bytes.Buffer
		if found := p.report(&out, tt.cells); found != tt.found || !strings.Contains(out.String(), tt.want) {
			t.Errorf("found %v, want %v; %s, want %q", found, tt.found, &out, tt.want)
		}
	}
}
