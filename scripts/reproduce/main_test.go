package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/cmd/cli"
	"github.com/lockbench/lockbench/results/safety"
)

// TestMain lets the test binary be lockbench.
func TestMain(m *testing.M) {
	if os.Getenv(asLockbench) != "" {
		cli.Main() // does not return
	}
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
		text, err := json.Marshal(safety.Report{Schema: safety.Version, Cells: []safety.Cell{
			cell("overrun", safety.Fails, c.never), cell("unlock-after-refusal", safety.Survives, false),
		}})
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "proof.json")
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if err := run(t.Context(), &out, file, 20, 1); err != nil || !strings.Contains(out.String(), c.want) {
			t.Errorf("%v, %s, want %s", err, out.String(), c.want)
		}
	}
}

func TestRepeat(t *testing.T) {
	if testing.Short() {
		t.Skip("proofs again and again: make test-all")
	}
	var out strings.Builder
	flags := []string{"-driver", "memory", "-lock", "mutex", "-hazard", "overrun", "-attempts", "1", "-ttl", "2s"}
	const want = ": 0 differ, 0 times without a verdict; exit codes 0 (2 times)\n" // of that lock and the controls
	err := repeat(t.Context(), &out, 2, 2, flags)
	if err != nil || !strings.HasPrefix(out.String(), "2 runs of ") || !strings.HasSuffix(out.String(), want) {
		t.Errorf("%v, %s, want %s", err, out.String(), want)
	}
	if err := repeat(t.Context(), &out, 2, 1, []string{"-attempts", "many"}); err == nil {
		t.Error("a flag of prove is wrong, and it does not say so")
	}
}

// TestDiffer has a cell that is the same throughout, one without a verdict once, and one that fails and survives.
func TestDiffer(t *testing.T) {
	s := seen{cells: map[[3]string]map[safety.Verdict]int{}, codes: map[int]int{}}
	for code, verdicts := range [][3]safety.Verdict{{"fails", "stalled", "fails"}, {"fails", "fails", "survives"}} {
		var r safety.Report
		for i, v := range verdicts {
			r.Cells = append(r.Cells, safety.Cell{Hazard: string(rune('a' + i)), Driver: "d", Lock: "l", Verdict: v})
		}
		s.take(&r, code)
	}
	var out strings.Builder
	s.print(&out)
	const want = "b d l: fails (1 time) stalled (1 time)\nc d l: fails (1 time) survives (1 time)\n" +
		"2 runs of 3 cells: 1 differ, 1 time without a verdict; exit codes 0 (1 time) 1 (1 time)\n"
	if out.String() != want {
		t.Errorf("%s, want %s", out.String(), want)
	}
}
