package bench

import (
	"compress/gzip"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/lockbench/lockbench/drivers/all"
)

func TestMain(m *testing.M) {
	Itself()
	os.Exit(m.Run())
}

// TestRun: lockbench runs in a process of its own, and what it complains of is in the error.
func TestRun(t *testing.T) {
	out, err := run(Command(t.Context(), "-driver", "memory", "-clients", "1", "-n", "20", "-warmup", "0s"))
	if err != nil || !strings.Contains(string(out), "memory") {
		t.Errorf("%s, %v", out, err)
	}
	if _, err = run(Command(t.Context(), "-driver", "none")); err == nil || !strings.Contains(err.Error(), "lockbench -driver none") ||
		!strings.Contains(err.Error(), `driver none`) {
		t.Error(err)
	}
}

// TestFailure: a verdict is no failure.
func TestFailure(t *testing.T) {
	for code, verdict := range map[string]bool{"0": true, "1": false, "2": false, "3": true, "5": true, "6": false} {
		err := exec.CommandContext(t.Context(), "sh", "-c", "exit "+code).Run()
		if got := failure(err); (got == nil) != verdict {
			t.Errorf("exit code %s: %v", code, got)
		}
	}
	if failure(io.EOF) != io.EOF {
		t.Error("an error without an exit code is none")
	}
}

// TestMeasure: what was measured is read, also once it is compressed, and damage is an error.
func TestMeasure(t *testing.T) {
	recs, err := Measure(Command(t.Context(), "-driver", "memory", "-clients", "1", "-n", "20", "-warmup", "0s", "-trials", "2"))
	if err != nil || len(recs) != 2 || recs[0].Counts.Acquired != 20 {
		t.Fatalf("%d records, %v", len(recs), err)
	}
	if recs, err = Records(filepath.Join("..", "recorded", "front-door.jsonl")); err != nil || len(recs) != 1 {
		t.Errorf("%d records, %v", len(recs), err)
	}
	file := filepath.Join(t.TempDir(), "run.jsonl")
	if _, err := Records(file); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	text, err := Read(filepath.Join("..", "recorded", "front-door.jsonl"), io.ReadAll)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(file + ".gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z := gzip.NewWriter(f)
	if _, err := z.Write(append(text, "{}\n"...)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Records(file); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("a damaged line: %v", err)
	}
}
