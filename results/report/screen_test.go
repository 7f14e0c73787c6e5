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

// TestFirstScreen: of each recorded run a terminal shows 14 lines before what -v adds.
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
		if err := draw.Terminal(&b, report.Run(all.Cells(), nil), draw.Options{}); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(b.String(), "\n"); n > 14 {
			t.Errorf("%s: %d lines:\n%s", file, n, b.String())
		}
	}
}
