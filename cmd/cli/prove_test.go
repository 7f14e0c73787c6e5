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
	again := program + " prove -hazard pause -driver rueidis -lock set-nx"
	for verdict, want := range map[safety.Verdict]string{
		safety.Survives: again + " -seed 5 -each 1m0s -attempts 30 -ttl 3s",
		safety.Fails:    again + " -seed 7 -attempts 1 -ttl 1s",
	} {
		r := proof{options: hazards.Options{Attempts: 30, Seed: 5, Each: time.Minute, TTL: 3 * time.Second}}
		c := safety.Cell{Hazard: "pause", Driver: "rueidis", Lock: "set-nx", Verdict: verdict, Seed: 7, TTL: time.Second}
		if got := r.command(&c); got != want {
			t.Errorf("%s: %s\nwant %s", verdict, got, want)
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
