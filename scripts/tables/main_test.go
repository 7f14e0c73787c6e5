package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/capacity/capacitytest"
	"github.com/lockbench/lockbench/results/spec"
)

// TestDocsAreCurrent compares README.md and BENCHMARKS.md with their recorded runs. If the output of lockbench has
// changed, run make tables. It reads all recorded runs, so with -short it is skipped: the race detector makes it ten
// times as slow, and package results has its own tests.
func TestDocsAreCurrent(t *testing.T) {
	if testing.Short() {
		t.Skip("all recorded runs, with -short")
	}
	if err := run(true, []string{"../recorded", "../../README.md", "../../BENCHMARKS.md"}); err != nil {
		t.Error(err)
	}
}

// TestImages: the pictures that the documents show exist. Whether those of pages are up to date tests results/draw/browser.
func TestImages(t *testing.T) {
	image := regexp.MustCompile(`(?:\]\(|src=")([^)"]+\.(?:svg|png))[)"]`)
	for name, least := range map[string]int{"README.md": 3, "BENCHMARKS.md": 5} {
		text, err := os.ReadFile(filepath.Join("../..", name))
		if err != nil {
			t.Fatal(err)
		}
		all := image.FindAllStringSubmatch(string(text), -1)
		for _, m := range all {
			if _, err := os.Stat(filepath.Join("../..", m[1])); err != nil {
				t.Errorf("%s shows %v", name, err)
			}
		}
		if len(all) < least {
			t.Errorf("%s shows %d pictures, want %d", name, len(all), least)
		}
	}
}

func TestFigure(t *testing.T) {
	dir := t.TempDir()
	record(t, dir, func(r *results.Record) {})
	record(t, dir, func(r *results.Record) { r.ID, r.Plan.Clients, r.Elapsed = "b", 2, 2*time.Second })
	for _, test := range []struct{ title, want, err string }{
		{"locks/s clients=1", "30.0", ""},
		{"acquire.p50 clients=1; at most 2ms", "1.00 ms", ""},
		{"acquire.p99 clients=1", "", "is not known"},
		{"locks/s clients=1 / clients=2", "2.0 times", ""},
		{"locks/s clients=2 / clients=1", "50 %", ""},
		{"locks/s clients=1 / clients=2; wait=none; at least 2", "2.0 times", ""},
		{"locks/s clients=1 / clients=2; ttl=1m0s; at least 2.5", "", "want at least 2.5, but the runs say 2"},
		{"locks/s clients=1 / clients=2; at most 1", "", "the runs say 2"},
		{"locks/s clients=1; at once", "", "is not a limit"},
		{"locks/s clients=2 topology= renew=", "15.0", ""},
		{"locks/s wait=none", "", "chooses 2 cells"},
		{"locks/s clients=3", "", "no record has clients=3"},
		{"locks/s clients", "", "write name=value"},
		{"speed clients=1", "", "no metric"},
	} {
		got, err := figure(filepath.Join(dir, "run.jsonl"), test.title)
		if test.err != "" {
			if err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("%s: %v; want %s", test.title, err, test.err)
			}
			continue
		}
		if err != nil || got != test.want {
			t.Errorf("%s: %s, %v; want %s", test.title, got, err, test.want)
		}
	}
}

func TestRatio(t *testing.T) {
	for v, want := range map[float64]string{0.0809: "8.1 %", 0.929: "93 %", 1.05: "105 %", 2.38: "2.4 times", 9.97: "10 times", 18.1: "18 times"} {
		if got := ratio(v); got != want {
			t.Errorf("%v is written %s, want %s", v, got, want)
		}
	}
}

