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
	const asked = "3,000/s with response p99 < 20 ms, errors < 0.1 %"
	for name, want := range map[string][]string{
		"one": {"rueidis queue sustains 3,470/s (3,300–3,640/s) with response p99 < 20 ms, response p99.9 < 50 ms (good)",
			"strictest | response.p99<20ms", "next | lockbench prove -driver rueidis -lock queue", "!carry", "!chart"},
		"most": {"rueidis queue sustains 3,470/s (3,300–3,640/s) with response p99 < 20 ms, errors < 0.1 % (good)", "!3,000/s", "!head-"},
		"paper": {"ruled out: any lock at " + asked + " (bad)", "zipf:1.1 on 100 keys, hold 5 ms | 23 % | 351 % | 856/s | 582/s | 971 µs | 4.5 %",
			"[impossible: the hottest key gets 23 % of the arrivals", "!candidate |"},
		"noslo": {"ruled out: any lock at " + asked, "uniform on 1 key, hold 25 ms | 100 % | 7500 % | 40.0/s (bad)", "!fits"},
		"violated": {"violated: redsync let two clients hold one key (bad)",
			"risk | a majority of clocks that drift grants a lock twice", "[violated: 3 of 61,022 grants came while another client held the lock (bad)]"},
		"undecided": {"undecided: rueidis queue at " + asked + " (warn)", "[undecided: the interval from 2,970/s to 3,276/s holds 3,000/s (warn)]", "!risk"},
		"atleast":   {"undecided: memory mutex at 100,000/s", "51,300/s or more", "limited by | generator, full at 52,600/s", "!commands"},
		"partial":   {asked + " (stopped by interrupt) (warn)", "3 trials in 40.0 s of 10.0 min"},
		"floor":     {"ruled out: rueidis queue at " + asked, "[ruled out: 8.0 % of the arrivals are late at 382/s already (bad)]", "!sustains"},
		"failed":    {"failed: etcd: acquire: context deadline exceeded", "[undecided: it was not tried (warn)]", "!trials"},
		"nothing":   {"undecided: 0 candidates with no objective", "!|"},
	} {
		text, _ := firstScreen(Plan(capacitytest.Answer(name)))
		for _, part := range want {
			if lack, not := strings.CutPrefix(part, "!"); strings.Contains(text, lack) == not {
				t.Errorf("%s: %q in\n%s", name, part, text)
			}
		}
	}
}

// TestPlanIsShort: the first screen has 14 lines, and two more for each further candidate.
func TestPlanIsShort(t *testing.T) {
	unprintable := regexp.MustCompile(`NaN|Inf|%!|\(\)|–/s|\b0 ns|– or`)
	for _, name := range capacitytest.Names {
		d := Plan(capacitytest.Answer(name))
		if _, lines := firstScreen(d); lines > 12+2*max(1, len(capacitytest.Answer(name).Candidates)) {
			t.Errorf("%s: %d lines", name, lines)
		}
		if bad := unprintable.FindString(dump(d)); bad != "" {
			t.Errorf("%s: %q in\n%s", name, bad, dump(d))
		}
	}
}

// TestPlanCharts: each trial has a sign in both charts of its candidate, by its stage, and the objective and the rate have lines.
func TestPlanCharts(t *testing.T) {
	a := capacitytest.Answer("one")
	c := &a.Candidates[0]
	a.SLO, a.Rate, c.Curve, c.Sustains = "response.p99<20ms", 2000, c.Curve[:2], capacity.Range{Low: 900, Mid: 1000, High: 1100}
	c.Points = []capacity.Point{
		{Rate: 1000, Share: capacity.Range{Mid: 0.01, High: 0.02}, Stage: capacity.StageSearch, P99: 20 * time.Millisecond},
		{Rate: 1100, Stage: capacity.StagePilot, Left: "crowded"},
	}
	charts := planCharts(a)
	if len(charts) != 2 {
		t.Fatalf("%d charts", len(charts))
	}
	late, p99 := charts[0], charts[1]
	if len(late.Series) != 3 || late.Series[0].Signs || late.Series[1].Points[0] != (Point{1000, 0.01, 1e-4, 0.02}) ||
		late.Series[2].Name != "left out" || late.Series[2].Points[0].Y != 1e-4 {
		t.Errorf("late arrivals: %+v", late.Series)
	}
	if len(p99.Series) != 1 || p99.Series[0].Points[0].Y != 20e6 || p99.Levels[0].At != 20e6 {
		t.Errorf("p99: %+v, %+v", p99.Series, p99.Levels)
	}
	if late.Shade != (Range{900, 1100}) || p99.Uprights[0].At != 2000 {
		t.Errorf("shade %+v, lines %+v", late.Shade, p99.Uprights)
	}
	if a.Rate = 5000; len(planCharts(a)[0].Uprights) != 0 {
		t.Error("a rate far beyond all trials squeezes them")
	}
}

func planCharts(a *capacity.Answer) (charts []*Chart) {
	for _, b := range Plan(a).Blocks {
		if b.Chart != nil {
			charts = append(charts, b.Chart)
		}
	}
	return charts
}
