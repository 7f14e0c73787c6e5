package main

import (
	"encoding/json"
	"errors"
	"fmt"
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

func TestRatio(t *testing.T) {
	dir := t.TempDir()
	record(t, dir, func(r *results.Record) {})
	record(t, dir, func(r *results.Record) { r.ID, r.Plan.Clients, r.Elapsed = "b", 2, 2*time.Second })
	d := document{dir: dir}
	for _, test := range []struct{ words, want, err string }{
		{"locks/s clients=1", "30", ""},
		{"locks/s clients=1 / clients=2", "2", ""},
		{"locks/s clients=1 / clients=2; wait=none; at least 2", "2", ""},
		{"locks/s clients=1 / clients=2; ttl=1m0s; at least 2.5", "", "want at least 2.5, but the runs say 2"},
		{"locks/s clients=1 / clients=2; ; at most 1", "", "the runs say 2"},
		{"locks/s clients=1; ; no more", "", "is not a limit"},
		{"locks/s clients=2 topology= renew=", "15", ""},
		{"locks/s wait=none", "", "chooses 2 cells"},
		{"locks/s clients=3", "", "no record has clients=3"},
		{"locks/s clients", "", "write name=value"},
		{"speed clients=1", "", "no metric"},
	} {
		got, err := d.ratio("run.jsonl", test.words)
		if test.err != "" {
			if err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("%s: %v; want %s", test.words, err, test.err)
			}
			continue
		}
		if err != nil || string(got) != test.want {
			t.Errorf("%s: %s, %v; want %s", test.words, got, err, test.want)
		}
	}
}

func TestShort(t *testing.T) {
	for v, want := range map[float64]string{2.9123: "2.91", 0.98765: "0.988", 138600.4: "138,600", 99.96: "100", 101: "101"} {
		if got := short(v); got != want {
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
	const before = "# Doc\n<!-- command run.jsonl -->\nstale\n<!-- end -->\nbetween\n<!-- output run.jsonl -->\n<!-- end -->\nafter\n"
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
	for _, want := range []string{"# Doc\n", "between\n", "after\n", "30", "lockbench -clients 1\n```"} {
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

// TestLocks marks what the machine limited, says how far off medians may be, and names what was not measured.
func TestLocks(t *testing.T) {
	dir := t.TempDir()
	for i, choice := range choices {
		for trial := 1; trial <= 6; trial++ {
			record(t, dir, func(r *results.Record) {
				for _, word := range strings.Fields(choice) {
					name, value, _ := strings.Cut(word, "=")
					*map[string]*string{"driver": &r.Plan.Driver, "lock": &r.Plan.Lock, "wait": &r.Plan.Wait, "topology": &r.Plan.Topology}[name] = value
				}
				r.ID, r.Trial = fmt.Sprint(i, trial), trial
				r.Counts.Acquired = int64(1000*(i+1) + 10*trial)
				r.Generator.Saturated = r.Plan.Driver == "redsync"
				r.Wrong = "a clause: whole, as it stands; another one"
			})
		}
	}
	text, err := (&document{dir: dir}).locks("run.jsonl", "run.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"token | main risk |\n|:--|--:|--:|--:|--:|:-:|:--|\n| etcd · lease · wait none | 12,035 |",
		"| redsync · set-nx · wait none | 5,035* | 1.00 ms |", "| not measured | no | a clause: whole, as it stands |",
		"\n\nlocks/s: median of 6 trials of 1 s; its 95 % interval reaches up to ±2.4 %. `*`: lockbench or its machine, not the lock, was the limit.\n",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestFillRefuses(t *testing.T) {
	dir := t.TempDir()
	record(t, dir, func(*results.Record) {})
	for _, tc := range []struct{ marker, want string }{
		{"output nothing.jsonl", "no such file"},
		{"plot run.jsonl", "no figure is called"},
		{"chart run.jsonl", "which chart?"},
		{"chart run.jsonl overview", `the records make no chart "overview"`},
		{"chart run.jsonl percentiles keys=7", "no record has keys=7"},
		{"output run.jsonl,nothing.jsonl", "no such file"},
		{"locks run.jsonl run.jsonl", "no record has driver=rueidis"},
	} {
		if _, err := (&document{dir: dir}).fill([]byte("<!-- " + tc.marker + " -->\n<!-- end -->\n")); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.marker, err, tc.want)
		}
	}
}

func TestMatch(t *testing.T) {
	d := document{dir: t.TempDir()}
	file := filepath.Join(d.dir, "study.txt")
	if err := os.WriteFile(file, []byte("planted  regressed\n0 %      0/12\n-10.0 %  9/12\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if got, err := d.match("study.txt", `^0 % .*?(\d+/\d+)`); err != nil || string(got) != "0/12" {
		t.Errorf("%q, %v", got, err)
	}
	for _, expr := range []string{`(\d+/\d+)`, `^-5 %.*(\d+)`, `^-10.*`, `(`} {
		if got, err := d.match("study.txt", expr); err == nil {
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