func record(t *testing.T, dir string, change func(*results.Record)) {
	t.Helper()
	rec := results.NewRecorder(1)
	shard := rec.Borrow()
	for range 30 {
		shard.Record(results.AcquireIndex, time.Millisecond)
	}
	r := &results.Record{
		Schema: results.SchemaVersion, ID: "a", Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Trial: 1,
		Plan: spec.Plan{Load: spec.Load{Clients: 1, TTL: time.Minute},
			Driver: "rueidis", Lock: "set-nx", Wait: "none", Keys: 1, Duration: time.Second,
			IOTimeout: time.Second, Server: "private", Command: "lockbench -clients 1",
		},
		Elapsed: time.Second,
		Counts:  results.Counts{Acquired: 30, Tries: 30, Released: 30},
		Latency: rec.Latencies(),
	}
	change(r)
	if err := (&results.Appender{Path: filepath.Join(dir, "run.jsonl")}).Append(r); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "commands.txt"), []byte("run.jsonl: lockbench -clients 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestFill(t *testing.T) {
	dir := t.TempDir()
	record(t, dir, func(*results.Record) {})
	doc := filepath.Join(dir, "DOC.md")
	const before = "# Doc\n<!-- command run.jsonl -->\nstale\n<!-- end -->\nbetween\n<!-- output run.jsonl -->\n<!-- end -->\n" +
		"after [7][rate] locks/s\n\n[rate]: run.jsonl \"locks/s\"\n"
	if err := os.WriteFile(doc, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(true, []string{dir, doc}); err == nil || !strings.Contains(err.Error(), "make tables") {
		t.Errorf("a stale document passes the check: %v", err)
	}
	if err := run(false, []string{dir, doc}); err != nil {
		t.Fatal(err)
	}
	if err := run(true, []string{dir, doc}); err != nil {
		t.Errorf("a document just filled in: %v", err)
	}
	text, err := os.ReadFile(doc)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"# Doc\n", "between\n", "after [30.0][rate] locks/s\n", "lockbench -clients 1\n```"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if strings.Contains(string(text), "stale") {
		t.Error("the old figure is still there")
	}
}

// TestChart: a document shows a chart, with what it says for those who do not see it, and is out of date if the chart is.
func TestChart(t *testing.T) {
	dir := t.TempDir()
	records := filepath.Join(dir, "runs")
	if err := os.Mkdir(records, 0o700); err != nil {
		t.Fatal(err)
	}
	for i, lock := range []string{"set-nx", "fenced", "other"} {
		record(t, records, func(r *results.Record) { r.ID, r.Plan.Lock, r.Elapsed = lock, lock, time.Duration(i+1)*time.Second })
	}
	doc := filepath.Join(dir, "DOC.md")
	const text = "<!-- chart run.jsonl throughput lock=set-nx,fenced -->\n<!-- end -->\n"
	if err := os.WriteFile(doc, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(false, []string{records, doc}); err != nil {
		t.Fatal(err)
	}
	filled, err := os.ReadFile(doc)
	if want := "![Throughput: set-nx 30.0; fenced 15.0](runs/charts/run-throughput-lockset-nx-fenced.svg)\n<!-- end -->"; err != nil || !strings.Contains(string(filled), want) {
		t.Errorf("%s, %v; want %s", filled, err, want)
	}
	if err := run(true, []string{records, doc}); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(records, "charts", "run-throughput-lockset-nx-fenced.svg"), []byte("stale"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(true, []string{records, doc}); err == nil || !strings.Contains(err.Error(), "run make tables") {
		t.Errorf("a stale chart passes the check: %v", err)
	}
	if err := os.Rename(filepath.Join(records, "charts", "run-throughput-lockset-nx-fenced.svg"), filepath.Join(records, "charts", "other.svg")); err != nil {
		t.Fatal(err)
	}
	if err := run(false, []string{records, doc}); err == nil || !strings.Contains(err.Error(), "other.svg is of no recorded run") {
		t.Errorf("a chart that no document shows: %v", err)
	}
}

// TestTable: a document has the table of a report, without the columns for which a narrow terminal has no room.
func TestTable(t *testing.T) {
	dir := t.TempDir()
	for i, lock := range []string{"set-nx", "fenced", "other"} {
		record(t, dir, func(r *results.Record) {
			r.ID, r.Plan.Lock, r.Elapsed, r.Generator.Saturated = lock, lock, time.Duration(i+1)*time.Second, i == 0
		})
	}
	text, err := (&document{dir: dir}).part("table", "run.jsonl", "lock=set-nx,fenced", "")
	if err != nil || !regexp.MustCompile(`(?s)\| +locks/s \|.*\| set-nx +\| +30.0 \|[^\n]* saturated \|\n\| fenced +\| +15.0 \|.*- saturated: `).MatchString(text) {
		t.Errorf("%v:\n%s", err, text)
	}
	if strings.Contains(text, "wait max") {
		t.Errorf("it has all columns:\n%s", text)
	}
}

func TestFillRefuses(t *testing.T) {
	dir := t.TempDir()
	record(t, dir, func(*results.Record) {})
	for _, tc := range []struct{ marker, want string }{
		{"output nothing.jsonl", "no such file"},
		{"plot run.jsonl", `no part is called "plot"`},
		{"chart run.jsonl overview", `the records make no chart "overview"`},
		{"chart run.jsonl percentiles keys=7", "no record has keys=7"},
	} {
		if _, err := (&document{dir: dir}).fill([]byte("<!-- " + tc.marker + " -->\n<!-- end -->\n")); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.marker, err, tc.want)
		}
	}
	for text, want := range map[string]string{
		"[8 %][herd]\n":                    "no figure is called herd",
		"[herd]: run.jsonl \"locks/s\"\n":  "no sentence has the figure herd",
		"[9][a]\n\n[a]: run.jsonl \"x\"\n": `no metric is called "x"`,
	} {
		if _, err := (&document{dir: dir, beside: dir}).fill([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestMatch(t *testing.T) {
	file := filepath.Join(t.TempDir(), "study.txt")
	if err := os.WriteFile(file, []byte("planted  regressed\n0 %      0/12\n-10.0 %  9/12\npairs 184948 0.929\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for expr, want := range map[string]string{`^0 % .*?(\d+/\d+)`: "0/12", `^pairs (\d+)`: "184,948", `^pairs \d+ (\S+)`: "93 %"} {
		if got, err := figure(file, expr); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", expr, got, err, want)
		}
	}
	for _, expr := range []string{`(\d+/\d+)`, `^-5 %.*(\d+)`, `^-10.*`, `(`} {
		if got, err := figure(file, expr); err == nil {
			t.Errorf("%s: %q, and no error", expr, got)
		}
	}
}

// TestPlan: a page has the command of a plan, and its answer as lockbench prints it.
func TestPlan(t *testing.T) {
	dir := t.TempDir()
	answer, err := json.Marshal(capacitytest.Answer("one"))
	if err := errors.Join(err, os.WriteFile(filepath.Join(dir, "plan.json"), answer, 0o600),
		os.WriteFile(filepath.Join(dir, "commands.txt"), []byte("plan.json: lockbench plan -rate 3k\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	d := document{dir: dir}
	page, err := d.fill([]byte("<!-- plan plan.json -->\n<!-- end -->\n"))
	if err != nil || !strings.Contains(string(page), "\n$ lockbench plan -rate 3k\n") || !strings.Contains(string(page), "\n✓ rueidis queue sustains 3,470/s ") {
		t.Errorf("%v: %s", err, page)
	}
}
