package main

import (
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/results/export"
	"github.com/lockbench/lockbench/results/safety"
)

// TestProof: what a report says is filled in, and words that do not fit it are refused.
func TestProof(t *testing.T) {
	path := filepath.Join(t.TempDir(), "prove.json.gz")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z := gzip.NewWriter(f)
	report := &safety.Report{
		Schema:  safety.Version,
		Hazards: []safety.Hazard{{Number: 3, Name: "overrun", About: "it overruns"}},
		Cells: []safety.Cell{
			{Hazard: "overrun", Driver: "rueidis", Lock: "set-nx", Verdict: safety.Fails, Listed: true, Attempts: 20, Failed: 20},
			{Hazard: "overrun", Driver: "etcd", Lock: "lease", Verdict: safety.Survives, Attempts: 3, Bound: safety.Bound(3)},
		},
	}
	if err := export.JSON(z, report); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	const row = "| a report | `-hazard overrun -driver %s -lock %s` |"
	for _, c := range []struct{ kind, words, old, want, err string }{
		{"proof", "hazards=overrun locks=rueidis/set-nx,etcd/lease", "", "| `overrun` | ✗ | ✓ |", ""},
		{"proof", "hazards=overrun locks=etcd/none", "", "", "etcd none was not held against overrun"},
		{"seen", "", fmt.Sprintf(row+" stale |\n", "rueidis", "set-nx"), fmt.Sprintf(row, "rueidis", "set-nx") + " fails 20 of 20 |\n", ""},
		{"seen", "", fmt.Sprintf(row+" |\n", "etcd", "lease"), "", `the verdict is "survives"`},
		{"seen", "", fmt.Sprintf(row+" |\n", "etcd", "none"), "", "etcd none was not held against overrun"},
	} {
		d := document{dir: filepath.Dir(path)}
		got, err := d.part(c.kind, filepath.Base(path), c.words, c.old)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s %s: %v, want %q", c.kind, c.words, err, c.err)
			}
			continue
		}
		if err != nil || !strings.Contains(got, c.want) {
			t.Errorf("%s %s: %s, %v; want %q", c.kind, c.words, got, err, c.want)
		}
	}
}
