package report_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/draw"
	"github.com/lockbench/lockbench/results/report"
)

// TestFirstScreen: of each recorded run a terminal shows 14 lines before what -v adds, with the row that the title names.
func TestFirstScreen(t *testing.T) {
	files, err := filepath.Glob("../../scripts/recorded/*.jsonl.gz")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		var all results.Collector
		if _, err := all.Read(results.Inflate(f)); err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		d := report.Run(all.Cells(), nil)
		if err := draw.Terminal(&b, d, draw.Options{}); err != nil {
			t.Fatal(err)
		}
		_, row, _ := strings.Cut(strings.ReplaceAll(d.Title, "\u00a0", " "), ": ")
		if row, _, _ = strings.Cut(row, " · "); strings.Contains(d.Title, "longest p99") && strings.Count(b.String(), row) < 2 {
			t.Errorf("%s: there is no row of %s:\n%s", file, row, b.String())
		}
		if n := strings.Count(b.String(), "\n"); n > 14 {
			t.Errorf("%s: %d lines:\n%s", file, n, b.String())
		}
	}
}
