package report

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results/capacity"
	"github.com/lockbench/lockbench/results/capacity/capacitytest"
	"github.com/lockbench/lockbench/results/format"
)

// recordedPlan returns the answer that is kept with the scripts.
func recordedPlan(t *testing.T) *capacity.Answer {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "..", "scripts", "recorded", "plan.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	a, err := capacity.ReadAnswer(f)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestPlan(t *testing.T) {
	golden(t, "plan", Plan(capacitytest.Answer("five")))
	golden(t, "plan-recorded", Plan(recordedPlan(t)))
	names := &capacity.Answer{Candidates: []capacity.CandidateAnswer{{Name: "redis", Verdict: capacity.Undecided}}}
	if text, _ := firstScreen(Plan(names)); strings.Contains(text, "candidate") {
		t.Errorf("names alone make a table: %s", text)
	}
}

// firstScreen returns what a terminal shows without -v, and how many lines that are if none wraps.
func firstScreen(d *Document) (text string, lines int) {
	short := *d
	short.Blocks, lines = nil, 2
	for _, b := range d.Blocks {
		if b.Chart = nil; b.Detail || b.Table == nil {
			continue
		}
		short.Blocks = append(short.Blocks, b)
		lines += 1 + min(1, len(b.Heading)) + 2*min(1, len(b.Table.Columns)) + len(b.Table.Rows)
		for _, r := range b.Table.Rows {
			lines += len(r.Marks)
		}
	}
	return strings.ReplaceAll(dump(&short), format.Unbroken, " "), lines
}

// TestPlanAnswers: what each kind of answer says first, and what it has no place for. The golden file has that of five.
func TestPlanAnswers(t *testing.T) {
	for name, want := range map[string][]string{
		"one": {"rueidis queue sustains 3,470/s (3,297 to 3,644/s) (good)\nresponse.p99<20ms,response.p99.9<50ms at 3,000/s ·",
			"headroom × | p99, p99.9 |", "9.31 ms, 31.0 ms", "!2 sustain"},
		"most":    {"rueidis queue sustains 3,470/s (3,297 to 3,644/s) (good)", "!3,000/s", "!headroom"},
		"clients": {"rueidis queue sustains 44 clients (41 to 47 clients) (good)\nacquire.p95<500ms,errors<1% ·", "p95 |", "!headroom"},
		"paper": {"ruled out: no lock sustains 3,000/s (bad)", "because | the hottest key would be held for 351 % of the time (bad)",
			"next | shorten the hold", "keys 100, key-dist zipf:1.1, hold 5ms | 23 % | 351 % | 856/s | 582/s | 971 µs", "!candidate |"},
		"violated": {"violated: redsync let two clients hold one key (bad)",
			"risk | a majority of clocks that drift grants a lock twice", "because | two clients held a key at once, 3 times (bad)"},
		"undecided": {"undecided: rueidis queue at 3,000/s (warn)", "because | 3,000/s lies within its interval, 2,970/s to 3,276/s (warn)",
			"next | give it a larger -budget", "!risk"},
		"atleast": {"undecided: rueidis queue at 100,000/s", "51,300/s or more", "generator at 52,600/s",
			"because | this machine is too small: lockbench and its server used 1.97 of 2 cores"},
		"partial": {"at 3,000/s (stopped by interrupt) (warn)"},
		"failed": {"undecided: 2 candidates", "because | etcd: acquire: context deadline exceeded (bad)",
			"undecided | redsync: it was not tried", "!trials"},
		"nothing": {"undecided: 0 candidates\nno objective", "!|"},
	} {
		text, _ := firstScreen(Plan(capacitytest.Answer(name)))
		for _, part := range want {
			if lack, not := strings.CutPrefix(part, "!"); strings.Contains(text, lack) == not {
				t.Errorf("%s: %q in\n%s", name, part, text)
			}
		}
	}
}

// TestPlanBusy: that others used the machine is said once, with the figures of one candidate.
func TestPlanBusy(t *testing.T) {
	a := capacitytest.Answer("five")
	a.Warnings = []capacity.Reason{{Code: capacity.Others, Cores: 1.4, Of: 2}}
	a.Verdict = capacity.Undecided
	for i := range a.Candidates {
		a.Candidates[i].Verdict = capacity.Undecided
		a.Candidates[i].Why = capacity.Reason{Code: capacity.Others, Cores: 1.41 + float64(i)/100, Of: 2}
	}
	text, _ := firstScreen(Plan(a))
	if n := strings.Count(text, "other programs"); n != 1 || !strings.Contains(text, "next | let nothing else run") ||
		a.Candidates[0].Why.Cores != 1.41 {
		t.Errorf("%d times: %s", n, text)
	}
}

// TestPlanReasons: each reason has words, with all its figures.
func TestPlanReasons(t *testing.T) {
	all := capacity.Reason{Level: 1234, Low: 1000, High: 2000, Share: 0.12, Allowed: 0.01, Cores: 1.5, Of: 2, Time: time.Second, N: 3, Text: "why"}
	for _, code := range []capacity.Code{capacity.Impossible, capacity.Rare, capacity.Untried, capacity.AtMost, capacity.ServerFull, capacity.Failing,
		capacity.Late, capacity.Unproven, capacity.Others, capacity.Host, capacity.Machine, capacity.Slow, capacity.Within, capacity.Refuted,
		capacity.Unconfirmed, capacity.Chance, capacity.Broken, capacity.SharedHost, capacity.LeftOut} {
		all.Code = code
		if why, _ := PlanReason(&capacity.Answer{Asked: 1500}, all); why == "why" || strings.Contains(why, "%!") || strings.Contains(why, format.None) {
			t.Errorf("%s: %q", code, why)
		}
	}
}

// TestPlanIsShort: the first screen has few lines, however many candidates there are.
func TestPlanIsShort(t *testing.T) {
	unprintable := regexp.MustCompile(`NaN|Inf|%!|\(\)|–/s|\b0 ns|– or`)
	for _, name := range capacitytest.Names {
		d := Plan(capacitytest.Answer(name))
		if _, lines := firstScreen(d); lines > screenLines+1 { // a line more than of others: one a loser
			text, _ := firstScreen(d)
			t.Errorf("%s: %d lines: %s", name, lines, text)
		}
		if bad := unprintable.FindString(dump(d)); bad != "" {
			t.Errorf("%s: %q in\n%s", name, bad, dump(d))
		}
	}
}
