package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results"
)

// TestPapersAreCurrent holds README.md and BENCHMARKS.md to their recorded runs. After a change of what lockbench prints,
// run make tables.
func TestPapersAreCurrent(t *testing.T) {
	if err := run(true, []string{"../recorded", "../../README.md", "../../BENCHMARKS.md"}); err != nil {
		t.Error(err)
	}
}

func record(t *testing.T, dir string) {
	t.Helper()
	rec := results.NewRecorder(1)
	shard := rec.Borrow()
	for range 30 {
		shard.Record(results.AcquireIndex, time.Millisecond)
	}
	err := results.Append(filepath.Join(dir, "run.jsonl"), &results.Record{
		Schema: results.SchemaVersion, ID: "a", Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Trial: 1,
		Plan: results.Plan{
			Driver: "rueidis", Lock: "set-nx", Wait: "none", Clients: 1, Keys: 1, Duration: time.Second, TTL: time.Minute,
			IOTimeout: time.Second, Server: "private", Command: "lockbench -clients 1",
		},
		Elapsed: time.Second,
		Counts:  results.Counts{Acquired: 30, Tries: 30, Released: 30},
		Latency: rec.Latencies(),
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestFill(t *testing.T) {
	dir := t.TempDir()
	record(t, dir)
	if err := os.WriteFile(filepath.Join(dir, "note.txt"), []byte("$ date\ntoday\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	paper := filepath.Join(dir, "PAPER.md")
	const before = "# Paper\n<!-- table run.jsonl -->\nstale\n<!-- end -->\nbetween\n<!-- output run.jsonl -->\n<!-- end -->\n" +
		"<!-- text note.txt -->\n<!-- end -->\nafter\n"
	if err := os.WriteFile(paper, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(true, []string{dir, paper}); err == nil || !strings.Contains(err.Error(), "make tables") {
		t.Errorf("a stale paper passes the check: %v", err)
	}
	if err := run(false, []string{dir, paper}); err != nil {
		t.Fatal(err)
	}
	if err := run(true, []string{dir, paper}); err != nil {
		t.Errorf("a paper just filled in: %v", err)
	}
	text, err := os.ReadFile(paper)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"# Paper\n", "between\n", "after\n", "30", "lockbench -clients 1\n```", "```\n$ date\ntoday\n```\n"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if strings.Contains(string(text), "stale") {
		t.Error("the old figure is still there")
	}
}

func TestFillRefuses(t *testing.T) {
	dir := t.TempDir()
	record(t, dir)
	for _, tc := range []struct{ marker, want string }{
		{"table nothing.jsonl", "no such file"},
		{"chart run.jsonl", "no figure is called"},
	} {
		if _, err := fill(dir, []byte("<!-- "+tc.marker+" -->\n<!-- end -->\n")); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.marker, err, tc.want)
		}
	}
}
