package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/results/safety"
	"github.com/lockbench/lockbench/scripts/lockbench"
)

// TestMain lets the test binary be lockbench.
func TestMain(m *testing.M) {
	lockbench.Itself()
	os.Exit(m.Run())
}

// TestRun has a cell that fails again, one that is said to fail for ever and does not, and one that is left alone.
func TestRun(t *testing.T) {
	if testing.Short() {
		t.Skip("proofs again and again: make test-all")
	}
	cell := func(hazard string, v safety.Verdict, never bool) safety.Cell {
		return safety.Cell{
			Hazard: hazard, Driver: "memory", Lock: "mutex", Verdict: v, Never: never,
			Command: "lockbench prove -hazard " + hazard + " -driver memory -lock mutex -attempts 1 -ttl 2s",
		}
	}
	for _, c := range []struct {
		never bool
		want  string
	}{{false, "1 of 1"}, {true, "0 of 1"}} {
		file := write(t, safety.Report{Schema: safety.Version, Cells: []safety.Cell{
			cell("overrun", safety.Fails, c.never), cell("unlock-after-refusal", safety.Survives, false),
		}})
		var out strings.Builder
		if err := run(t.Context(), &out, file, 20, 1); err != nil || !strings.Contains(out.String(), c.want) {
			t.Errorf("%v, %s, want %s", err, out.String(), c.want)
		}
	}
}

// write writes a report into a file.
func write(t *testing.T, r safety.Report) string {
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "proof.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
