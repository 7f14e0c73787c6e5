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
}

// TestPlanTable: names alone make no table.
func TestPlanTable(t *testing.T) {
	d := Plan(&capacity.Answer{Candidates: []capacity.CandidateAnswer{{Name: "redis", Verdict: capacity.Undecided}}})
	if text, _ := firstScreen(d); strings.Contains(text, "candidate") {
		t.Error(text)
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

// TestPlanAnswers: what each kind of answer says first, and what it has no place for.
func TestPlanAnswers(t *testing.T) {
	const asked = "3,000/s"
	for name, want := range map[string][]string{
		"five": {"rueidis queue sustains 3,470/s (3,297 to 3,644/s) · 2 of 5 sustain 3,000/s (good)", "candidate | sustains | headroom | p99 | breaks first",
			"risk | a holder that is paused beyond its lease works on without the lock",
			"lost | go-redis set-nx (wait backoff): 3,000/s lies within its interval, 2,903/s to 3,203/s",
			"lost | etcd: it sustains 764/s at the most: its server used 0.97 of 1 core", "lost | postgres advisory: it sustains 1,822/s at the most"},
		"one": {"rueidis queue sustains 3,470/s (3,297 to 3,644/s) (good)\nresponse.p99<20ms,response.p99.9<50ms ·",
			"headroom | p99, p99.9 |", "9.31 ms, 31.0 ms", "next | lockbench prove -driver rueidis -lock queue", "!carry", "!chart"},
		"most":    {"rueidis queue sustains 3,470/s (3,297 to 3,644/s) (good)", "!3,000/s", "!headroom"},
		"clients": {"rueidis queue sustains 44 clients (41 to 47 clients) (good)\nacquire.p95<500ms,errors<1% ·", "p95 |", "!headroom"},
		"paper": {"ruled out: any lock at " + asked + " (bad)", "zipf:1.1 on 100 keys, hold 5 ms | 23 % | 351 % | 856/s | 582/s | 971 µs",
			"[impossible: the hottest key would be held for 351 % of the time", "!candidate |"},
		"violated": {"violated: redsync let two clients hold one key (bad)",
			"risk | a majority of clocks that drift grants a lock twice", "because | two clients held a key at once, 3 times (bad)"},
		"undecided": {"undecided: rueidis queue at " + asked + " (warn)", "because | 3,000/s lies within its interval, 2,970/s to 3,276/s (warn)",
			"next | give it a larger -budget", "!risk"},
		"atleast": {"undecided: rueidis queue at 100,000/s", "51,300/s or more", "generator at 52,600/s",
			"because | this machine is too small: lockbench and its server used 1.97 of 2 cores"},
		"partial": {asked + " (stopped by interrupt) (warn)"},
		"failed":  {"undecided: 2 candidates", "because | etcd: acquire: context deadline exceeded (bad)", "!trials"},
		"nothing": {"undecided: any lock\nno objective", "!|"},
	} {
		text, _ := firstScreen(Plan(capacitytest.Answer(name)))
		for _, part := range want {
			if lack, not := strings.CutPrefix(part, "!"); strings.Contains(text, lack) == not {
				t.Errorf("%s: %q in\n%s", name, part, text)
			}
		}
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
