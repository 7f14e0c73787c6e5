package report

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

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
		"one": {"rueidis queue sustains 3,470/s (3,300 to 3,640/s) (good)\nresponse.p99<20ms,response.p99.9<50ms ·",
			"headroom | p99, p99.9 |", "next | lockbench prove -driver rueidis -lock queue", "!carry", "!chart"},
		"most": {"rueidis queue sustains 3,470/s (3,300 to 3,640/s) (good)", "!3,000/s", "!headroom"},
		"paper": {"ruled out: any lock at " + asked + " (bad)", "zipf:1.1 on 100 keys, hold 5 ms | 23 % | 351 % | 856/s | 582/s | 971 µs | 4.5 %",
			"[impossible: the hottest key gets 23 % of the arrivals", "!candidate |"},
		"noslo": {"ruled out: any lock at " + asked, "uniform on 1 key, hold 25 ms | 100 % | 7500 % | 40.0/s (bad)", "!fits"},
		"violated": {"violated: redsync let two clients hold one key (bad)",
			"risk | a majority of clocks that drift grants a lock twice", "because | 3 of 61,022 grants came while another client held the lock (bad)"},
		"undecided": {"undecided: rueidis queue at " + asked + " (warn)", "because | the interval from 2,970/s to 3,276/s holds 3,000/s (warn)", "!risk"},
		"atleast":   {"undecided: memory mutex at 100,000/s", "51,300/s or more", "generator at 52,600/s", "!commands"},
		"partial":   {asked + " (stopped by interrupt) (warn)"},
		"floor":     {"ruled out: rueidis queue at " + asked, "because | 8.0 % of the arrivals are late at 382/s already (bad)", "!sustains"},
		"failed":    {"failed: 2 candidates", "because | etcd: acquire: context deadline exceeded (bad)", "!trials"},
		"nothing":   {"undecided: any lock\nno objective", "!|"},
	} {
		text, _ := firstScreen(Plan(capacitytest.Answer(name)))
		for _, part := range want {
			if lack, not := strings.CutPrefix(part, "!"); strings.Contains(text, lack) == not {
				t.Errorf("%s: %q in\n%s", name, part, text)
			}
		}
	}
}

// TestPlanIsShort: the first screen has few lines, however many candidates there are.
func TestPlanIsShort(t *testing.T) {
	unprintable := regexp.MustCompile(`NaN|Inf|%!|\(\)|–/s|\b0 ns|– or`)
	for _, name := range capacitytest.Names {
		d := Plan(capacitytest.Answer(name))
		if _, lines := firstScreen(d); lines > screenLines {
			text, _ := firstScreen(d)
			t.Errorf("%s: %d lines: %s", name, lines, text)
		}
		if bad := unprintable.FindString(dump(d)); bad != "" {
			t.Errorf("%s: %q in\n%s", name, bad, dump(d))
		}
	}
}

// TestPlanChart: a candidate with a fit has a line, and the objective and the rate have one.
func TestPlanChart(t *testing.T) {
	late := func(a *capacity.Answer) *Chart {
		for _, b := range Plan(a).Blocks {
			if b.Chart != nil && b.Chart.Name == "late" {
				return b.Chart
			}
		}
		return &Chart{}
	}
	a := capacitytest.Answer("one")
	c := &a.Candidates[0]
	a.SLO, a.Rate = "response.p99<20ms", 2000
	c.Curve = []capacity.Point{{Rate: 900}, {Rate: 1000, Share: capacity.Range{Mid: 0.01}}}
	chart := late(a)
	if len(chart.Series) != 2 || !slices.Equal(chart.Series[0].Points, []Point{{X: 900, Y: 1e-4}, {X: 1000, Y: 0.01}}) {
		t.Errorf("late arrivals: %+v", chart.Series)
	}
	if len(chart.Uprights) != 1 || chart.Uprights[0].At != 2000 {
		t.Errorf("lines %+v", chart.Uprights)
	}
	if a.Rate = 5000; len(late(a).Uprights) != 0 {
		t.Error("a rate far beyond all trials squeezes them")
	}
	if n := len(late(capacitytest.Answer("crowd")).Series); n != 7 {
		t.Errorf("%d lines for a crowd", n)
	}
}
