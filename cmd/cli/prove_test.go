package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results/safety"
	"github.com/lockbench/lockbench/workloads/hazards"
)

// TestProofCommands has a command that makes a cell again with all that decides how many attempts it gets.
func TestProofCommands(t *testing.T) {
	program := filepath.Base(os.Args[0])
	for _, tc := range []struct {
		each    time.Duration
		verdict safety.Verdict
		left    int // attempts that were made again
		want    string
	}{
		{hazards.DefaultEach, safety.Survives, 1, program + " prove -hazard pause -driver rueidis -lock set-nx -seed 5 -attempts 30 -each 7s"},
		{time.Minute, safety.Survives, 1, program + " prove -hazard pause -driver rueidis -lock set-nx -seed 5 -attempts 30 -each 1m0s"},
		{time.Minute, safety.Fails, 0, program + " prove -hazard pause -driver rueidis -lock set-nx -seed 7 -attempts 1"},
		{time.Minute, safety.Fails, 1, program + " prove -hazard pause -driver rueidis -lock set-nx -seed 7 -attempts 1 -ttl 1s"},
	} {
		r := proof{options: hazards.Options{Attempts: 30, Seed: 5, Each: tc.each}}
		c := safety.Cell{Hazard: "pause", Driver: "rueidis", Lock: "set-nx", Verdict: tc.verdict, Seed: 7, TTL: time.Second, Left: tc.left}
		if got := r.command(&c); got != tc.want {
			t.Errorf("%v, %s: %s\nwant %s", tc.each, tc.verdict, got, tc.want)
		}
	}
}

// TestEvidenceOfCommands: a driver may be a command with a path, and what it loses to is made again by a shell.
func TestEvidenceOfCommands(t *testing.T) {
	var r proof
	dir := t.TempDir()
	found := new(safety.Report)
	for _, driver := range []string{"exec:python3 a/lock.py", "exec:python3 b/lock.py", "exec:python3 b%2Flock.py"} {
		c := safety.Cell{Hazard: "pause", Driver: driver, Lock: "lock", Story: []safety.Event{{Kind: "granted"}}}
		c.Command = r.command(&c)
		found.Cells = append(found.Cells, c)
	}
	if err := writeEvidence(found, new(program).into(dir)); err != nil {
		t.Fatal(err)
	}
	for name, driver := range map[string]string{
		"a%2Flock.py": "'exec:python3 a/lock.py'", "b%2Flock.py": "'exec:python3 b/lock.py'", "b%252Flock.py": "'exec:python3 b%2Flock.py'",
	} {
		text, err := os.ReadFile(filepath.Join(dir, "pause-exec:python3 "+name+"-lock.txt"))
		if !strings.Contains(string(text), " -driver "+driver+" -lock lock") {
			t.Errorf("%s: %v, %s", name, err, text)
		}
	}
}
