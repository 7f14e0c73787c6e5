package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/results/safety"
	"github.com/lockbench/lockbench/scripts/bench"
)

// TestMain lets the test binary be lockbench.
func TestMain(m *testing.M) {
	bench.Itself()
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

// TestDiffer has a cell that is the same throughout, one without a verdict once, and one that fails and survives.
func TestDiffer(t *testing.T) {
	var files []string
	for run, verdicts := range [][3]safety.Verdict{{"fails", "stalled", "fails"}, {"fails", "fails", "survives"}} {
		r := safety.Report{Schema: safety.Version, Hazards: []safety.Hazard{{Name: "b", Control: []string{"", "mutex did not fail"}[run]}}}
		for i, v := range verdicts {
			r.Cells = append(r.Cells, safety.Cell{Hazard: string(rune('a' + i)), Driver: "d", Lock: "l", Verdict: v, Listed: i < 2})
		}
		files = append(files, write(t, r))
	}
	var out strings.Builder
	if err := differ(&out, files); err != nil {
		t.Fatal(err)
	}
	const want = "b d l: fails (1 time) stalled (1 time)\nc d l: fails (1 time) survives (1 time)\n" +
		"2 runs of 3 cells: 1 alarm, 1 wrong control; 1 differ, 1 time without a verdict\n"
	if out.String() != want {
		t.Errorf("%s, want %s", out.String(), want)
	}
	if err := differ(&out, []string{files[0], "no such file"}); err == nil {
		t.Error("a file is missing, and it does not say so")
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
